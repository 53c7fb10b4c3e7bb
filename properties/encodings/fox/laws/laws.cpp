#include "properties/encodings/fox/laws/laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings/fox/laws/attention.hpp"
#include "properties/encodings/fox/laws/beside_others.hpp"
#include "properties/encodings/fox/laws/heads.hpp"

namespace assay::properties::encodings::fox {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct decays {
  const measured_call& call;
  comparisons& all;
  double operator()(std::size_t at) const { return number(at).value; }
  [[nodiscard]] approximate number(std::size_t at) const { return element(call, "D", at); }
};

// Checks every head of a call; `wrong` names what is wrong in one.
template <class Wrong>
outcome check_heads(implementation& under_test, const test_case& c, Wrong wrong) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  comparisons all;
  for (const head& h : heads_of(c))
    if (const std::string text = wrong(h, decays{*call, all}); !text.empty())
      return violated(fmt::format("row {} head {}: {}", h.row, h.index, text), {}, call->outputs);
  return all.result();
}

// The diagonal is 0, what lies above it -inf, whatever the gates are.
std::string wrong_mask(const head& h, const decays& d) {
  for (std::size_t i = 0; i < h.tokens; ++i)
    for (std::size_t j = i; j < h.tokens; ++j) {
      const double x = d(h.pair(i, j)), wanted = j == i ? 0.0 : -infinity;
      if (!d.all.agree(wanted, x, 0.0))
        return fmt::format("D at query {}, key {} is {} instead of {}", i, j, x, wanted);
    }
  return "";
}

// F_ij F_jk = F_ik: D_ij + D_jk = D_ik within the errors allowed to the three.
std::string wrong_path(const head& h, const decays& d) {
  for (std::size_t i = 0; i < h.tokens; ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const std::size_t j = (i + k) / 2;
      const approximate whole = d.number(h.pair(i, k)), sum = d.number(h.pair(i, j)) + d.number(h.pair(j, k));
      if (!agree(d.all, whole, sum))
        return fmt::format("D from {} to {} is {:.9g}, by way of {} it is {:.9g}, allowed difference {:.3g}", k, i,
                           whole.value, j, sum.value, whole.error + sum.error);
    }
  return "";
}

// No decay is positive, and it grows with the distance: towards later queries and earlier keys.
std::string wrong_order(const head& h, const decays& d) {
  const auto above = [&](approximate x, approximate y) {
    return !agree(d.all, {std::max(x.value, y.value), x.error}, y);
  };
  for (std::size_t i = 1; i < h.tokens; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const approximate here = d.number(h.pair(i, j));
      if (above(here, d.number(h.pair(i, j + 1))) || above(here, d.number(h.pair(i - 1, j))))
        return fmt::format("D at query {}, key {} is {:.9g}, above that of a nearer pair", i, j, here.value);
    }
  return "";
}

// A constant gate is ALiBi (Press, Smith and Lewis 2022) with the slope -log f: D_ij = (i - j) log f.
std::string wrong_slope(const head& h, const decays& d, approximate log_f) {
  for (std::size_t i = 0; i < h.tokens; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const approximate x = d.number(h.pair(i, j));
      const approximate bias = i == j ? approximate{} : approximate{static_cast<double>(i - j), 0.0} * log_f;
      if (!agree(d.all, bias, x))
        return fmt::format("a constant gate of log f = {:.9g} gives {:.9g} at a distance of {} instead of {:.9g}",
                           log_f.value, x.value, i - j, bias.value);
    }
  return "";
}

outcome check_mask(implementation& t, const test_case& c) { return check_heads(t, c, wrong_mask); }
outcome check_path(implementation& t, const test_case& c) { return check_heads(t, c, wrong_path); }
outcome check_order(implementation& t, const test_case& c) { return check_heads(t, c, wrong_order); }

double log_sigmoid(double g) { return std::min(g, 0.0) - std::log1p(std::exp(-std::fabs(g))); }

// All gates alike.
test_case with_gate(const test_case& c, double gate) {
  core::tensors inputs = c.call.inputs;
  for (double& x : inputs.at(gate_name(*c.call.operation)).values.storage()) x = gate;
  return with_inputs(c, std::move(inputs));
}

outcome check_alibi(implementation& under_test, const test_case& c) {
  const core::tensor& gates = c.call.inputs.at(gate_name(*c.call.operation));
  if (gates.size() == 0) return {status::uninformative};
  const double gate = gates.values.storage()[0];
  const double log_f = c.call.operation->input("g") != nullptr ? log_sigmoid(gate) : gate;
  return check_heads(under_test, with_gate(c, gate), [&](const head& h, const decays& d) {
    return wrong_slope(h, d, {log_f, 0x1p-51 * std::fabs(log_f)});
  });
}

