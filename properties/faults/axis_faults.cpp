// Faults along the axes of a tensor: elements stand at wrong places.
#include <fmt/format.h>

#include <numeric>

#include "properties/faults/declared_fault.hpp"

namespace assay::properties {
namespace {

using positions = std::vector<std::size_t>;

positions counted(std::size_t n) {
  positions p(n);
  std::iota(p.begin(), p.end(), std::size_t{0});
  return p;
}
positions backwards(std::size_t n) {
  const positions p = counted(n);
  return {p.rbegin(), p.rend()};
}
positions one_late(std::size_t n) {
  positions p = counted(n);
  for (std::size_t i = n; i-- > 1;) p[i] = i - 1;
  return p;
}
positions one_early(std::size_t n) {
  positions p = counted(n);
  for (std::size_t i = 0; i + 1 < n; ++i) p[i] = i + 1;
  return p;
}
positions only_first(std::size_t n) { return positions(n, 0); }

struct rearrangement {
  const char* what;
  const char* words;
  positions (*order)(std::size_t n);
};
constexpr rearrangement rearrangements[] = {{"reversed", "is reversed along", backwards},
                                            {"one_late", "is one late along", one_late},
                                            {"one_early", "is one early along", one_early},
                                            {"first_for_all", "has its first element for all along", only_first}};

std::string words_of(const rearrangement& r, const core::operation& op, const std::string& tensor,
                     const std::string& symbol) {
  if (r.order == only_first && core::role_of(op, symbol) == core::axis_role::batch)
    return tensor + " is that of the first row for all";
  return fmt::format("{} {} {}", tensor, r.words, symbol);
}

tensor_edit rearranged(std::size_t axis, positions (*order)(std::size_t)) {
  return [axis, order](core::tensor& t) {
    if (t.size() > 0) t = core::take(t, axis, order(t.shape()[axis]));
  };
}

// Reads the tensor as if the axis and the next one lay in memory in the other order.
tensor_edit exchanged_with_next(std::size_t axis) {
  return [axis](core::tensor& t) {
    const core::shape s = t.shape();
    const std::size_t inner = core::stride_of(s, axis + 1), rows = s[axis], columns = s[axis + 1];
    const core::tensor right = t;
    for (std::size_t i = 0; i < t.size(); ++i) {
      const std::size_t block = i / (inner * rows * columns), place = i / inner % (rows * columns);
      const std::size_t from = place % columns * rows + place / columns;
      t.values.storage()[i] = right.values.storage()[(block * rows * columns + from) * inner + i % inner];
    }
  };
}

}  // namespace

declared_fault_list axis_faults(const core::operation& op) {
  declared_fault_list all;
  for (const core::tensor_declaration* d : tensors_of(op))
    for (std::size_t axis = 0; axis < d->axes.size(); ++axis) {
      const std::string& symbol = d->axes[axis];
      if (!varies(symbol)) continue;
      const std::string place = fmt::format("{}_{}", symbol, axis);
      for (const rearrangement& r : rearrangements)
        all.push_back(fault_in(op, *d, fmt::format("{}_along_{}", r.what, place), words_of(r, op, d->name, symbol),
                               rearranged(axis, r.order)));
      if (axis + 1 < d->axes.size())
        all.push_back(fault_in(op, *d, fmt::format("transposed_{}_{}", axis, axis + 1),
                               fmt::format("{} is read with {} and {} exchanged", d->name, symbol, d->axes[axis + 1]),
                               exchanged_with_next(axis)));
    }
  return all;
}

}  // namespace assay::properties
