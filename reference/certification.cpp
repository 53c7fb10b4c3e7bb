#include <algorithm>
#include <cmath>

#include "reference/oracle.hpp"
#include "reference/registry.hpp"

namespace assay::reference {

double certified::truth(std::size_t i) const {
  const double value = rounded.values.storage()[i], rest = low.storage()[i];
  return std::isinf(value) && rest != 0.0 ? rest : value + rest;
}

double certified::error_of(double x, std::size_t i) const {
  const double value = rounded.values.storage()[i];
  if (std::isnan(value) && std::isnan(x)) return 0.0;
  if (std::isinf(value)) return x == value ? 0.0 : x - truth(i);
  return (x - value) - low.storage()[i];
}

certified_outputs certify(const core::request& call, std::size_t rungs, proof wanted) {
  const encoding_routines& routines = routines_for(*call.operation);
  certified_outputs out;
  std::size_t open = 1;
  for (std::size_t rung = 0; rung < std::min(rungs, precision_digits.size()) && open > 0; ++rung) {
    open = 0;
    for (auto& [name, proved] : routines.enclose(call, precision_digits[rung])) {
      const std::size_t size = proved.rounded.size();
      certified& c = out[name];
      if (rung == 0) c = {proved.rounded, proved.low, proved.radius, std::vector<std::uint8_t>(size, undecided)};
      for (std::size_t i = 0; i < size; ++i) {
        if (c.rung[i] != undecided) continue;
        c.rounded.values.storage()[i] = proved.rounded.values.storage()[i];
        c.low.storage()[i] = proved.low.storage()[i];
        c.radius.storage()[i] = proved.radius.storage()[i];
        if (wanted == proof::value ? proved.decided[i] : proved.low_decided[i])
          c.rung[i] = static_cast<std::uint8_t>(rung);
        else
          ++open;
      }
    }
  }
  return out;
}

std::size_t count_undecided(const certified_outputs& outputs) {
  std::size_t count = 0;
  for (const auto& [name, c] : outputs) count += std::count(c.rung.begin(), c.rung.end(), undecided);
  return count;
}

}  // namespace assay::reference
