#include "properties/encodings/heinsen/laws/laws.hpp"

namespace assay::properties::encodings::heinsen {

std::vector<property> laws() {
  std::vector<property> all;
  for (auto* some : {inequality_laws, shift_laws, closed_form_laws, edit_laws, gradient_laws})
    for (property& p : some()) all.push_back(std::move(p));
  all.push_back(counter_law());
  all.push_back(constant_stream_law());
  return all;
}

}  // namespace assay::properties::encodings::heinsen
