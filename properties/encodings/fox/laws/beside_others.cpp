#include "properties/encodings/fox/laws/beside_others.hpp"

#include <algorithm>
#include <cmath>

#include "properties/encodings/fox/laws/heads.hpp"
#include "reference/core/special_values.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::fox {
namespace {

using core::infinity;

// Gates [B, n, h] on a grid so coarse that all their sums are numbers of the dtype, -inf as it is; nothing where there
// are more tokens than the dtype has such numbers.
std::optional<core::tensor> on_grid(core::tensor gates) {
  auto& x = gates.values.storage();
  double largest = 0;
  for (const double a : x) largest = std::isfinite(a) ? std::max(largest, std::fabs(a)) : largest;
  const double steps =
      1.0 / core::unit_roundoff(gates.type) / static_cast<double>(std::max<std::size_t>(gates.shape()[1], 1));
  if (steps < 1.0) return std::nullopt;
  if (largest == 0.0) return gates;
  const double unit =
      std::max(std::exp2(std::ceil(std::log2(largest / std::floor(steps)))), core::smallest_normal(gates.type));
  for (double& a : x) a = std::isfinite(a) ? std::nearbyint(a / unit) * unit : a;
  return gates;
}

// D [B h, n, n] of such gates, exactly.
core::tensor exact_decay(const core::tensor& gates) {
  const core::shape s = gates.shape();
  const std::size_t n = s[1], heads = s[2];
  core::tensor d = core::zeros(gates.type, {s[0] * heads, n, n});
  for (std::size_t row = 0; row < s[0] * heads; ++row)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double& x = d.values.storage()[(row * n + i) * n + j];
        if (j > i) x = -infinity;
        if (j < i)
          x = d.values.storage()[(row * n + i - 1) * n + j] +
              gates.values.storage()[(row / heads * n + i) * heads + row % heads];
      }
  return d;
}

// [B, h, n, d] as [1, B h, n, d]: the bias of attention is that of a head, and every row has gates of its own.
core::tensor as_heads(const core::tensor& t) {
  const core::shape s = t.shape();
  return core::make_tensor(t.type, {1, s[0] * s[1], s[2], s[3]},
                           {t.values.storage().begin(), t.values.storage().end()});
}

// The case as a call of attention with a bias.
const measured_call& call_with_bias(experiment& e, const test_case& c, core::tensor bias) {
  core::tensors inputs{{"bias", std::move(bias)}};
  for (const char* name : {"q", "k", "v", "grad_o"})
    if (const auto t = c.call.inputs.find(name); t != c.call.inputs.end()) inputs.emplace(name, as_heads(t->second));
  return e.call(beside(*c.call.operation, "attention/output"), std::move(inputs), c.call.attributes);
}

// The gradient of gate l is the sum of those of the biases D_ij, i >= l > j.
approximate gradient_of_gate(const measured_call& biased, const head& h, std::size_t l) {
  approximate sum;
  for (std::size_t i = l; i < h.tokens; ++i)
    for (std::size_t j = 0; j < l; ++j) sum = sum + element(biased, "grad_bias", h.pair(i, j));
  return sum;
}

// Forgetting attention is attention with the bias D, in its outputs and in its gradients.
void check_as_bias(experiment& e, const test_case& c) {
  const measured_call &biased = call_with_bias(e, c, exact_decay(c.call.inputs.at("log_f"))), &decayed = e.call(c);
  for (const auto& [name, t] : decayed.outputs)
    if (name != "grad_log_f")
      e.equal(name, biased, every(t.size()), decayed, every(t.size()), "attention with D as the bias");
  if (!decayed.outputs.contains("grad_log_f")) return;
  const numbers gradient(decayed, "grad_log_f");
  for (const head& h : heads_of(c))
    for (std::size_t l = 0; l < h.tokens; ++l)
      e.equal(gradient_of_gate(biased, h, l), gradient[h.gate(l)],
              "row {} head {}: the gradients of the biases that gate {} stands in, and its own", h.row, h.index, l);
}

void check_bridge(experiment& e) {
  const auto gates = on_grid(e.c.call.inputs.at("log_f"));
  e.needs(gates.has_value());
  check_as_bias(e, with_gates(e.c, *gates));
}

// Gates of 1 forget nothing: attention under the causal mask.
void check_open_gates(experiment& e) {
  const core::tensor& gates = e.c.call.inputs.at("log_f");
  check_as_bias(e, with_gates(e.c, core::zeros(gates.type, gates.shape())));
}

