// Laws of scores: products of a rotated query and a rotated key.
#include <algorithm>
#include <cmath>

#include "properties/encodings/rope/laws/laws.hpp"
#include "properties/encodings/rope/laws/rotary_case.hpp"

namespace assay::properties::encodings::rope {
namespace {

// sum of a(k) b(k)
template <class A, class B>
approximate product_of(std::size_t features, A a, B b) {
  approximate sum;
  for (std::size_t k = 0; k < features; ++k) sum = sum + a(k) * b(k);
  return sum;
}

// The coordinates of a vector: rotated, or as they are given.
auto rotated(const numbers& y, const rotary_case& shape, std::size_t vector) {
  return [&y, start = vector * shape.features()](std::size_t k) { return at(y, start + k); };
}
auto given(const test_case& c, const rotary_case& shape, std::size_t vector) {
  return [&x = c.call.inputs.at("x").values.storage(), start = vector * shape.features()](std::size_t k) {
    return approximate{x[start + k], 0.0};
  };
}

// The token of each row at the lowest position.
std::vector<std::size_t> earliest_tokens(const test_case& c, const rotary_case& shape) {
  const auto& m = c.call.inputs.at("position").values.storage();
  std::vector<std::size_t> earliest(shape.rows());
  for (std::size_t row = 0; row < shape.rows(); ++row)
    for (std::size_t i = 0; i < shape.tokens(); ++i)
      if (m[row * shape.tokens() + i] < m[row * shape.tokens() + earliest[row]]) earliest[row] = i;
  return earliest;
}

// (R_m q).(R_n k) = (R_{m+s} q).(R_{n+s} k) = (R_{m-n} q).k: the key is the first token of its row, so that m >= n.
outcome check_relativity(implementation& under_test, const test_case& c) {
  const rotary_case shape(c);
  const std::vector<std::size_t> keys = earliest_tokens(c, shape);
  const auto& m = c.call.inputs.at("position").values.storage();
  const double step = c.seed % 2 == 0 ? 1.0 : 3.0;
  const auto moved = with_positions(c, [&](double position) { return position + step; });
  const auto apart = with_positions(c, [&, k = std::size_t{0}](double position) mutable {
    const std::size_t row = k++ / shape.tokens();
    return position - m[row * shape.tokens() + keys[row]];
  });
  if (!moved || !apart) return {status::uninformative};
  const auto here = measure(under_test, c), there = measure(under_test, *moved), alone = measure(under_test, *apart);
  for (const auto* call : {&here, &there, &alone})
    if (!*call) return call->error();
  const numbers y(*here, "y"), z(*there, "y"), w(*alone, "y");
  comparisons all;
  for (std::size_t v = 0; v < shape.vectors(); ++v) {
    const std::size_t head = v % shape.heads(), row = v / shape.heads() / shape.tokens();
    const std::size_t key = shape.vector(row, keys[row], head), d = shape.features();
    const approximate score = product_of(d, rotated(y, shape, v), rotated(y, shape, key)),
                      later = product_of(d, rotated(z, shape, v), rotated(z, shape, key)),
                      of_difference = product_of(d, rotated(w, shape, v), given(c, shape, key));
    const std::string what = fmt::format("the score of vectors {} and {}, ", v, key);
    if (!agree(all, score, later))
      return violated(differing(what + fmt::format("and where both stand {} further on", step), score, later),
                      here->outputs, there->outputs);
    if (!agree(all, score, of_difference))
      return violated(differing(what + "and by the difference of their positions", score, of_difference), here->outputs,
                      alone->outputs);
  }
  return all.result();
}

// Whether x is at most y, within their errors.
bool at_most(comparisons& all, approximate x, approximate y) {
  return all.agree(x.value, std::min(y.value, x.value), x.error + y.error);
}

// |score| is at most the sum over pairs of |q_t| |k_t|, and the magnitudes of what does not rotate.
outcome check_bound(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const rotary_case shape(c);
  const numbers y(*call, "y");
  const auto& x = c.call.inputs.at("x").values.storage();
  comparisons all;
  for (std::size_t query = 0; query < shape.vectors(); ++query) {
    const std::size_t row = query / shape.heads() / shape.tokens(), key = shape.vector(row, 0, query % shape.heads());
    approximate bound;
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [q_first, q_second] = shape.pair(query, t);
      const auto [k_first, k_second] = shape.pair(key, t);
      const double length = std::hypot(x[q_first], x[q_second]) * std::hypot(x[k_first], x[k_second]);
      bound = bound + approximate{length, 0x1p-50 * length};
    }
    for (std::size_t k = 2 * shape.pairs(); k < shape.features(); ++k)
      bound = bound + approximate{std::fabs(x[query * shape.features() + k] * x[key * shape.features() + k]), 0.0};
    const approximate score = product_of(shape.features(), rotated(y, shape, query), rotated(y, shape, key));
    if (!at_most(all, {std::fabs(score.value), score.error}, bound))
      return violated(
          differing(fmt::format("the score of vectors {} and {}, and the lengths of their pairs", query, key), score,
                    bound),
          {}, call->outputs);
  }
  return all.result();
}

// The same vector at every position of a row: no score is above that of a token with itself.
outcome check_own_position(implementation& under_test, const test_case& c) {
  const rotary_case shape(c);
  if (shape.tokens() < 2) return {status::uninformative};
  test_case repeated = c;
  auto& x = repeated.call.inputs.at("x").values.storage();
  const std::size_t of_token = shape.heads() * shape.features();
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i - i / of_token % shape.tokens() * of_token];
  const auto call = measure(under_test, repeated);
  if (!call) return call.error();
  const numbers y(*call, "y");
  comparisons all;
  for (std::size_t query = 0; query < shape.vectors(); ++query) {
    const std::size_t token = query / shape.heads() % shape.tokens();
    const auto q = rotated(y, shape, query);
    const approximate own = product_of(shape.features(), q, q);
    for (std::size_t other = 0; other < shape.tokens(); ++other) {
      const std::size_t key = query - token * shape.heads() + other * shape.heads();
      const approximate score = product_of(shape.features(), q, rotated(y, shape, key));
      if (!at_most(all, score, own))
        return violated(differing(fmt::format("the score of tokens {} and {}, the same vector, and of {} with itself",
                                              token, other, token),
                                  score, own),
                        {}, call->outputs);
    }
  }
  return all.result();
}

}  // namespace

std::vector<property> score_laws() {
  return {
      rotation_law("rotation_relativity", "scores depend on differences of positions alone", check_relativity, 3),
      rotation_law("rotation_score_bound", "a score is at most the product of the lengths of the pairs", check_bound,
                   1),
      rotation_law("rotation_own_position", "the same vector scores highest at its own position", check_own_position,
                   1),
  };
}

}  // namespace assay::properties::encodings::rope
