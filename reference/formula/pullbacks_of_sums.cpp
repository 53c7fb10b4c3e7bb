#include <algorithm>
#include <limits>
#include <numeric>

#include "reference/formula/pullbacks.hpp"

namespace assay::reference::formula {
namespace {

// softmax over several axes at once.
node_id softmax_over(program_writer& to, node_id x, const program_writer::list& axes) {
  if (axes.size() == 1) return to.operation(op::softmax, {x}, axes);
  const core::shape shape = to.shape_of(x);
  program_writer::list order;
  for (std::size_t k = 0; k < shape.size(); ++k)
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(k)))
      order.push_back(static_cast<std::int64_t>(k));
  core::shape rows_shape;
  for (const std::int64_t kept : order) rows_shape.push_back(shape[static_cast<std::size_t>(kept)]);
  rows_shape.push_back(1);
  for (const std::int64_t axis : axes) rows_shape.back() *= shape[static_cast<std::size_t>(axis)];
  order.insert(order.end(), axes.begin(), axes.end());
  program_writer::list inverse(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    inverse[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
  const node_id sorted = to.operation(op::transpose, {x}, order);
  const node_id y =
      to.operation(op::softmax, {to.reshape(sorted, rows_shape)}, {static_cast<std::int64_t>(rows_shape.size()) - 1});
  return to.operation(op::transpose, {to.reshape(y, to.shape_of(sorted))}, inverse);
}

// 0 for elements that are not the largest: never 0 times a number.
node_id cotangent_of_largest(const pullback& b, node_id g) {
  program_writer& to = b.to;
  const node_id zero = to.number(0.0), share = to.operation(op::largest_share, {b.in(0)}, b.n.integers[0]);
  return to.where(to.operation(op::equal, {share, zero}), zero, to.product(g, share));
}

// A row of -inf alone has no slope.
node_id cotangent_of_log_sum_exp(const pullback& b, node_id g, const core::shape& shape) {
  program_writer& to = b.to;
  const program_writer::list& axes = b.n.integers[0];
  const node_id none = to.operation(op::equal, {b.y, to.number(-std::numeric_limits<double>::infinity())});
  const node_id weighted = to.product(g, softmax_over(to, b.in(0), axes));
  return to.where(to.beside(none, axes, shape), to.number(0.0), weighted);
}

node_id cotangent_of_reduction(const pullback& b) {
  program_writer& to = b.to;
  const program_writer::list& axes = b.n.integers[0];
  const core::shape shape = b.shape_of(b.in(0));
  const node_id g = to.beside(b.g, axes, shape);
  switch (b.n.what) {
    case op::sum:
      return to.broadcast(g, shape);
    case op::mean: {
      std::size_t count = 1;
      for (const std::int64_t axis : axes) count *= shape[static_cast<std::size_t>(axis)];
      return to.broadcast(to.operation(op::divide, {g, to.integer(count)}), shape);
    }
    case op::log_sum_exp:
      return cotangent_of_log_sum_exp(b, g, shape);
    default:
      ASSAY_EXPECTS(b.n.what == op::largest);
      return cotangent_of_largest(b, g);
  }
}

// The only node that passes a cotangent back to x.
std::optional<node_id> only_use(const pullback& b, node_id x) {
  std::optional<node_id> only;
  for (const node_id use : b.uses[x]) {
    if (!b.reached[use]) continue;
    if (only) return std::nullopt;
    only = use;
  }
  return only;
}

// The contraction of weights with values, o = sum_j w_j v_j along their last axis, if nothing else reads the weights.
std::optional<node_id> output_of(const pullback& b) {
  for (node_id weights = b.y;;) {
    const auto use = only_use(b, weights);
    if (!use || *use == weights) return std::nullopt;
    const node& n = b.to.node_of(*use);
    if (n.what == op::contract || n.what == op::contract_where) {
      const contraction letters = *contraction_of(n.text);
      const auto is_summed = [&](char c) { return letters.result.find(c) == std::string::npos; };
      const bool is_along_last = !letters.x.empty() && is_summed(letters.x.back());
      return n.in[0] == weights && is_along_last && std::ranges::count_if(letters.x, is_summed) == 1 ? use
                                                                                                     : std::nullopt;
    }
    const core::shape shape = b.shape_of(weights), made = b.shape_of(*use);
    const bool is_same =
        n.what == op::taken_by ||
        (n.what == op::where && n.in[0] != weights && b.to.is_zeros(n.in[n.in[1] == weights ? 2 : 1])) ||
        (n.what == op::reshape && !made.empty() && made.back() == shape.back()) ||
        (n.what == op::slice && std::equal(made.begin(), made.end() - 1, shape.begin()));
    if (!is_same) return std::nullopt;
    weights = *use;
  }
}

// sum_j g_j y_j, with cotangents g_j = G . v_j, is G . o. Kernels that keep o compute it in this way, with its
// roundings [Dao, Fu, Ermon, Rudra and Re 2022, FlashAttention, arXiv 2205.14135, Algorithm 4].
std::optional<node_id> mean_from_output(const pullback& b, const core::shape& rows) {
  program_writer& to = b.to;
  if (b.n.integer(0) + 1 != static_cast<std::int64_t>(b.shape_of(b.y).size())) return std::nullopt;
  const auto o = output_of(b);
  if (!o) return std::nullopt;
  const contraction letters = *contraction_of(to.node_of(*o).text);
  const node_id mean =
      to.append({.what = op::contract,
                 .in = {*b.reached[*o], *o},
                 .text = letters.result + "," + letters.result + "->" + letters.x.substr(0, letters.x.size() - 1)});
  if (elements_of(b.shape_of(mean)) != elements_of(rows)) return std::nullopt;
  return to.reshape(mean, rows);
}

// y (g - sum g y)
node_id cotangent_of_softmax(const pullback& b) {
  program_writer& to = b.to;
  const program_writer::list& axis = b.n.integers[0];
  const node_id g = b.form.is_for_proofs ? to.operation(op::less_heaviest, {b.g, b.y}, axis) : b.g;
  node_id mean = to.sum(to.product(g, b.y), axis);
  if (!b.form.is_for_proofs)
    if (const auto other = mean_from_output(b, b.shape_of(mean))) mean = to.operation(op::another_way, {mean, *other});
  return to.product(b.y, to.operation(op::subtract, {g, to.beside(mean, axis, b.shape_of(b.y))}));
}

// Each letter of the result is in an operand, so g and the other operand have all letters that an operand needs.
cotangents back_through_contraction(const pullback& b) {
  const contraction letters = *contraction_of(b.n.text);
  const auto contracted = [&](node_id x, node_id y, const std::string& letters_of_product) {
    return b.to.append({.what = op::contract, .in = {x, y}, .text = letters_of_product});
  };
  return {contracted(b.g, b.in(1), letters.result + "," + letters.y + "->" + letters.x),
          contracted(b.g, b.in(0), letters.result + "," + letters.x + "->" + letters.y)};
}

// A cotangent at other places of the result reaches nothing.
cotangents back_through_contraction_at(const pullback& b) {
  const contraction letters = *contraction_of(b.n.text);
  const auto contracted = [&](node_id y, const std::string& letters_of_product) {
    return b.to.append(
        {.what = op::contract_where, .in = {b.g, y, b.in(2)}, .text = letters.result + "," + letters_of_product});
  };
  return {contracted(b.in(1), letters.y + "->" + letters.x), contracted(b.in(0), letters.x + "->" + letters.y),
          std::nullopt};
}

cotangents back_through_masked_contraction(const pullback& b) {
  const contraction letters = *contraction_of(b.n.text);
  return {b.to.append({.what = op::contract_at,
                       .in = {b.g, b.in(1), b.in(2)},
                       .text = letters.result + "," + letters.y + "->" + letters.x}),
          b.to.append({.what = op::contract_where,
                       .in = {b.in(0), b.g, b.in(2)},
                       .text = letters.x + "," + letters.result + "->" + letters.y}),
          std::nullopt};
}

// -p base^(-p / q) / (q base) for exponents in lowest terms
node_id cotangent_of_frequencies(const pullback& b) {
  program_writer& to = b.to;
  std::vector<double> p, q;
  for (std::int64_t k = 0; k < b.n.integer(1); ++k) {
    const std::int64_t t = b.n.integer(0) + k, common = std::gcd(t, b.n.integer(2));
    p.push_back(-static_cast<double>(t / common));
    q.push_back(static_cast<double>(b.n.integer(2) / common));
  }
  const auto integers = [&](std::vector<double> values) {
    node n{.what = op::data, .values = std::move(values)};
    n.integers[0] = {static_cast<std::int64_t>(number_kind::integer)};
    n.integers[1] = {b.n.integer(1)};
    return to.operation(op::to_real, {to.append(std::move(n))});
  };
  const auto along = static_cast<std::int64_t>(b.shape_of(b.in(0)).size());
  const node_id bases = to.beside(b.in(0), {along}, b.shape_of(b.y));
  const node_id slope =
      to.operation(op::divide, {to.product(integers(std::move(p)), b.y), to.product(integers(std::move(q)), bases)});
  return to.sum(to.product(b.g, slope), {along});
}

// The cotangents of the rows that are added, less those of the rows that are subtracted, which come with their sign.
node_id differences_of_rows(const pullback& b) {
  program_writer& to = b.to;
  const core::shape both = b.shape_of(b.g);
  const std::size_t along = both.size() - 1;
  const auto backwards = [&](std::int64_t row) {
    program_writer::list start(both.size(), 0), stop(both.begin(), both.end());
    start[along - 1] = row, stop[along - 1] = row + 1;
    return to.reversed(to.slice(b.g, std::move(start), std::move(stop), program_writer::list(both.size(), 1)), along);
  };
  const node_id sums =
      to.operation(op::cumulative_difference, {backwards(0), to.negative(backwards(1))}, b.n.integers[0]);
  return to.reversed(sums, along);
}

}  // namespace

cotangents cotangents_of_sums(const pullback& b) {
  switch (b.n.what) {
    case op::contract:
      return back_through_contraction(b);
    case op::contract_at:
      return back_through_contraction_at(b);
    case op::contract_where:
      return back_through_masked_contraction(b);
    case op::softmax:
      return {cotangent_of_softmax(b)};
    case op::geometric_frequencies:
      return {cotangent_of_frequencies(b)};
    case op::largest_share:
      return {std::nullopt};
    case op::skew_exponential:
      return {b.to.operation(op::skew_exponential_pullback, {b.in(0), b.g, b.g})};
    case op::cumulative_sum:
    case op::cumulative_sum_by_rest: {
      const auto axis = static_cast<std::size_t>(b.n.integer(0));
      const op back = b.n.what == op::cumulative_sum ? b.n.what : op::cumulative_sum_from_total;
      return {b.to.reversed(b.to.operation(back, {b.to.reversed(b.g, axis)}, b.n.integers[0]), axis)};
    }
    case op::cumulative_sum_twice:
      return {differences_of_rows(b)};
    case op::interpolated: {
      const auto size = static_cast<std::int64_t>(b.shape_of(b.in(0)).back());
      return {b.to.operation(op::interpolation_shares, {b.g, b.in(1)}, {size}),
              b.to.product(b.g, b.to.operation(op::interpolation_slope, {b.in(0), b.in(1)}))};
    }
    default:
      return {cotangent_of_reduction(b)};
  }
}

}  // namespace assay::reference::formula
