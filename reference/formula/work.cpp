#include "reference/formula/work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace assay::reference::formula {
namespace {

constexpr std::uint64_t too_much = std::numeric_limits<std::uint64_t>::max();

std::uint64_t sum_or_too_much(std::uint64_t x, std::uint64_t y) {
  std::uint64_t r = 0;
  return __builtin_add_overflow(x, y, &r) ? too_much : r;
}
std::uint64_t product_or_too_much(std::uint64_t x, std::uint64_t y) {
  std::uint64_t r = 0;
  return __builtin_mul_overflow(x, y, &r) ? too_much : r;
}

// The cost for one element of the result, or of the array that is reduced.
std::uint64_t cost_of(op what) {
  switch (what) {
    case op::exp:
    case op::log:
    case op::log1p:
    case op::sin:
    case op::cos:
    case op::sine_of_angle:
    case op::cosine_of_angle:
    case op::tanh:
    case op::erf:
    case op::entire_cosine_integral:
    case op::sigmoid:
    case op::softplus:
    case op::log_sigmoid:
    case op::power:
    case op::reciprocal_root:
    case op::modulus:
    case op::softmax:
    case op::log_sum_exp:
    case op::geometric_frequencies:
      return 32;
    case op::pow:
    case op::log_add_exp:
      return 64;
    default:
      return 1;
  }
}

// The number of terms of each element of the result: the product of the sizes of the letters that are summed over.
std::uint64_t terms_of(const program& p, const node& n) {
  const contraction letters = *contraction_of(n.text);
  const core::shape& shape = p.type_of(n.in[0]).shape;
  std::uint64_t terms = 1;
  for (std::size_t a = 0; a < shape.size(); ++a)
    if (letters.result.find(letters.x[a]) == std::string::npos) terms = product_or_too_much(terms, shape[a]);
  return terms;
}

std::uint64_t work_of_node(const program& p, node_id k) {
  const node& n = p.nodes()[k];
  std::uint64_t elements = elements_of(p.type_of(k).shape);
  if (n.what == op::scan)
    return product_or_too_much(static_cast<std::uint64_t>(n.integer(0)),
                               sum_or_too_much(work_of(*n.body), n.body->nodes_in_all()));
  if (n.what == op::contract || n.what == op::contract_where || n.what == op::contract_at)
    return product_or_too_much(elements, std::max<std::uint64_t>(terms_of(p, n), 1));
  if (n.what == op::skew_exponential || n.what == op::skew_exponential_pullback)  // some thirty products of matrices
    return product_or_too_much(elements, product_or_too_much(32, p.type_of(k).shape.back()));
  if (n.what == op::sum_of_products) return product_or_too_much(elements, std::max<std::uint64_t>(n.in.size() / 2, 1));
  for (const node_id taken : n.in) elements = std::max<std::uint64_t>(elements, elements_of(p.type_of(taken).shape));
  return product_or_too_much(elements, cost_of(n.what));
}

}  // namespace

std::uint64_t work_of(const program& p) {
  const std::vector<node_id> last = p.last_uses();
  std::uint64_t work = 0;
  for (node_id k = 0; k < last.size(); ++k)
    if (last[k] != 0) work = sum_or_too_much(work, work_of_node(p, k));
  return work;
}

core::result<void> check_work(const program& p, std::uint64_t most) {
  const std::vector<node_id> last = p.last_uses();
  std::uint64_t work = 0;
  for (node_id k = 0; k < last.size(); ++k) {
    if (last[k] != 0) work = sum_or_too_much(work, work_of_node(p, k));
    if (work > most)
      return core::failure(fmt::format("node {} ({}): up to here the program needs more than {} additions", k,
                                       row_of(p.nodes()[k].what).name, most));
  }
  return {};
}

}  // namespace assay::reference::formula
