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
  for (std::size_t k = 0; k < features; ++k) sum += a(k) * b(k);
  return sum;
}

// The coordinates of a vector: rotated, or as they are given.
auto rotated(const numbers& y, const rotary_case& shape, std::size_t vector) {
  return [&y, start = vector * shape.features()](std::size_t k) { return y[start + k]; };
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
void check_relativity(experiment& e) {
  const rotary_case shape(e.c);
  const std::vector<std::size_t> keys = earliest_tokens(e.c, shape);
  const given_numbers m(e.c, "position");
  const double step = e.c.seed % 2 == 0 ? 1.0 : 3.0;
  const auto moved = with_positions(e.c, [&](double position) { return position + step; });
  const auto apart = with_positions(e.c, [&, k = std::size_t{0}](double position) mutable {
    const std::size_t row = k++ / shape.tokens();
    return position - m[row * shape.tokens() + keys[row]].value;
  });
  e.needs(moved && apart);
  const numbers y(e.call(), "y"), z(e.call(*moved), "y"), w(e.call(*apart), "y");
  const std::size_t d = shape.features();
  for (std::size_t v = 0; v < shape.vectors(); ++v) {
    const std::size_t head = v % shape.heads(), row = v / shape.heads() / shape.tokens();
    const std::size_t key = shape.vector(row, keys[row], head);
    const approximate score = product_of(d, rotated(y, shape, v), rotated(y, shape, key));
    e.equal(score, product_of(d, rotated(z, shape, v), rotated(z, shape, key)),
            "the score of vectors {} and {}, and where both stand {} further on", v, key, step);
    e.equal(score, product_of(d, rotated(w, shape, v), given(e.c, shape, key)),
            "the score of vectors {} and {}, and by the difference of their positions", v, key);
  }
}

// |score| is at most the sum over pairs of |q_t| |k_t|, and the magnitudes of what does not rotate.
void check_bound(experiment& e) {
  const rotary_case shape(e.c);
  const numbers y(e.call(), "y");
  const given_numbers x(e.c, "x");
  const std::size_t d = shape.features();
  for (std::size_t query = 0; query < shape.vectors(); ++query) {
    const std::size_t row = query / shape.heads() / shape.tokens(), key = shape.vector(row, 0, query % shape.heads());
    approximate bound;
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [q_first, q_second] = shape.pair(query, t);
      const auto [k_first, k_second] = shape.pair(key, t);
      bound += length_of(x[q_first], x[q_second]) * length_of(x[k_first], x[k_second]);
    }
    for (std::size_t k = 2 * shape.pairs(); k < d; ++k)
      bound += exactly(std::fabs(x[query * d + k].value * x[key * d + k].value));
    const approximate score = product_of(d, rotated(y, shape, query), rotated(y, shape, key));
    e.at_most({std::fabs(score.value), score.error}, bound,
              "the score of vectors {} and {}, and the lengths of their pairs", query, key);
  }
}

// The same vector at every position of a row: no score is above that of a token with itself.
void check_own_position(experiment& e) {
  const rotary_case shape(e.c);
  e.needs(shape.tokens() > 1);
  test_case repeated = e.c;
  auto& x = repeated.call.inputs.at("x").values.storage();
  const std::size_t d = shape.features(), of_token = shape.heads() * d;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i - i / of_token % shape.tokens() * of_token];
  const numbers y(e.call(repeated), "y");
  for (std::size_t query = 0; query < shape.vectors(); ++query) {
    const std::size_t token = query / shape.heads() % shape.tokens();
    const auto q = rotated(y, shape, query);
    for (std::size_t other = 0; other < shape.tokens(); ++other)
      e.at_most(product_of(d, q, rotated(y, shape, query - token * shape.heads() + other * shape.heads())),
                product_of(d, q, q), "the score of tokens {} and {}, the same vector, and of {} with itself", token,
                other, token);
  }
}

}  // namespace

std::vector<property> score_laws() {
  return {
      law("rotation_relativity", "scores depend on differences of positions alone", rotations(), {3, check_relativity}),
      law("rotation_score_bound", "a score is at most the product of the lengths of the pairs", rotations(),
          {1, check_bound}),
      law("rotation_own_position", "the same vector scores highest at its own position", rotations(),
          {1, check_own_position}),
  };
}

}  // namespace assay::properties::encodings::rope
