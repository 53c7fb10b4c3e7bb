// Changes of a sequence that must not affect its later states or gradients.
#include <cmath>

#include "properties/encodings/heinsen/laws/lanes.hpp"
#include "properties/encodings/heinsen/laws/laws.hpp"
#include "reference/core/special_values.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using core::infinity;

// With p = 0 at token r, two different pasts must give the same states from r on.
void compare_pasts(experiment& e, const test_case& cut, std::size_t r) {
  core::tensors inputs = cut.call.inputs;
  core::counter_random random(cut.seed);
  const core::shape shape = inputs.at("h").shape();
  for (const std::size_t i : taken(shape, 1, span_of(0, r)))
    inputs.at("h").values.storage()[i] = core::round_to(cut.call.type, 8 * random.normal());
  for (double& x : inputs.at("s0").values.storage()) x = core::round_to(cut.call.type, 8 * random.normal());
  const measured_call &one = e.call(cut), &two = e.call(with_inputs(cut, std::move(inputs)));
  const std::vector<std::size_t> kept = taken(shape, 1, span_of(r, shape[1]));
  e.equal("s", one, kept, two, kept, fmt::format("p = 0 at token {}, another past", r + 1));
}

// With no cotangent before token r, and p = 0 there, nothing flows back past r.
void check_nothing_flows_back(experiment& e, test_case cut, std::size_t r) {
  fill_along(*cut.call.operation, cut.call.inputs, "grad_s", "n", span_of(0, r), 0.0);
  double largest = 0;  // the largest cotangent: it could flow back
  for (const char* name : {"grad_s", "grad_s_n"})
    for (const double x : cut.call.inputs.at(name).values.storage()) largest = std::max(largest, std::fabs(x));
  const measured_call& call = e.call(cut);
  for (const auto& d : cut.call.operation->outputs) {
    const core::shape shape = call.outputs.at(d.name).shape();
    const std::size_t end = d.name == "grad_h" ? r : r + 1;
    e.zero(d.name, call, d.name == "grad_s0" ? every(core::element_count(shape)) : taken(shape, 1, span_of(0, end)),
           largest, fmt::format("p = 0 at token {} and no cotangent before it", r + 1));
  }
}

void check_reset(experiment& e) {
  const core::operation& op = *e.c.call.operation;
  const std::size_t n = sizes_of(e.c).at("n");
  e.needs(n > 0);
  const std::size_t r = core::counter_random(e.c.seed).below(n);
  test_case cut = e.c;
  // A NaN is not forgotten: -inf + NaN = NaN.
  for (auto& [name, t] : cut.call.inputs)
    for (double& x : t.values.storage()) x = std::isnan(x) ? 0.0 : x;
  fill_along(op, cut.call.inputs, "log_p", "n", {r}, -infinity);
  op.is_vjp() ? check_nothing_flows_back(e, cut, r) : compare_pasts(e, cut, r);
}

// Neutral tokens before, between and after those of a case.
struct padding {
  padding(std::size_t n, std::uint64_t seed) {
    core::counter_random random(seed);
    for (std::size_t i = 0; i <= n; ++i) {
      for (std::size_t extra = random.below(3); extra > 0; --extra) {
        neutral.push_back(from.size());
        from.push_back(std::min(i, n - 1));  // any token: its values are replaced
      }
      if (i == n) break;
      where.push_back(from.size());
      from.push_back(i);
    }
  }
  std::vector<std::size_t> from;     // for each position: the token that stands there
  std::vector<std::size_t> neutral;  // the positions of neutral tokens
  std::vector<std::size_t> where;    // for each token of the case: its new position
};

void check_padding(experiment& e) {
  const core::operation& op = *e.c.call.operation;
  const std::size_t n = sizes_of(e.c).at("n");
  e.needs(n > 0);
  const padding p(n, e.c.seed);
  core::tensors inputs = core::restrict_axis(op, e.c.call.inputs, "n", p.from);
  fill_along(op, inputs, decay_name(op), "n", p.neutral, neutral_decay(op));
  fill_along(op, inputs, "h", "n", p.neutral, -infinity);
  if (op.is_vjp()) fill_along(op, inputs, "grad_s", "n", p.neutral, 0.0);
  const measured_call &plain = e.call(), &padded = e.call(with_inputs(e.c, std::move(inputs)));
  e.equal_along("n", plain, every(n), padded, p.where, experiment::without_axis::equal, "neutral tokens strewn in");
  e.needs(!p.neutral.empty());
}

// Moves the cotangents of s_n to the last token, as far as the dtype holds the sums; nothing if it does not hold the
// remainder.
std::optional<test_case> with_cotangent_moved(const test_case& c, const std::vector<std::size_t>& last) {
  test_case other = c;
  for (std::size_t k = 0; k < last.size(); ++k) {
    double& last_cotangent = other.call.inputs.at("grad_s").values.storage()[last[k]];
    double& final_cotangent = other.call.inputs.at("grad_s_n").values.storage()[k];
    const double sum = last_cotangent + final_cotangent;
    last_cotangent = core::round_to(c.call.type, sum);
    // The remainder of the rounding stays with s_n.
    final_cotangent = sum - last_cotangent;
    if (core::round_to(c.call.type, final_cotangent) != final_cotangent) return std::nullopt;
  }
  return other;
}

// s_n equals s_i at i = n: their values agree, and so do the gradients of a cotangent moved from one to the other.
void check_final_state(experiment& e) {
  const std::size_t n = sizes_of(e.c).at("n");
  const measured_call& call = e.call();
  const given_numbers s0(e.c, "s0");
  const std::vector<std::size_t> last = n == 0 ? every(s0.size()) : taken(e.c.call.inputs.at("h").shape(), 1, {n - 1});
  if (e.c.call.operation->is_vjp()) {
    const auto other = n == 0 ? std::nullopt : with_cotangent_moved(e.c, last);
    e.needs(other.has_value());
    return e.equal(call, e.call(*other), "cotangent of s_n moved to the last token");
  }
  // Without tokens the last state is s0, bit by bit.
  for (std::size_t k = 0; k < s0.size(); ++k)
    e.equal(n == 0 ? s0[k] : element(call, "s", last[k]), element(call, "s_n", k), scale_of_states,
            "the last state and s_n, element {}", k);
}

}  // namespace

std::vector<property> edit_laws() {
  return {law("reset", "p = 0 forgets what came before, in values and gradients",
              {{"heinsen/scan", "heinsen/scan:vjp"}}, {2, check_reset}),
          law("neutral_padding", "(log p, h) = (0, -inf) strewn in changes nothing, in values and gradients",
              scans_and_gradients(), {2, check_padding}),
          law("final_state", "s_n is the last state, in values and gradients", scans_and_gradients(),
              {2, check_final_state})};
}

}  // namespace assay::properties::encodings::heinsen
