#include "properties/laws/compared_calls.hpp"

#include <fmt/format.h>

#include <numeric>

namespace assay::properties {

std::vector<std::size_t> every(std::size_t size) { return span_of(0, size); }

std::vector<std::size_t> span_of(std::size_t first, std::size_t last) {
  std::vector<std::size_t> all(last - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

std::vector<std::size_t> taken(const core::shape& shape, std::size_t axis, const std::vector<std::size_t>& positions) {
  const std::size_t inner = core::stride_of(shape, axis), rows = inner * positions.size();
  const std::size_t size = core::element_count(shape), blocks = size == 0 ? 0 : size / (inner * shape[axis]);
  std::vector<std::size_t> from(blocks * rows);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = (i / rows * shape[axis] + positions[i % rows / inner]) * inner + i % inner;
  return from;
}

approximate element(const measured_call& call, const std::string& output, std::size_t index) {
  return {call.outputs.at(output).values.storage()[index], call.allowed.at(output)[index]};
}

std::optional<std::string> compare_elements(comparisons& all, const std::string& output, const measured_call& expected,
                                            const std::vector<std::size_t>& from, const measured_call& actual,
                                            const std::vector<std::size_t>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const approximate x = element(expected, output, from[i]), y = element(actual, output, to[i]);
    if (!agree(all, x, y))
      return fmt::format("{} element {}: {:a} became {:a} ({}), allowed difference {:.3g}", output, to[i], x.value,
                         y.value, both_in_words(x.value, y.value), x.error + y.error);
  }
  return std::nullopt;
}

std::optional<std::string> compare_outputs(comparisons& all, const measured_call& expected,
                                           const measured_call& actual) {
  for (const auto& [name, t] : expected.outputs) {
    const std::vector<std::size_t> whole = every(t.size());
    if (auto wrong = compare_elements(all, name, expected, whole, actual, whole)) return wrong;
  }
  return std::nullopt;
}

std::optional<std::string> compare_bits(comparisons& all, const core::tensors& expected, const core::tensors& actual) {
  for (const auto& [name, t] : expected)
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double x = t.values.storage()[i], y = actual.at(name).values.storage()[i];
      if (!all.agree(x, y, 0.0))
        return fmt::format("{}{} changed from {:a} to {:a}", name, core::index_text(t.shape(), i), x, y);
    }
  return std::nullopt;
}

}  // namespace assay::properties
