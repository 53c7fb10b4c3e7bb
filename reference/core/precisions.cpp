#include "reference/core/precisions.hpp"

#include <algorithm>

#include "reference/core/result.hpp"

namespace assay::core {

precisions::precisions(const std::vector<stage_declaration>& stages, std::vector<dtype> formats) : unit_(dtype::f64) {
  ASSAY_EXPECTS(!stages.empty() && stages.size() == formats.size());
  ASSAY_EXPECTS(std::all_of(formats.begin(), formats.end(), is_floating));
  unit_ = *std::min_element(formats.begin(), formats.end(),
                            [](dtype x, dtype y) { return format_of(x).precision < format_of(y).precision; });
  if (std::all_of(formats.begin(), formats.end(), [&](dtype t) { return t == unit_; })) return;
  for (std::size_t k = 0; k < stages.size(); ++k)
    if (stages[k].name == accumulation) sums_ = formats[k];
  by_stage_ = std::move(formats);
}

std::string to_string(const precisions& p, const std::vector<stage_declaration>& stages) {
  if (!p.differ()) return std::string(name_of(p.unit()));
  std::string words;
  for (std::size_t k = 0; k < stages.size(); ++k)
    words += (k == 0 ? "" : ", ") + stages[k].name + " " + std::string(name_of(p.format(k)));
  return words;
}

}  // namespace assay::core
