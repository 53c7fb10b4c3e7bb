#include "reference/formula/sums.hpp"

namespace assay::reference::formula {

double additions_of_scattering(const node& n, const core::shape& indices) {
  if (n.what == op::scatter_add_along) return static_cast<double>(indices[static_cast<std::size_t>(n.integer(0))]);
  double additions = 1.0;  // the addition to x
  for (const std::size_t size : indices) additions += static_cast<double>(size) - 1.0;
  return additions;
}
truths reduced(op what, const truths& x, const reduced_rows& rows) {
  truths made;
  for (const std::size_t first : rows.first) {
    boost::tribool r = what == op::all;
    for (const std::size_t offset : rows.within) r = what == op::all ? r && x[first + offset] : r || x[first + offset];
    made.push_back(r);
  }
  return made;
}

integers cumulative_sums(integers x, const rows_along& rows) {
  for (std::size_t r = 0; r < rows.count; ++r)
    for (std::size_t i = 1; i < rows.size; ++i) {
      const std::size_t index = rows.first(r) + i * rows.step;
      x[index] = integer_result(op::add, x[index - rows.step], x[index]);
    }
  return x;
}

}  // namespace assay::reference::formula
