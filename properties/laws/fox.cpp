#include "properties/laws/fox.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "properties/laws/measured.hpp"

namespace assay::properties {
namespace {

// The operations that give D, and their derivatives.
bool is_decay(const core::operation& op, core::derivative kind) {
  return op.name.starts_with("fox/") && op.kind() == kind && (op.output("D") || op.input("grad_D"));
}

const char* gate_name(const core::operation& op) { return op.input("g") ? "g" : "log_f"; }

/// One head of one row: the elements of a case and of its output.
struct head {
  std::size_t row, index, tokens, heads;
  [[nodiscard]] std::size_t gate(std::size_t i) const { return (row * tokens + i) * heads + index; }
  [[nodiscard]] std::size_t pair(std::size_t i, std::size_t j) const {
    return ((row * heads + index) * tokens + i) * tokens + j;
  }
};

std::vector<head> heads_of(const test_case& c) {
  const core::axis_sizes sizes = sizes_of(c);
  std::vector<head> all;
  for (std::size_t row = 0; row < sizes.at("B"); ++row)
    for (std::size_t k = 0; k < sizes.at("h"); ++k) all.push_back({row, k, sizes.at("n"), sizes.at("h")});
  return all;
}

struct decays {
  const std::vector<double>& allowed;
  const core::tensor& d;
  double operator()(std::size_t at) const { return d.values.storage()[at]; }
};

// Checks every head of a call; `wrong` names what is wrong in one.
template <class Wrong>
outcome check_heads(implementation& under_test, const test_case& c, Wrong wrong) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const decays d{call->allowed.at("D"), call->outputs.at("D")};
  for (const head& h : heads_of(c))
    if (const std::string text = wrong(h, d); !text.empty())
      return violated(fmt::format("row {} head {}: {}", h.row, h.index, text), {}, call->outputs);
  return {};
}

// The diagonal is 0, what lies above it -inf, whatever the gates are.
std::string wrong_mask(const head& h, const decays& d) {
  for (std::size_t i = 0; i < h.tokens; ++i)
    for (std::size_t j = i; j < h.tokens; ++j) {
      const double x = d(h.pair(i, j));
      if (j == i ? x != 0.0 : !(std::isinf(x) && x < 0))
        return fmt::format("D at query {}, key {} is {} instead of {}", i, j, x, j == i ? "0" : "-inf");
    }
  return "";
}

// F_ij F_jk = F_ik: D_ij + D_jk = D_ik within the errors allowed to the three.
std::string wrong_path(const head& h, const decays& d) {
  for (std::size_t i = 0; i < h.tokens; ++i)
    for (std::size_t k = 0; k < i; ++k) {
      const std::size_t j = (i + k) / 2, whole = h.pair(i, k), later = h.pair(i, j), earlier = h.pair(j, k);
      const double sum = d(later) + d(earlier);
      const double allowed = d.allowed[whole] + d.allowed[later] + d.allowed[earlier] + 0x1p-52 * std::fabs(sum);
      if (!agree(d(whole), sum, allowed))
        return fmt::format("D from {} to {} is {:.9g}, by way of {} it is {:.9g}, allowed difference {:.3g}", k, i,
                           d(whole), j, sum, allowed);
    }
  return "";
}

// No decay is positive, and it grows with the distance: towards later queries and earlier keys.
std::string wrong_order(const head& h, const decays& d) {
  const auto above = [&](std::size_t x, std::size_t y) { return d(x) > d(y) + d.allowed[x] + d.allowed[y]; };
  for (std::size_t i = 1; i < h.tokens; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const std::size_t here = h.pair(i, j);
      if (above(here, h.pair(i, j + 1)) || above(here, h.pair(i - 1, j)))
        return fmt::format("D at query {}, key {} is {:.9g}, above that of a nearer pair", i, j, d(here));
    }
  return "";
}

// A constant gate is ALiBi (Press, Smith and Lewis 2022) with the slope -log f: D_ij = (i - j) log f.
std::string wrong_slope(const head& h, const decays& d, double log_f, double u) {
  for (std::size_t i = 0; i < h.tokens; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double bias = i == j ? 0.0 : static_cast<double>(i - j) * log_f;
      const double allowed = d.allowed[h.pair(i, j)] + u * std::fabs(bias);
      if (!agree(d(h.pair(i, j)), bias, allowed))
        return fmt::format("a constant gate of log f = {:.9g} gives {:.9g} at a distance of {} instead of {:.9g}",
                           log_f, d(h.pair(i, j)), i - j, bias);
    }
  return "";
}

outcome check_mask(implementation& t, const test_case& c) { return check_heads(t, c, wrong_mask); }
outcome check_path(implementation& t, const test_case& c) { return check_heads(t, c, wrong_path); }
outcome check_order(implementation& t, const test_case& c) { return check_heads(t, c, wrong_order); }

outcome check_alibi(implementation& under_test, const test_case& c) {
  core::tensors inputs = c.call.inputs;
  core::tensor& gates = inputs.at(gate_name(*c.call.operation));
  if (gates.size() == 0) return {};
  const double gate = gates.values.storage()[0];
  for (double& x : gates.values.storage()) x = gate;
  const bool gated = c.call.operation->input("g") != nullptr;
  const double log_f = gated ? std::min(gate, 0.0) - std::log1p(std::exp(-std::fabs(gate))) : gate;
  return check_heads(under_test, with_inputs(c, inputs),
                     [&](const head& h, const decays& d) { return wrong_slope(h, d, log_f, 0x1p-51); });
}

// D of a run of tokens alone is that block of the whole: nothing outside enters.
outcome check_window(implementation& under_test, const test_case& c) {
  const std::size_t n = sizes_of(c).at("n");
  if (n < 3) return {status::uninformative};
  core::counter_random random(c.seed);
  const std::size_t first = 1 + random.below(n - 2), last = first + 1 + random.below(n - first);
  const auto whole = measure(under_test, c);
  if (!whole) return whole.error();
  std::vector<std::size_t> kept(last - first);
  std::iota(kept.begin(), kept.end(), first);
  const auto alone =
      measure(under_test, with_inputs(c, core::restrict_axis(*c.call.operation, c.call.inputs, "n", kept)));
  if (!alone) return alone.error();
  const std::size_t size = last - first;
  std::vector<std::size_t> from, to;
  for (std::size_t k = 0; k < alone->outputs.at("D").size(); ++k) {
    const std::size_t block = k / (size * size), i = k / size % size, j = k % size;
    from.push_back(k);
    to.push_back((block * n + first + i) * n + first + j);
  }
  if (const auto wrong = compare_elements("D", *alone, from, *whole, to))
    return violated(fmt::format("tokens {} to {} alone: {}", first, last - 1, *wrong), alone->outputs, whole->outputs);
  return {};
}

// The first gate stands in no segment: its gradient is 0, and D does not depend on it.
outcome check_first_gate(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const core::tensor& grad = call->outputs.at(std::string("grad_") + gate_name(*c.call.operation));
  for (const head& h : heads_of(c)) {
    if (h.tokens == 0) continue;
    const double x = grad.values.storage()[h.gate(0)];
    if (!(std::fabs(x) <= call->allowed.begin()->second[h.gate(0)]))
      return violated(
          fmt::format("row {} head {}: the gradient of the first gate is {} instead of 0", h.row, h.index, x), {},
          call->outputs);
  }
  return {};
}

// A gate of 0 forgets all that came before: the outputs from its token on are those of a sequence that starts there.
outcome check_reset(implementation& under_test, const test_case& c) {
  const core::operation& op = *c.call.operation;
  const std::size_t n = sizes_of(c).at("n"), heads = sizes_of(c).at("h");
  if (n < 2) return {status::uninformative};
  const std::size_t first = 1 + core::counter_random(c.seed).below(n - 1);
  core::tensors inputs = c.call.inputs;
  core::tensor& gates = inputs.at("log_f");
  for (std::size_t i = 0; i < gates.size(); ++i)
    if (i / heads % n == first) gates.values.storage()[i] = -std::numeric_limits<double>::infinity();
  std::vector<std::size_t> kept(n - first);
  std::iota(kept.begin(), kept.end(), first);
  const auto fresh = measure(under_test, with_inputs(c, core::restrict_axis(op, inputs, "n", kept)));
  if (!fresh) return fresh.error();
  const auto whole = measure(under_test, with_inputs(c, std::move(inputs)));
  if (!whole) return whole.error();
  const core::shape shape = whole->outputs.at("o").shape();
  std::vector<std::size_t> from, to;
  for (std::size_t k = 0; k < fresh->outputs.at("o").size(); ++k) {
    const std::size_t rows = (n - first) * shape[3];
    from.push_back(k);
    to.push_back(k / rows * n * shape[3] + first * shape[3] + k % rows);
  }
  if (const auto wrong = compare_elements("o", *fresh, from, *whole, to))
    return violated(fmt::format("a gate of 0 at token {}: {}", first, *wrong), fresh->outputs, whole->outputs);
  return {};
}

const std::vector<std::string> without_nan{"mild",          "gates_near_one", "gates_near_zero",
                                           "constant_gate", "no_decay",       "infinite_inside",
                                           "wide",          "block_half_life"};

property law(const char* name, const char* summary, outcome (*check)(implementation&, const test_case&),
             core::derivative kind, std::vector<std::string> families = without_nan) {
  property p{name, summary, [kind](const core::operation& op) { return is_decay(op, kind); }, check};
  p.families = std::move(families);
  return p;
}

}  // namespace

std::vector<property> fox_laws() {
  using core::derivative;
  return {
      law("decay_mask", "D is 0 on the diagonal and -inf above it", check_mask, derivative::none),
      law("decay_path", "D from key to query is the sum over any token between", check_path, derivative::none),
      law("decay_window", "D of a run of tokens alone is that block of D", check_window, derivative::none),
      law("decay_order", "D falls with the distance", check_order, derivative::none),
      law("decay_alibi", "a constant gate is ALiBi with the slope -log f", check_alibi, derivative::none,
          {"mild", "gates_near_one", "gates_near_zero", "constant_gate", "wide"}),
      {"gate_reset", "a gate of 0 forgets all that came before",
       [](const core::operation& op) { return op.name == "fox/attention"; }, check_reset, false, 2, without_nan},
      law("first_gate", "the first gate has no gradient", check_first_gate, derivative::vjp),
  };
}

}  // namespace assay::properties
