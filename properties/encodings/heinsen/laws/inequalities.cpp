// What s_i = LSE(a_i + s_{i-1}, h_i) implies for the states of one or two calls, up to the errors that the
// verdict allows them.
#include <fmt/format.h>

#include <cmath>

#include "properties/encodings/heinsen/laws/lanes.hpp"
#include "properties/encodings/heinsen/laws/laws.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

constexpr double log_2 = 0.69314718055994531;

// The rounding of a bound that is formed from these numbers in double.
double in_double(double x, double y, double z) {
  const auto finite = [](double v) { return std::isfinite(v) ? std::fabs(v) : 0.0; };
  return 0x1p-50 * (finite(x) + finite(y) + finite(z));
}

std::string check_sandwich(const lane_states& x) {
  const std::vector<double> largest = largest_terms(x);
  double path = 0;  // what rounding may do to the largest term: it is a sum of at most i numbers
  for (std::size_t i = 1; i <= x.tokens(); ++i) {
    // The state before is known up to its own error: it may have been carried more precisely than it was stored.
    const double carried = x.a[i] + x.s[i - 1], term = std::max(carried, x.h[i]);
    const double low = std::max(carried - x.allowed[i - 1], x.h[i]),
                 high = std::max(carried + x.allowed[i - 1], x.h[i]);
    const double step = x.allowed[i] + in_double(x.a[i], x.s[i - 1], x.h[i]);
    if (term == -HUGE_VAL ? x.s[i] != term : !(x.s[i] >= low - step && x.s[i] <= high + log_2 + step))
      return fmt::format("s_{} = {:.9g} lies outside [{:.9g}, {:.9g} + log 2], the larger term of its step", i, x.s[i],
                         term, term);
    path += in_double(x.a[i], largest[i], x.h[i]);
    const double whole = x.allowed[i] + path, terms = std::log1p(static_cast<double>(i));
    if (largest[i] == -HUGE_VAL ? x.s[i] != largest[i]
                                : !(x.s[i] >= largest[i] - whole && x.s[i] <= largest[i] + terms + whole))
      return fmt::format("s_{} = {:.9g} lies outside [{:.9g}, {:.9g} + log {}], the largest term of all", i, x.s[i],
                         largest[i], largest[i], i + 1);
  }
  return "";
}

std::string check_inverse_step(const lane_states& x) {
  for (std::size_t i = 1; i <= x.tokens(); ++i) {
    const double carried = -std::expm1(x.h[i] - x.s[i]);  // w_i
    // Errors are multiplied by 1/w; where little is carried the step cannot be undone.
    if (!(carried >= 0.125) || !std::isfinite(x.s[i]) || !std::isfinite(x.a[i]) || x.allowed[i] > carried / 8) continue;
    const double before = x.s[i] + std::log(carried) - x.a[i];
    const double allowed =
        1.25 * x.allowed[i] / carried + x.allowed[i - 1] + in_double(x.s[i], x.a[i], x.h[i]) / carried;
    if (!(std::fabs(before - x.s[i - 1]) <= allowed))
      return fmt::format("log(exp(s_{}) - exp(h_{})) - log p_{} = {:.9g}, but s_{} = {:.9g}, allowed difference {:.3g}",
                         i, i, i, before, i - 1, x.s[i - 1], allowed);
  }
  return "";
}

// Some elements of one input raised, none above its domain.
test_case raised(const test_case& c) {
  core::counter_random random(c.seed);
  const core::operation& op = *c.call.operation;
  const std::string names[] = {decay_name(op), "h", "s0"};
  const std::string& name = names[random.below(3)];
  core::tensors inputs = c.call.inputs;
  for (double& x : inputs.at(name).values.storage()) {
    if (random.one_in(2)) continue;
    const double up = std::isinf(x) ? random.normal() : x + std::ldexp(random.uniform(), 2 - int(random.below(12)));
    const double y = core::round_to(c.call.type, up);
    x = std::min(y, op.input(name)->domain.high);
  }
  return with_inputs(c, std::move(inputs));
}

outcome check_monotone(implementation& under_test, const test_case& c) {
  return check_lane_pairs(under_test, c, raised(c),
                          [](const lane_states& low, const lane_states& high, const lane_position&) -> std::string {
                            for (std::size_t i = 1; i <= low.tokens(); ++i)
                              if (!(high.s[i] >= low.s[i] - (low.allowed[i] + high.allowed[i])))
                                return fmt::format("an input rose and s_{} fell from {:.9g} to {:.9g}", i, low.s[i],
                                                   high.s[i]);
                            return "";
                          });
}

