// Edits of a sequence that its later states or gradients must not notice, and special sequences whose states
// have a formula without a recurrence.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "properties/encodings/heinsen/laws/lanes.hpp"
#include "properties/encodings/heinsen/laws/laws.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

bool is_scan_or_vjp(const core::operation& op) {
  return is_heinsen_scan(op) || is_heinsen_scan(op, core::derivative::vjp);
}

// Sets some tokens of every lane: tokens[i] says whether token i is set.
void set_tokens(core::tensors& inputs, const std::string& name, const std::vector<bool>& tokens, double x) {
  const auto it = inputs.find(name);
  if (it == inputs.end()) return;
  core::tensor& t = it->second;
  const std::size_t features = t.shape()[2];
  for (std::size_t i = 0; i < t.size(); ++i)
    if (tokens[(i / features) % tokens.size()]) t.values.storage()[i] = x;
}

// The flat indices of the given tokens in [B, n, d].
std::vector<std::size_t> indices_of(const core::axis_sizes& sizes, const std::vector<std::size_t>& tokens) {
  std::vector<std::size_t> all;
  const std::size_t n = sizes.at("n"), d = sizes.at("d");
  for (std::size_t row = 0; row < sizes.at("B"); ++row)
    for (const std::size_t token : tokens)
      for (std::size_t feature = 0; feature < d; ++feature) all.push_back((row * n + token) * d + feature);
  return all;
}

std::vector<std::size_t> counting(std::size_t first, std::size_t last) {
  std::vector<std::size_t> all;
  for (std::size_t i = first; i < last; ++i) all.push_back(i);
  return all;
}

// p = 0 at token r: the states from r on of two different pasts.
outcome compare_pasts(implementation& under_test, const test_case& cut, std::size_t r) {
  const core::axis_sizes sizes = sizes_of(cut);
  core::tensors inputs = cut.call.inputs;
  core::counter_random random(cut.seed);
  const std::size_t n = sizes.at("n"), d = sizes.at("d");
  core::tensor& h = inputs.at("h");
  for (std::size_t i = 0; i < h.size(); ++i)
    if ((i / d) % n < r) h.values.storage()[i] = core::round_to(cut.call.type, 8 * random.normal());
  for (double& x : inputs.at("s0").values.storage()) x = core::round_to(cut.call.type, 8 * random.normal());
  const auto one = measure(under_test, cut);
  if (!one) return one.error();
  const auto two = measure(under_test, with_inputs(cut, std::move(inputs)));
  if (!two) return two.error();
  const auto kept = indices_of(sizes, counting(r, n));
  const auto wrong = compare_elements("s", *one, kept, *two, kept);
  if (!wrong) return {kept.empty() ? status::uninformative : status::passed};
  return violated(fmt::format("p = 0 at token {}, another past: {}", r + 1, *wrong), one->outputs, two->outputs);
}

// No cotangent before token r and p = 0 there: nothing flows back past it.
outcome check_nothing_flows_back(implementation& under_test, test_case cut, std::size_t r) {
  const core::axis_sizes sizes = sizes_of(cut);
  std::vector<bool> before(sizes.at("n"));
  std::fill_n(before.begin(), r, true);
  set_tokens(cut.call.inputs, "grad_s", before, 0.0);
  const auto call = measure(under_test, cut);
  if (!call) return call.error();
  const std::string of_decay = std::string("grad_") + decay_name(*cut.call.operation);
  const auto leaks = [&](const std::string& name, const std::vector<std::size_t>& indices) {
    for (const std::size_t i : indices)
      if (!agree(call->outputs.at(name).values.storage()[i], 0.0, call->allowed.at(name)[i])) return true;
    return false;
  };
  const bool leak = leaks(of_decay, indices_of(sizes, counting(0, r + 1))) ||
                    leaks("grad_h", indices_of(sizes, counting(0, r))) ||
                    leaks("grad_s0", counting(0, call->outputs.at("grad_s0").size()));
  if (leak)
    return violated(fmt::format("p = 0 at token {} and no cotangent before it, yet gradients there are not 0", r + 1),
                    {}, call->outputs);
  return {call->outputs.at("grad_s0").size() == 0 ? status::uninformative : status::passed};
}

outcome check_reset(implementation& under_test, const test_case& c) {
  const std::size_t n = sizes_of(c).at("n");
  if (n == 0) return {status::uninformative};
  const std::size_t r = core::counter_random(c.seed).below(n);
  std::vector<bool> at(n);
  at[r] = true;
  test_case cut = c;
  // A NaN is not forgotten: -inf + NaN = NaN.
  for (auto& [name, t] : cut.call.inputs)
    for (double& x : t.values.storage()) x = std::isnan(x) ? 0.0 : x;
  set_tokens(cut.call.inputs, "log_p", at, minus_infinity);
  return c.call.operation->is_vjp() ? check_nothing_flows_back(under_test, cut, r) : compare_pasts(under_test, cut, r);
}

// The case with neutral tokens before, between and after its own; where[i] is the new index of token i.
struct padded_case {
  test_case padded;
  std::vector<std::size_t> where;
};

