#include "reference/formula/sums.hpp"

namespace assay::reference::formula {
truths reduced(op what, const truths& x, const reduced_rows& rows) {
  truths made;
  for (const std::size_t first : rows.first) {
    boost::tribool r = what == op::all;
    for (const std::size_t at : rows.within) r = what == op::all ? r && x[first + at] : r || x[first + at];
    made.push_back(r);
  }
  return made;
}

integers cumulative_sums(integers x, const rows_along& rows) {
  for (std::size_t r = 0; r < rows.count; ++r)
    for (std::size_t i = 1; i < rows.size; ++i) {
      const std::size_t at = rows.first(r) + i * rows.step;
      x[at] = integer_result(op::add, x[at - rows.step], x[at]);
    }
  return x;
}

}  // namespace assay::reference::formula
