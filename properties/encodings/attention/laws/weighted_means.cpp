#include "properties/encodings/attention/laws/weighted_means.hpp"

#include <algorithm>
#include <cmath>

#include "properties/laws/relations/relations.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::attention {
namespace {

// The sizes of q [B, h, n, d] and v [B, h, m, e].
struct sizes {
  std::size_t rows, heads, queries, keys, width, value_width;
  explicit sizes(const test_case& c) {
    const core::shape q = c.call.inputs.at("q").shape(), v = c.call.inputs.at("v").shape();
    heads = q[1];
    rows = q[0] * heads;
    queries = q[2], width = q[3];
    keys = v[2], value_width = v[3];
  }
};

// Whether query i of a row has a key. Without a bias among the inputs it has itself.
bool has_key(const test_case& c, const sizes& s, std::size_t row, std::size_t i) {
  const auto bias = c.call.inputs.find("bias");
  if (bias == c.call.inputs.end()) return true;
  const auto first =
      bias->second.values.storage().begin() + static_cast<std::ptrdiff_t>((row % s.heads * s.queries + i) * s.keys);
  return std::any_of(first, first + static_cast<std::ptrdiff_t>(s.keys), [](double x) { return !std::isinf(x); });
}

// The weights of a query add up to 1: the mean of ones is 1, and 0 where it has no key.
void check_sum_of_weights(experiment& e) {
  test_case ones = e.c;
  for (double& x : ones.call.inputs.at("v").values.storage()) x = 1.0;
  const numbers mean(e.call(ones), "o");
  const sizes s(e.c);
  for (std::size_t at = 0; at < mean.size(); ++at) {
    const std::size_t row = at / (s.queries * s.value_width), i = at / s.value_width % s.queries;
    e.equal(exactly(has_key(e.c, s, row, i)), mean[at], "head {}: the mean of ones at query {}", row, i);
  }
}

// grad v_j = sum over i of P_ij g_i, so the gradients of the values of a head add up to the cotangents of its queries.
void check_values(experiment& e, const sizes& s, const measured_call& call, std::size_t row) {
  const numbers grad_v(call, "grad_v");
  const given_numbers g(e.c, "grad_o");
  for (std::size_t column = 0; column < s.value_width; ++column) {
    cancelling_sum given;
    for (std::size_t i = 0; i < s.queries; ++i)
      if (has_key(e.c, s, row, i)) given.add(g[(row * s.queries + i) * s.value_width + column]);
    approximate received;
    for (std::size_t j = 0; j < s.keys; ++j) received += grad_v[(row * s.keys + j) * s.value_width + column];
    e.equal(given.value, received, given.size,
            "head {}: component {}, the sums of cotangents and of gradients of values", row, column);
  }
}

// Logits hold q . k alone: (t q, k / t) gives the same o for every t, so sum q . grad q = sum k . grad k.
void check_logits(experiment& e, const sizes& s, const measured_call& call, std::size_t row) {
  const auto pairing = [&](const std::string& input, std::size_t tokens) {
    const given_numbers x(e.c, input);
    const numbers grad(call, "grad_" + input);
    cancelling_sum sum;
    for (std::size_t i = row * tokens * s.width; i < (row + 1) * tokens * s.width; ++i)
      if (x[i].value != 0.0) sum.add(x[i] * grad[i]);  // else whatever its gradient is
    return sum;
  };
  const cancelling_sum of_queries = pairing("q", s.queries), of_keys = pairing("k", s.keys);
  e.equal(of_queries.value, of_keys.value, std::max(of_queries.size, of_keys.size),
          "head {}: queries with their gradients, and keys with theirs", row);
}

// Two identities of the gradients of each head, whatever is added to its logits. In bf16 arithmetic the allowances
// leave hardly a digit of the second.
void check_gradients(experiment& e) {
  const measured_call& call = e.call();
  const sizes s(e.c);
  for (std::size_t row = 0; row < s.rows; ++row) {
    check_values(e, s, call, row);
    check_logits(e, s, call, row);
  }
}

// Of every operation that is softmax(logits of q and k) v.
property law_of_kind(core::derivative kind, const char* name, const char* sentence, statement what) {
  // Of every encoding those families whose numbers are finite.
  property p = law(name, sentence,
                   {{},
                    {"mild", "causal", "masked_inside", "linear_bias", "one_key_wins", "far_keys", "rows_apart",
                     "equal_logits", "no_bias", "equal_values", "gates_near_one", "gates_near_zero", "constant_gate",
                     "infinite_inside", "no_decay", "wide"}},
                   std::move(what));
  p.applies = [kind](const core::operation& op) {
    const core::operation& forward = reference::forward_of(op);
    return op.kind() == kind && forward.input("q") && forward.input("k") && forward.input("v") && forward.output("o");
  };
  return p;
}

}  // namespace

std::vector<property> weighted_mean_laws() {
  return {law_of_kind(core::derivative::none, "weights_sum", "the weights of a query add up to 1",
                      {1, check_sum_of_weights}),
          law_of_kind(core::derivative::vjp, "weights_gradients",
                      "gradients of values add up to the cotangents, those of queries and keys balance",
                      {1, check_gradients})};
}

}  // namespace assay::properties::encodings::attention