// The largest |logit| that q and k of a head can give, a little more.
double largest_logit(const test_case& c, std::size_t row) {
  const core::shape s = c.call.inputs.at("q").shape();
  const auto &q = c.call.inputs.at("q").values.storage(), &k = c.call.inputs.at("k").values.storage();
  const bool plain =
      core::setting<std::string>(core::completed(*c.call.operation, c.call.attributes), "scale") == "one";
  double largest = 0;
  for (std::size_t i = 0; i < s[2]; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::size_t x = 0; x < s[3]; ++x)
        sum += std::fabs(q[(row * s[2] + i) * s[3] + x] * k[(row * s[2] + j) * s[3] + x]);
      largest = std::max(largest, sum);
    }
  return largest * (plain || s[3] == 0 ? 1.0 : 1.0 / std::sqrt(static_cast<double>(s[3]))) * (1.0 + 0x1p-40);
}

// Keys that have decayed below delta = -(2 U + log n) + log epsilon, U the largest |scale q . k|, may be left out (Lin
// et al. 2025, arXiv 2504.06949). The key of the query itself has D = 0, so no sum of exponentials is below exp(-U),
// and a key left out weighs less than exp(U + delta) / exp(-U) = epsilon / n: all of them r <= epsilon. The mean over
// the others is theirs divided by 1 - r, so what it is off by is at most
//
//   sum over those left out of P |v| + (1 / (1 - r) - 1) sum over the others of P |v| <= 2 r max|v| <= 2 epsilon max|v|
void check_pruning(experiment& e) {
  constexpr double epsilon = 0x1p-14;
  const auto gates = on_grid(e.c.call.inputs.at("log_f"));
  e.needs(gates && gates->size() > 0);
  core::tensor bias = exact_decay(*gates);
  const std::size_t n = gates->shape()[1];
  bool left_out = false;
  for (std::size_t row = 0; row < bias.shape()[0]; ++row) {
    const double delta = -(2 * largest_logit(e.c, row) + std::log(static_cast<double>(n))) + std::log(epsilon);
    for (std::size_t p = row * n * n; p < (row + 1) * n * n; ++p) {
      double& x = bias.values.storage()[p];
      if (!(x < delta) || x == -infinity) continue;
      x = -infinity;
      left_out = true;
    }
  }
  e.needs(left_out);
  const test_case exact = with_gates(e.c, *gates);
  const numbers pruned(call_with_bias(e, exact, std::move(bias)), "o"), whole(e.call(exact), "o");
  double largest = 0;
  for (const double x : e.c.call.inputs.at("v").values.storage()) largest = std::max(largest, std::fabs(x));
  for (std::size_t i = 0; i < whole.size(); ++i)
    e.equal({pruned.x[i], pruned.allowed[i] + 2 * epsilon * largest}, whole[i],
            "o at flat index {} without keys that weigh nothing, and with them", i);
}

// Gates exp(-m) with the slopes m of ALiBi give its biases: two encodings, one function.
void check_slopes(experiment& e) {
  const core::tensor& gates = e.c.call.inputs.at("log_f");
  const std::size_t n = gates.shape()[1], heads = gates.shape()[2];
  e.needs(gates.size() > 0);
  const core::tensor& m =
      e.call(reference::find_operation("alibi/slopes"), {}, {{"heads", static_cast<std::int64_t>(heads)}})
          .outputs.at("slopes");
  std::vector<double> positions;
  for (std::size_t i = 0; i < n; ++i) positions.push_back(static_cast<double>(i));
  const core::tensor position = core::make_tensor(core::dtype::i64, {n}, positions);
  const numbers bias(e.call(reference::find_operation("alibi/bias"),
                            {{"slopes", m}, {"query_position", position}, {"key_position", position}},
                            {{"form", std::string("distance")}, {"causal", true}}),
                     "bias");
  core::tensor constant = gates;
  for (std::size_t i = 0; i < constant.size(); ++i) constant.values.storage()[i] = -m.values.storage()[i % heads];
  const numbers d(e.call(with_gates(e.c, std::move(constant))), "D");
  for (std::size_t p = 0; p < d.size(); ++p)
    e.equal(bias[p % (heads * n * n)], d[p], "ALiBi of the slopes m, and gates of exp(-m), flat index {}", p);
}

}  // namespace

std::vector<property> laws_beside_others() {
  const std::vector<std::string> attends{"fox/attention", "fox/attention:vjp"};
  return {
      law("decay_as_bias", "forgetting attention is attention with the bias D", of(attends), {2, check_bridge}),
      law("open_gates", "gates of 1 leave attention under the causal mask", {attends, {"mild"}}, {2, check_open_gates}),
      law("decay_pruning", "keys that have decayed beyond a bound may be left out",
          {{"fox/attention"}, {"mild", "gates_near_zero", "wide", "block_half_life"}}, {2, check_pruning}),
      law("decay_slopes", "gates exp(-m) with the slopes m of ALiBi give its biases", {{"fox/decay"}, {"mild"}},
          {3, check_slopes})};
}

}  // namespace assay::properties::encodings::fox