// The gate that does not depend on the data (section 3 of the paper): with the logit b = -log(expm1(1 / T)) log f is
// -1 / T, T the time of decay. Storing b moves it by at most e = u |b|, and log f by at most e times the slope
// 1 - f between both, which is at most (1 - exp(-1 / T)) exp(e) as log(1 - f) has a slope of at most 1 in b.
outcome check_decay_time(implementation& under_test, const test_case& c) {
  if (c.call.inputs.at("g").size() == 0) return {status::uninformative};
  const double rate = std::ldexp(1.0, 2 - static_cast<int>(c.seed % 12)), b = -std::log(std::expm1(rate));
  const double stored = core::round_to(c.call.type, b), moved = std::fabs(stored - b) + 0x1p-50 * std::fabs(b);
  const double slope = -std::expm1(-rate) * std::exp(moved);
  return check_heads(under_test, with_gate(c, stored), [&](const head& h, const decays& d) {
    return wrong_slope(h, d, {-rate, moved * slope + 0x1p-50 * rate});
  });
}

// Compares D of some tokens with their block of the D of more tokens.
outcome compare_block(const measured_call& alone, const tl::expected<measured_call, outcome>& whole,
                      const std::vector<std::size_t>& kept, const std::string& what) {
  if (!whole) return whole.error();
  const core::shape shape = whole->outputs.at("D").shape();
  core::shape of_keys = shape;  // queries chosen
  of_keys[2] = kept.size();
  const std::vector<std::size_t> queries = taken(shape, 2, kept), both = taken(of_keys, 3, kept);
  std::vector<std::size_t> to;
  for (const std::size_t i : both) to.push_back(queries[i]);
  comparisons all;
  if (const auto wrong = compare_elements(all, "D", alone, every(to.size()), *whole, to))
    return violated(what + ": " + *wrong, alone.outputs, whole->outputs);
  return all.result();
}

// D of a run of tokens alone is that block of the whole: nothing outside enters.
outcome check_window(implementation& under_test, const test_case& c) {
  const std::size_t n = sizes_of(c).at("n");
  if (n < 3) return {status::uninformative};
  core::counter_random random(c.seed);
  const std::size_t first = 1 + random.below(n - 2), last = first + 1 + random.below(n - first);
  const std::vector<std::size_t> kept = span_of(first, last);
  const auto alone =
      measure(under_test, with_inputs(c, core::restrict_axis(*c.call.operation, c.call.inputs, "n", kept)));
  if (!alone) return alone.error();
  return compare_block(*alone, measure(under_test, c), kept, fmt::format("tokens {} to {} alone", first, last - 1));
}

// A token whose gate is 1 is neutral to all others, wherever it stands: padding, whose gates are set to 1 so that they
// do not spoil sums over it (zhixuan-lin/forgetting-transformer).
outcome check_padding(implementation& under_test, const test_case& c) {
  const core::tensor& gates = c.call.inputs.at("log_f");
  const std::size_t n = gates.shape()[1], heads = gates.shape()[2];
  if (gates.size() == 0) return {status::uninformative};
  core::counter_random random(c.seed);
  const std::size_t place = random.below(n + 1), count = 1 + random.below(3);
  std::vector<std::size_t> kept = every(n), from(n + count, 0);
  for (std::size_t i = 0; i < n; ++i) from[kept[i] = i < place ? i : i + count] = i;
  core::tensor padded = core::take(gates, 1, from);
  for (std::size_t i = 0; i < padded.size(); ++i)
    if (const std::size_t token = i / heads % (n + count); token >= place && token < place + count)
      padded.values.storage()[i] = 0.0;
  const auto alone = measure(under_test, c);
  if (!alone) return alone.error();
  return compare_block(*alone, measure(under_test, with_inputs(c, {{"log_f", std::move(padded)}})), kept,
                       fmt::format("{} tokens of padding before token {}", count, place));
}

property law(const char* name, const char* summary, outcome (*check)(implementation&, const test_case&),
             bool (*applies)(const core::operation&), std::size_t calls = 1,
             std::vector<std::string> families = families_without_nan) {
  property p{name, summary, applies, check};
  p.calls = calls;
  p.families = std::move(families);
  return p;
}

}  // namespace

std::vector<property> laws() {
  const auto decay = [](const core::operation& op) { return op.name == "fox/decay" || op.name == "fox/gated_decay"; };
  const auto of_gates = [](const core::operation& op) { return op.name == "fox/decay"; };
  const auto of_logits = [](const core::operation& op) { return op.name == "fox/gated_decay"; };
  std::vector<property> laws{
      law("decay_mask", "D is 0 on the diagonal and -inf above it", check_mask, decay),
      law("decay_path", "D from key to query is the sum over any token between", check_path, decay),
      law("decay_window", "D of a run of tokens alone is that block of D", check_window, decay, 2),
      law("decay_order", "D falls with the distance", check_order, decay),
      law("decay_padding", "a token whose gate is 1 is neutral to all others", check_padding, of_gates, 2),
      law("decay_alibi", "a constant gate is ALiBi with the slope -log f", check_alibi, decay, 1,
          {"mild", "gates_near_one", "gates_near_zero", "constant_gate", "wide"}),
      law("decay_time", "a gate logit of -log(expm1(1 / T)) decays by 1 / T a token", check_decay_time, of_logits, 1,
          {"mild"}),
  };
  for (auto more : {attention_laws, laws_beside_others})
    for (property& p : more()) laws.push_back(std::move(p));
  return laws;
}

}  // namespace assay::properties::encodings::fox
