#include "properties/laws/alibi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/laws/row_constants.hpp"
#include "properties/laws/settings.hpp"

namespace assay::properties {
namespace {

// The same positions `shift` later; nothing where they leave the range of positions.
std::optional<test_case> moved(const test_case& c, double shift) {
  test_case other = c;
  for (const char* name : {"query_position", "key_position"})
    for (double& p : other.call.inputs.at(name).values.storage())
      if (!c.call.operation->input(name)->domain.contains(p += shift)) return std::nullopt;
  return other;
}

bool has_pairs(const test_case& c) {
  for (const auto& [name, t] : c.call.inputs)
    if (t.size() == 0) return false;
  return true;
}

// All tokens `shift` later: nothing changes in forms of the distance, a row constant in forms of the key.
outcome check_shift(implementation& under_test, const test_case& c) {
  const auto later = moved(c, static_cast<double>(1 + c.seed % 1000));
  if (!later || !has_pairs(c)) return {status::uninformative};
  const auto before = measure(under_test, c);
  if (!before) return before.error();
  const auto after = measure(under_test, *later);
  if (!after) return after.error();
  const auto& form = setting<std::string>(c, "form");
  const bool of_distance = form == "distance" || form == "absolute";
  std::optional<std::string> wrong = compare_modulo_row_constants("bias", *before, *after);
  std::vector<std::size_t> all(before->outputs.at("bias").size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  if (!wrong && of_distance) wrong = compare_elements("bias", *before, all, *after, all);
  if (wrong) return violated("all tokens later: " + *wrong, before->outputs, after->outputs);
  return {};
}

// `distance`, the key forms and, under the causal mask, `absolute` differ by row constants: the same after softmax.
outcome check_forms(implementation& under_test, const test_case& c) {
  const auto& form = setting<std::string>(c, "form");
  if (!has_pairs(c) || form == "distance" || (form == "absolute" && !setting<bool>(c, "causal")))
    return {status::uninformative};
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const auto distance = measure(under_test, with_setting(c, "form", std::string("distance")));
  if (!distance) return distance.error();
  const auto wrong = compare_modulo_row_constants("bias", *distance, *call);
  if (wrong) return violated("forms distance and " + form + ": " + *wrong, distance->outputs, call->outputs);
  return {};
}

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
  auto keys = c.call.inputs.at("key_position").values.storage();
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
  const auto& tokens = square.call.inputs.at("key_position").values.storage();
  const square_bias bias(*call, tokens.size());
  for (std::size_t head = 0; head < c.call.inputs.at("slopes").size(); ++head)
    if (const std::string text = wrong(bias, head, tokens); !text.empty())
      return violated(fmt::format("head {}: {}", head, text), {}, call->outputs);
  return {};
}

outcome check_diagonal(implementation& under_test, const test_case& c) {
  return check_square(under_test, c, [](const square_bias& bias, std::size_t head, const auto&) -> std::string {
    for (std::size_t i = 0; i < bias.tokens; ++i)
      if (const double x = bias.b.x[bias.at(head, i, i)]; x != 0.0)
        return fmt::format("the bias of token {} to itself is {} instead of 0", i, x);
    return "";
  });
}

outcome check_path(implementation& under_test, const test_case& c) {
  return check_square(under_test, c, [](const square_bias& bias, std::size_t head, const auto&) -> std::string {
    const auto& x = bias.b.x;
    for (std::size_t i = 0; i < bias.tokens; ++i)
      for (std::size_t k = 0; k <= i; ++k) {
        const std::size_t j = (i + k) / 2, whole = bias.at(head, i, k), later = bias.at(head, i, j),
                          earlier = bias.at(head, j, k);
        const double sum = x[later] + x[earlier];
        const double allowed =
            bias.b.allowed[whole] + bias.b.allowed[later] + bias.b.allowed[earlier] + 0x1p-52 * std::fabs(sum);
        if (!agree(sum, x[whole], allowed))
          return fmt::format("from token {} to {} it is {:.9g}, by way of {} it is {:.9g}", k, i, x[whole], j, sum);
      }
    return "";
  });
}

// Both directions alike: the bias of two tokens does not depend on which of them asks.
outcome check_symmetry(implementation& under_test, const test_case& c) {
  const test_case both = with_setting(with_setting(c, "form", std::string("absolute")), "causal", false);
  return check_square(under_test, both, [](const square_bias& bias, std::size_t head, const auto&) -> std::string {
    for (std::size_t i = 0; i < bias.tokens; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const std::size_t x = bias.at(head, i, j), y = bias.at(head, j, i);
        if (!agree(bias.b.x[x], bias.b.x[y], bias.b.allowed[x] + bias.b.allowed[y]))
          return fmt::format("from token {} to {} it is {:.9g}, back it is {:.9g}", j, i, bias.b.x[x], bias.b.x[y]);
      }
    return "";
  });
}

// -inf for keys after the query, and for these alone.
outcome check_mask(implementation& under_test, const test_case& c) {
  if (!has_pairs(c)) return {status::uninformative};
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const auto& queries = c.call.inputs.at("query_position").values.storage();
  const auto& keys = c.call.inputs.at("key_position").values.storage();
  const core::tensor& bias = call->outputs.at("bias");
  for (std::size_t k = 0; k < bias.size(); ++k) {
    const double query = queries[k / keys.size() % queries.size()], key = keys[k % keys.size()];
    const double x = bias.values.storage()[k];
    const bool masked = setting<bool>(c, "causal") && key > query;
    if ((std::isinf(x) && x < 0) != masked)
      return violated(fmt::format("query at {}, key at {}: {} is {}", query, key, x,
                                  masked ? "no mask" : "masked though the key may be seen"),
                      {}, call->outputs);
  }
  return {};
}

// Position interpolation: every second position with the slopes m is every position with the slopes 2 m.
outcome check_stride(implementation& under_test, const test_case& c) {
  if (!has_pairs(c) || setting<std::string>(c, "form") == "key_from_last") return {status::uninformative};
  test_case apart = c, steep = c;
  for (const char* name : {"query_position", "key_position"})
    for (double& p : apart.call.inputs.at(name).values.storage())
      if (!c.call.operation->input(name)->domain.contains(p *= 2)) return {status::uninformative};
  for (double& m : steep.call.inputs.at("slopes").values.storage()) m *= 2;
  const auto at_stride_2 = measure(under_test, apart);
  if (!at_stride_2) return at_stride_2.error();
  const auto twice_as_steep = measure(under_test, steep);
  if (!twice_as_steep) return twice_as_steep.error();
  std::vector<std::size_t> all(at_stride_2->outputs.at("bias").size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto wrong = compare_elements("bias", *at_stride_2, all, *twice_as_steep, all);
  if (wrong)
    return violated("at stride 2, and with slopes 2 m: " + *wrong, at_stride_2->outputs, twice_as_steep->outputs);
  return {};
}

// Euler's identity of a linear function: the slopes with their gradient are the biases with their cotangents.
outcome check_gradient(implementation& under_test, const test_case& c) {
  const core::operation& forward = reference::forward_of(*c.call.operation);
  test_case point = c;
  point.call.operation = &forward;
  std::erase_if(point.call.inputs, [&](const auto& input) { return forward.input(input.first) == nullptr; });
  if (!under_test.describe().offers(forward.name, c.call.type)) return {status::unsupported};
  const auto pulled = measure(under_test, c);
  if (!pulled) return pulled.error();
  const auto pushed = measure(under_test, point);
  if (!pushed) return pushed.error();
  const numbers bias(*pushed, "bias"), grad(*pulled, "grad_slopes");
  const auto& slopes = c.call.inputs.at("slopes").values.storage();
  const auto& cotangents = c.call.inputs.at("grad_bias").values.storage();
  for (std::size_t k = 0, pairs = slopes.size() ? bias.x.size() / slopes.size() : 0; k < slopes.size(); ++k) {
    const double inner = slopes[k] * grad.x[k];
    double outer = 0, allowed = std::fabs(slopes[k]) * grad.allowed[k] + 0x1p-52 * std::fabs(inner);
    for (std::size_t p = k * pairs; p < (k + 1) * pairs; ++p) {
      if (std::isinf(bias.x[p]) && bias.x[p] < 0) continue;  // masked, or too far: see the law of the mask
      outer += bias.x[p] * cotangents[p];
      allowed += (bias.allowed[p] + 0x1p-44 * std::fabs(bias.x[p])) * std::fabs(cotangents[p]);
    }
    if (!agree(outer, inner, allowed))
      return violated(
          fmt::format("head {}: slope times gradient is {:.9g}, biases times cotangents {:.9g}", k, inner, outer),
          pushed->outputs, pulled->outputs);
  }
  return {};
}

const std::vector<std::string> numbers_only{"mild", "powers_of_two", "far_window", "scattered", "either_sign"};

property law(const char* name, const char* summary, outcome (*check)(implementation&, const test_case&),
             const char* operation, std::size_t calls, std::vector<std::string> families = numbers_only) {
  property p{name, summary, [operation](const core::operation& op) { return op.name == operation; }, check};
  p.calls = calls;
  p.families = std::move(families);
  return p;
}

}  // namespace

std::vector<property> alibi_bias_laws() {
  const char* bias = "alibi/bias";
  return {
      law("alibi_shift", "all tokens later: the same biases, or the same after softmax", check_shift, bias, 2),
      law("alibi_forms", "distance and key forms are the same after softmax", check_forms, bias, 2),
      law("alibi_diagonal", "no token is biased against itself", check_diagonal, bias, 1),
      law("alibi_path", "the bias is additive along paths", check_path, bias, 1),
      law("alibi_symmetry", "in both directions the bias is symmetric", check_symmetry, bias, 1),
      law("alibi_mask", "-inf exactly for keys after a causal query", check_mask, bias, 1),
      law("alibi_stride", "slopes m at stride 2 are slopes 2m at stride 1", check_stride, bias, 2),
      law("alibi_gradient", "the bias is linear in the slopes", check_gradient, "alibi/bias:vjp", 2),
  };
}

}  // namespace assay::properties
