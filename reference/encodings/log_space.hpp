// Recurrences in log space: cumulative log-sum-exp, gated recurrences of positive states that are scanned as logarithms
// (Heinsen 2023, arXiv 2311.06281), and the same for numbers with signs.
//
//   log_space/logcumsumexp  y_t = log sum_{u <= t} exp(x_u): torch.logcumsumexp, jax.lax.cumlogsumexp
//   log_space/min_gru       h_t = (1 - z_t) h_{t-1} + z_t g(v_t), z = sigmoid(k): minGRU (Feng et al. 2024, arXiv
//     2410.01201, appendix B)
//   log_space/min_lstm      h_t = f' h_{t-1} + i' g(v_t), f' = f / (f + i), i' = i / (f + i), gates f and i as sigmoids
//     of logits: minLSTM (the same)
//   log_space/log_matmul_exp y = a b, products of matrices of signed logarithms (kinds/signed_logarithms.hpp; Heinsen
//     and Kozachkov 2025, arXiv 2510.03426)
//   log_space/signed_scan   x_t = a_t x_{t-1} + b_t of signed logarithms (Heinsen 2023)
//
//   g(v) = v + 1/2 for v >= 0, sigmoid(v) below
//
// Shapes: x, y, k, f, i, v, h [B, n, d]; h0 and h_n, the states before the first and after the last token, [B, d];
// matrices: a [B, n, d], b [B, d, m], y [B, n, m]; the signed scan: a, b, x [B, n, d], x0 [B, d]. h0 >= 0, so no
// state is negative, and errors of states are measured against themselves. Errors of y are measured against max(1,
// |y|): y passes through zero.
//
// Special values: x = -inf adds nothing, and y is -inf before the first other number; there its gradient is 0, or that
// of y = x. +inf stays from its token on, and so does NaN. h0 = 0 adds nothing; gradients through its logarithm, -inf,
// are NaN. At v = 0 code may have other slopes of g. The sign of NaN is a matter of convention.
//
// Laws of logcumsumexp: log_add_exp step by step is of class sequential; in pairs of blocks it is of class tree. The
// sum of exponentials less a running maximum, and gradients by exp(x - y), are of class linear. Laws of states: the
// recurrence as written is of class sequential; products of its maps are of class tree; h + z (g - h), and log_add_exp
// step by step, are of class linear; A + logcumsumexp(b - A) with cumulative sums A of log (1 - z), as its authors
// compute it, is of class cumsum. An error of a logarithm s is a relative error of exp(s). The law of matrices covers
// terms less their own largest one, and exponentials less the largest of a row and of a column; programs are wrong
// where these underflow. Laws of the signed scan: step by step is of class sequential, by cumulative sums of class
// cumsum.
#pragma once

#include <functional>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/kinds/positive_scans.hpp"
#include "reference/kinds/recorded_call.hpp"
#include "reference/kinds/signed_logarithms.hpp"

namespace assay::reference::encodings {

struct log_space {
  static constexpr std::string_view name = "log_space";
  static core::encoding_summary summary() {
    return {.what = "recurrences in log space: cumulative log-sum-exp, minGRU, minLSTM, products and scans with signs",
            .formula = "y_t = log(exp(y_{t-1}) + exp(x_t)); h_t = (1 - z_t) h_{t-1} + z_t g(v_t)",
            .sources = {{"Heinsen 2023", "https://arxiv.org/abs/2311.06281"},
                        {"Feng et al. 2024", "https://arxiv.org/abs/2410.01201"},
                        {"Heinsen and Kozachkov 2025", "https://arxiv.org/abs/2510.03426"}}};
  }

  using traced = formula::traced;
  using shares = log_scans::shares;
  static constexpr double infinity = log_scans::infinity;

  /// A function that computes states [n, B, d] from shares and g.
  using scan_of_states =
      std::function<traced(const shares& factors, const shares& logs, const traced& g, const traced& h0)>;
  /// The steps that variants replace.
  struct scheme : recorded_scheme<scheme> {
    /// y [n, B, d] from x.
    std::function<traced(const traced& x)> sum = log_scans::step_by_step;
    std::function<traced(const traced& v)> candidate = positive;
    /// Shares from one gate logit, and from two.
    std::function<shares(const traced& k)> shares_of_gate = log_scans::complementary;
    std::function<shares(const traced& f, const traced& i)> shares_of_gates = log_scans::normalized;
    std::function<shares(const traced& k)> log_shares_of_gate = log_scans::log_complementary;
    std::function<shares(const traced& f, const traced& i)> log_shares_of_gates = log_scans::log_normalized;
    /// The state before the first token.
    std::function<traced(const traced& h0)> enter = [](const traced& h0) { return h0; };
    scan_of_states states = log_scans::recurrence;
    std::function<signed_logarithm(const signed_logarithm& a, const signed_logarithm& b)> product = product_by_pairs;
    std::function<signed_logarithm(const signed_logarithm& a, const signed_logarithm& b, const signed_logarithm& x0)>
        scan = scan_by_rescaling;
  };
  static scheme algorithm(accuracy_class c);
  static std::vector<recorded_formula<scheme>> formulas();