padded_case pad(const test_case& c) {
  const std::size_t n = sizes_of(c).at("n");
  core::counter_random random(c.seed);
  padded_case p{c, {}};
  std::vector<std::size_t> from;
  std::vector<bool> neutral;
  for (std::size_t i = 0; i <= n; ++i) {
    for (std::size_t extra = random.below(3); extra > 0; --extra) {
      from.push_back(std::min(i, n - 1));  // any token: its values are replaced
      neutral.push_back(true);
    }
    if (i == n) break;
    p.where.push_back(from.size());
    from.push_back(i);
    neutral.push_back(false);
  }
  const core::operation& op = *c.call.operation;
  p.padded.call.inputs = core::restrict_axis(op, c.call.inputs, "n", from);
  set_tokens(p.padded.call.inputs, decay_name(op), neutral, neutral_decay(op));
  set_tokens(p.padded.call.inputs, "h", neutral, minus_infinity);
  set_tokens(p.padded.call.inputs, "grad_s", neutral, 0.0);
  return p;
}

outcome check_padding(implementation& under_test, const test_case& c) {
  const core::axis_sizes sizes = sizes_of(c);
  const std::size_t n = sizes.at("n");
  if (n == 0) return {status::uninformative};
  const padded_case p = pad(c);
  const auto plain = measure(under_test, c);
  if (!plain) return plain.error();
  const auto padded = measure(under_test, p.padded);
  if (!padded) return padded.error();
  const auto from = indices_of(sizes, counting(0, n)), to = indices_of(sizes_of(p.padded), p.where);
  for (const auto& [name, t] : plain->outputs) {
    const bool timed = t.shape().size() == 3;
    const auto states = counting(0, t.size());
    const auto wrong = compare_elements(name, *plain, timed ? from : states, *padded, timed ? to : states);
    if (wrong) return violated("neutral tokens strewn in: " + *wrong, plain->outputs, padded->outputs);
  }
  return {p.padded.call.inputs.at("h").size() == c.call.inputs.at("h").size() ? status::uninformative : status::passed};
}

// s_n is s_i at i = n: their values agree, and so do the gradients of a cotangent moved from one to the other.
outcome check_final_state(implementation& under_test, const test_case& c) {
  const core::axis_sizes sizes = sizes_of(c);
  const std::size_t n = sizes.at("n");
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const auto states = counting(0, c.call.inputs.at("s0").size());
  if (states.empty()) return {status::uninformative};
  const auto last = n == 0 ? states : indices_of(sizes, {n - 1});
  if (!c.call.operation->is_vjp()) {
    measured_call named = *call;
    // Without a token the last state is s0, bit by bit.
    named.outputs.at("s") = n == 0 ? c.call.inputs.at("s0") : call->outputs.at("s");
    if (n == 0) named.allowed.at("s").assign(states.size(), 0.0);
    for (std::size_t k = 0; k < states.size(); ++k) {
      const double x = named.outputs.at("s").values.storage()[last[k]];
      const double y = call->outputs.at("s_n").values.storage()[k];
      if (!agree(x, y, named.allowed.at("s")[last[k]] + call->allowed.at("s_n")[k]))
        return violated(fmt::format("the last state is {:.9g}, s_n is {:.9g}", x, y), {}, call->outputs);
    }
    return {};
  }
  if (n == 0) return {status::uninformative};
  core::tensors moved = c.call.inputs;
  for (std::size_t k = 0; k < states.size(); ++k) {
    const double sum = moved.at("grad_s").values.storage()[last[k]] + moved.at("grad_s_n").values.storage()[k];
    moved.at("grad_s").values.storage()[last[k]] = core::round_to(c.call.type, sum);
    // What rounding left over stays where it was.
    moved.at("grad_s_n").values.storage()[k] = sum - core::round_to(c.call.type, sum);
    if (core::round_to(c.call.type, moved.at("grad_s_n").values.storage()[k]) !=
        moved.at("grad_s_n").values.storage()[k])
      return {status::uninformative};
  }
  const auto other = measure(under_test, with_inputs(c, std::move(moved)));
  if (!other) return other.error();
  for (const auto& [name, t] : call->outputs) {
    const auto every = counting(0, t.size());
    if (const auto wrong = compare_elements(name, *call, every, *other, every))
      return violated("cotangent of s_n moved to the last token: " + *wrong, call->outputs, other->outputs);
  }
  return {};
}

}  // namespace

property reset_property() {
  property p{"reset", "p = 0 forgets what came before, in values and gradients"};
  p.applies = [](const core::operation& op) { return is_scan_or_vjp(op) && op.input("log_p"); };
  p.check = check_reset;
  p.calls = 2;
  return p;
}
property neutral_padding_property() {
  return {"neutral_padding",
          "(log p, h) = (0, -inf) strewn in changes nothing, in values and gradients",
          is_scan_or_vjp,
          check_padding,
          false,
          2};
}
property final_state_property() {
  return {"final_state", "s_n is the last state, in values and gradients", is_scan_or_vjp, check_final_state, false, 2};
}

}  // namespace assay::properties::encodings::heinsen