// x + d and x + 2d for every element, exactly; d = 0 where that cannot be.
std::pair<test_case, test_case> on_a_line(const test_case& c) {
  core::counter_random random(c.seed);
  core::tensors one = c.call.inputs, two = c.call.inputs;
  for (auto& [name, t] : one) {
    const double high = c.call.operation->input(name)->domain.high;
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double x = t.values.storage()[i], d = random.sign() * std::ldexp(1.0, 1 - int(random.below(6)));
      const double y = x + d, z = y + d;
      const bool exact = y - d == x && z - d == y && core::round_to(c.call.type, y) == y &&
                         core::round_to(c.call.type, z) == z && y <= high && z <= high;
      if (!exact) continue;
      t.values.storage()[i] = y;
      two.at(name).values.storage()[i] = z;
    }
  }
  return {with_inputs(c, std::move(one)), with_inputs(c, std::move(two))};
}

outcome check_convex(implementation& under_test, const test_case& c) {
  const auto [middle, end] = on_a_line(c);
  const auto centre = measure(under_test, middle);
  if (!centre) return centre.error();
  return check_lane_pairs(
      under_test, c, end, [&](const lane_states& x, const lane_states& z, const lane_position& lane) -> std::string {
        const lane_states y = states_of(middle, *centre, lane);
        for (std::size_t i = 1; i <= x.tokens(); ++i) {
          const double chord = (x.s[i] + z.s[i]) / 2;
          const double allowed = y.allowed[i] + (x.allowed[i] + z.allowed[i]) / 2 + in_double(x.s[i], y.s[i], z.s[i]);
          if (chord == -HUGE_VAL ? y.s[i] == chord : y.s[i] <= chord + allowed) continue;
          return fmt::format("s_{} at the midpoint of two inputs is {:.9g}, above the mean {:.9g} of its ends", i,
                             y.s[i], chord);
        }
        return "";
      });
}

test_case from_another_state(const test_case& c) {
  core::counter_random random(c.seed);
  core::tensors inputs = c.call.inputs;
  for (double& x : inputs.at("s0").values.storage())
    if (std::isfinite(x)) x = core::round_to(c.call.type, x + 4 * random.normal());
  return with_inputs(c, std::move(inputs));
}

outcome check_contraction(implementation& under_test, const test_case& c) {
  return check_lane_pairs(
      under_test, c, from_another_state(c),
      [](const lane_states& x, const lane_states& y, const lane_position&) -> std::string {
        for (std::size_t i = 1; i <= x.tokens(); ++i) {
          const double before = x.s[i - 1] == y.s[i - 1] ? 0.0 : std::fabs(x.s[i - 1] - y.s[i - 1]);
          const double after = x.s[i] == y.s[i] ? 0.0 : std::fabs(x.s[i] - y.s[i]);
          const double allowed = x.allowed[i] + y.allowed[i] + x.allowed[i - 1] + y.allowed[i - 1] +
                                 in_double(x.s[i], y.s[i], x.s[i - 1]) + in_double(y.s[i - 1], x.a[i], 0);
          if (!(after <= before + allowed))
            return fmt::format("the distance of two states grew from {:.9g} to {:.9g} at token {}", before, after, i);
        }
        return "";
      });
}

property scan_law(const char* name, const char* summary,
                  std::function<outcome(implementation&, const test_case&)> check, std::size_t calls) {
  return {name, summary, [](const core::operation& op) { return is_heinsen_scan(op); }, std::move(check), false, calls};
}

}  // namespace

property sandwich_property() {
  return scan_law(
      "sandwich", "every state lies between its largest term and that plus the log of the number of terms",
      [](implementation& i, const test_case& c) { return check_lanes_of(i, c, check_sandwich); }, 1);
}
property inverse_step_property() {
  return scan_law(
      "inverse_step", "a step undone gives the state before it",
      [](implementation& i, const test_case& c) { return check_lanes_of(i, c, check_inverse_step); }, 1);
}
property monotone_property() { return scan_law("monotone", "no state falls where an input rises", check_monotone, 2); }
property convex_property() {
  property p = scan_law("convex", "states are jointly convex in log p, h and s0", check_convex, 3);
  p.applies = [](const core::operation& op) { return op.name == "heinsen/scan"; };
  return p;
}
property contraction_property() {
  return scan_law("contraction", "states from two initial states never move apart", check_contraction, 2);
}

}  // namespace assay::properties::encodings::heinsen