  static traced positive(const traced& v) { return either(less(v, traced(0.0)), sigmoid(v), v + traced(0.5)); }

 private:
  static formula::program record_sum(const scheme& steps, const formula::program_sizes& call);
  static formula::program record_states(const scheme& steps, const formula::program_sizes& call);
  static formula::program record_product(const scheme& steps, const formula::program_sizes& call);
  static formula::program record_scan(const scheme& steps, const formula::program_sizes& call);
};

inline log_space::scheme log_space::algorithm(accuracy_class c) {
  scheme steps;
  if (c == accuracy_class::tree) steps.sum = log_scans::by_doubling, steps.states = log_scans::by_maps;
  if (c == accuracy_class::linear)
    steps.sum = log_scans::by_running_maximum, steps.states = log_scans::by_interpolation;
  if (c == accuracy_class::cumsum) steps.states = log_scans::by_cumulative_sums, steps.scan = scan_by_cumulative_sums;
  return steps;
}

inline formula::program log_space::record_sum(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced x = transposed(in["x"], {1, 0, 2});
  const bool by_slopes = call.algorithm == accuracy_class::linear && in.is_of_gradient();
  const traced y = by_slopes ? log_scans::by_differences(x) : steps.sum(x);
  const traced x_itself = with_gradient_of(y, y + right_as_well(traced(0.0), x));
  return in.finish(transposed(in.is_of_gradient() ? either(equal(y, traced(-infinity)), x_itself, y) : y, {1, 0, 2}));
}

inline formula::program log_space::record_states(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const auto turns_of = [&](const char* called) { return transposed(in[called], {1, 0, 2}); };
  const traced g = steps.candidate(turns_of("v")), h0 = steps.enter(in["h0"]);
  const auto shares_of = [&](const auto& from_gate, const auto& from_gates) {
    return in.has("k") ? from_gate(turns_of("k")) : from_gates(turns_of("f"), turns_of("i"));
  };
  const std::size_t n = in.size("n");
  if (n == 0) return in.finish_all({in["v"] + in[in.has("k") ? "k" : "f"] + (in.has("k") ? traced(0.0) : in["i"]), h0});
  const traced h = steps.states(shares_of(steps.shares_of_gate, steps.shares_of_gates),
                                shares_of(steps.log_shares_of_gate, steps.log_shares_of_gates), g, h0);
  const core::shape state = shape_of(h0);
  return in.finish_all({transposed(h, {1, 0, 2}), reshaped(between(h, 0, n - 1, n), state)});
}

inline formula::program log_space::record_product(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const signed_logarithm a{in["log_a"], in["sign_a"]}, b{in["log_b"], in["sign_b"]};
  const core::shape s{in.size("B"), in.size("n"), in.size("m")};
  const signed_logarithm nothing{broadcast(traced(-infinity), s), broadcast(traced(0.0), s)};
  if (in.size("d") == 0) return in.finish_all({nothing.log, nothing.sign});
  if (in.is_other_gradient()) {
    const signed_logarithm y = product_by_rows_and_columns(a, b);
    return in.finish_all({y.log, y.sign});
  }
  signed_logarithm y = steps.product(a, b);
  if (call.for_what == formula::purpose::law && !in.is_of_gradient()) {
    const signed_logarithm other = product_by_rows_and_columns(a, b);
    y = {covering(y.log, [&] { return other.log; }), covering(y.sign, [&] { return other.sign; })};
  }
  return in.finish_all({y.log, y.sign});
}

inline formula::program log_space::record_scan(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const auto turns_of = [&](const char* log, const char* sign) {
    return signed_logarithm{transposed(in[log], {1, 0, 2}), transposed(in[sign], {1, 0, 2})};
  };
  const signed_logarithm x =
      steps.scan(turns_of("log_a", "sign_a"), turns_of("log_b", "sign_b"), {in["log_x0"], in["sign_x0"]});
  return in.finish_all({transposed(x.log, {1, 0, 2}), transposed(x.sign, {1, 0, 2})});
}

inline std::vector<recorded_formula<log_space::scheme>> log_space::formulas() {
  using core::tensor_declaration;
  const std::vector<std::string> tokens{"B", "n", "d"}, lanes{"B", "d"};
  const double largest = std::numeric_limits<double>::max();
  const auto logit = [&](const char* called, const char* meaning) {
    return tensor_declaration{
        .name = called, .axes = tokens, .meaning = meaning, .summed_over_time = true, .role = core::input_role::logit};
  };
  const auto state = [&](const char* called, std::vector<std::string> axes, const char* meaning) {
    return tensor_declaration{.name = called,
                              .axes = std::move(axes),
                              .meaning = meaning,
                              .domain = {.low = 0.0, .high = largest},
                              .scale = core::error_scale::relative};
  };
  const auto states = [&](const char* called, const char* source, std::vector<tensor_declaration> inputs) {
    inputs.push_back({.name = "v", .axes = tokens, .meaning = "candidates: g(v) is what is new"});
    inputs.push_back(state("h0", lanes, "the state before the first token"));
    return core::operation{
        .name = called,
        .source = source,
        .inputs = std::move(inputs),
        .outputs = {state("h", tokens, "states"), state("h_n", lanes, "the state behind the last token")},
        .recurrent = core::recurrence{.state_in = "h0", .state_out = "h_n", .states = "h"},
        .grows_with = core::with_tokens,
        .independent = {"B", "d"}};
  };
  const core::operation sum{
      .name = "log_space/logcumsumexp",
      .source = "Heinsen 2023, arXiv 2311.06281",
      .inputs = {{.name = "x",
                  .axes = tokens,
                  .meaning = "logarithms",
                  .domain = {-infinity, largest, true},
                  .role = core::input_role::logit}},
      .outputs = {{.name = "y", .axes = tokens, .meaning = "the logarithm of the sum of exp(x) so far"}},
      .grows_with = core::with_tokens,
      .independent = {"B", "d"},
      .named_only = true};
  const auto log_of = [&](const char* called, std::vector<std::string> axes, const char* meaning) {
    return tensor_declaration{.name = called,
                              .axes = std::move(axes),
                              .meaning = meaning,
                              .domain = {-infinity, largest, true},
                              .role = core::input_role::logit};
  };
  const auto sign_of = [](const char* called, std::vector<std::string> axes, const char* meaning) {
    return tensor_declaration{
        .name = called, .axes = std::move(axes), .meaning = meaning, .domain = {-1.0, 1.0}, .differentiable = false};
  };
  const std::vector<std::string> rows{"B", "n", "d"}, columns{"B", "d", "m"}, products{"B", "n", "m"};
  const core::operation product{
      .name = "log_space/log_matmul_exp",
      .source = "Heinsen and Kozachkov 2025, arXiv 2510.03426",
      .inputs = {log_of("log_a", rows, "logarithms of magnitudes"), sign_of("sign_a", rows, "signs, 1 or -1"),
                 log_of("log_b", columns, "logarithms of magnitudes"), sign_of("sign_b", columns, "signs")},
      .outputs = {log_of("log_y", products, "logarithms of magnitudes"), sign_of("sign_y", products, "signs, 0 of 0")},
      .independent = {"B", "n", "m"},
      .axis_roles = {{"m", core::axis_role::parameter}}};
  const core::operation scan{
      .name = "log_space/signed_scan",
      .source = "Heinsen 2023, arXiv 2311.06281",
      .inputs = {log_of("log_a", tokens, "logarithms of magnitudes"), sign_of("sign_a", tokens, "signs, 1 or -1"),
                 log_of("log_b", tokens, "logarithms of magnitudes"), sign_of("sign_b", tokens, "signs"),
                 log_of("log_x0", lanes, "the logarithm before the first token"),
                 sign_of("sign_x0", lanes, "its sign")},
      .outputs = {log_of("log_x", tokens, "logarithms of magnitudes"), sign_of("sign_x", tokens, "signs, 0 of 0")},
      .grows_with = core::with_tokens,
      .independent = {"B", "d"}};
  const char* const feng = "Feng et al. 2024, arXiv 2410.01201, appendix B";
  const std::vector<accuracy_class> sum_algorithms{accuracy_class::sequential, accuracy_class::tree,
                                                   accuracy_class::linear},
      state_algorithms{accuracy_class::sequential, accuracy_class::tree, accuracy_class::linear,
                       accuracy_class::cumsum};
  return {
      {sum, record_sum, sum_algorithms},
      {states("log_space/min_gru", feng, {logit("k", "gate logits: sigmoid(k) is the share of what is new")}),
       record_states, state_algorithms},
      {states("log_space/min_lstm", feng, {logit("f", "logits of forget gates"), logit("i", "logits of input gates")}),
       record_states, state_algorithms},
      {product, record_product, {accuracy_class::sequential}, 1},
      {scan, record_scan, {accuracy_class::sequential, accuracy_class::cumsum}}};
}

}  // namespace assay::reference::encodings
