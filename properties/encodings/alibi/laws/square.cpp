// The laws of linear biases among tokens that are queries and keys: a diagonal of 0, additive paths, symmetry.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/encodings/alibi/laws/cases.hpp"
#include "properties/encodings/alibi/laws/laws.hpp"

namespace assay::properties::encodings::alibi {
namespace {

// One bias of a head at query position i and key position j, from a call whose queries and keys are the same tokens.
struct square_bias {
  square_bias(const measured_call& call, std::size_t of_tokens) : b(call, "bias"), tokens(of_tokens) {}
  [[nodiscard]] std::size_t at(std::size_t head, std::size_t i, std::size_t j) const {
    return (head * tokens + i) * tokens + j;
  }
  numbers b;
  std::size_t tokens;
};

// The case with its first keys, in ascending order, as queries and keys.
test_case squared(const test_case& c) {
  test_case square = c;
  const auto& keys = key_positions(c);
  std::vector<double> tokens(keys.begin(),
                             keys.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(keys.size(), 12)));
  std::sort(tokens.begin(), tokens.end());
  for (const char* name : {"query_position", "key_position"})
    square.call.inputs.at(name) = core::make_tensor(core::dtype::i64, {tokens.size()}, tokens);
  return square;
}

// Among the same tokens: 0 on the diagonal, -inf above it where the form is causal, and i to k is i to j and j to k.
template <class Wrong>
outcome check_square(implementation& under_test, const test_case& c, Wrong wrong) {
  const auto& form = setting<std::string>(c, "form");
  if (!has_pairs(c) || (form != "distance" && form != "absolute")) return {status::uninformative};
  const test_case square = squared(c);
  const auto call = measure(under_test, square);
  if (!call) return call.error();
  const square_bias bias(*call, key_positions(square).size());
  comparisons all;
  for (std::size_t head = 0; head < c.call.inputs.at("slopes").size(); ++head)
    if (const std::string text = wrong(all, bias, head); !text.empty())
      return violated(fmt::format("head {}: {}", head, text), {}, call->outputs);
  return all.result();
}

outcome check_diagonal(implementation& under_test, const test_case& c) {
  return check_square(under_test, c, [](comparisons& all, const square_bias& bias, std::size_t head) -> std::string {
    for (std::size_t i = 0; i < bias.tokens; ++i)
      if (const double x = bias.b.x[bias.at(head, i, i)]; !all.agree(0.0, x, 0.0))
        return fmt::format("the bias of token {} to itself is {} instead of 0", i, x);
    return "";
  });
}

outcome check_path(implementation& under_test, const test_case& c) {
  return check_square(under_test, c, [](comparisons& all, const square_bias& bias, std::size_t head) -> std::string {
    const auto& x = bias.b.x;
    for (std::size_t i = 0; i < bias.tokens; ++i)
      for (std::size_t k = 0; k <= i; ++k) {
        const std::size_t j = (i + k) / 2, whole = bias.at(head, i, k), later = bias.at(head, i, j),
                          earlier = bias.at(head, j, k);
        const double sum = x[later] + x[earlier];
        const double allowed =
            bias.b.allowed[whole] + bias.b.allowed[later] + bias.b.allowed[earlier] + 0x1p-52 * std::fabs(sum);
        if (!all.agree(sum, x[whole], allowed))
          return fmt::format("from token {} to {} it is {:.9g}, by way of {} it is {:.9g}", k, i, x[whole], j, sum);
      }
    return "";
  });
}

// Both directions alike: the bias of two tokens does not depend on which of them asks.
outcome check_symmetry(implementation& under_test, const test_case& c) {
  return check_square(under_test, in_form(c, "absolute", false),
                      [](comparisons& all, const square_bias& bias, std::size_t head) -> std::string {
                        for (std::size_t i = 0; i < bias.tokens; ++i)
                          for (std::size_t j = 0; j < i; ++j) {
                            const std::size_t x = bias.at(head, i, j), y = bias.at(head, j, i);
                            if (!all.agree(bias.b.x[x], bias.b.x[y], bias.b.allowed[x] + bias.b.allowed[y]))
                              return fmt::format("from token {} to {} it is {:.9g}, back it is {:.9g}", j, i,
                                                 bias.b.x[x], bias.b.x[y]);
                          }
                        return "";
                      });
}

}  // namespace

std::vector<property> square_laws() {
  const char* bias = "alibi/bias";
  return {law_of("alibi_diagonal", "no token is biased against itself", check_diagonal, bias, 1),
          law_of("alibi_path", "the bias is additive along paths", check_path, bias, 1),
          law_of("alibi_symmetry", "in both directions the bias is symmetric", check_symmetry, bias, 1)};
}

}  // namespace assay::properties::encodings::alibi
