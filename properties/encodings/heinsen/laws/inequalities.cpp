// Consequences of s_i = LSE(a_i + s_{i-1}, h_i) for the states of up to three calls, up to the errors that the
// verdict allows.
#include <cmath>

#include "properties/encodings/heinsen/laws/lanes.hpp"
#include "properties/encodings/heinsen/laws/laws.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using states = std::vector<lane_states>;

constexpr double log_2 = 0.69314718055994531;

// The rounding error of a bound that is formed in double from these numbers.
double in_double(double x, double y, double z) {
  const auto finite = [](double v) { return std::isfinite(v) ? std::fabs(v) : 0.0; };
  return 0x1p-50 * (finite(x) + finite(y) + finite(z));
}

approximate with_error(approximate x, double more) { return {x.value, x.error + more}; }

// max(term) <= s_i <= max(term) + log(number of terms); the true term may be lower by `smaller`, or higher by `larger`.
void check_between(experiment& e, approximate s, double term, double smaller, double larger, double log_of_terms,
                   std::size_t i, const char* what) {
  if (term == -HUGE_VAL) return e.equal(exactly(term), s, "s_{} and the {}", i, what);
  e.at_most({term, smaller}, s, scale_of_states, "the {} and s_{}", what, i);
  e.at_most(s, {term + log_of_terms, larger}, scale_of_states, "s_{} and the {} + {:.9g}", i, what, log_of_terms);
}

// max(a_i + s_{i-1}, h_i) <= s_i <= that + log 2, and M_i <= s_i <= M_i + log(i + 1), where M_i is the largest term.
void check_sandwich(experiment& e) {
  const auto says = [&](const states& lanes) {
    const lane_states& x = lanes[0];
    double path = 0;  // rounding error of the largest term, which is a sum of at most i numbers
    for (std::size_t i = 1; i <= x.tokens(); ++i) {
      // The previous state is known up to its own error: it may have been carried more precisely than it was stored.
      const double carried = x.a[i] + x.s[i - 1].value, error = x.s[i - 1].error, term = std::max(carried, x.h[i]);
      const double rounding = in_double(x.a[i], x.s[i - 1].value, x.h[i]);
      check_between(e, x.s[i], term, term - std::max(carried - error, x.h[i]) + rounding,
                    std::max(carried + error, x.h[i]) - term + rounding, log_2, i, "larger term of its step");
      path += in_double(x.a[i], x.largest[i], x.h[i]);
      check_between(e, x.s[i], x.largest[i], path, path, std::log1p(static_cast<double>(i)), i, "largest term of all");
    }
  };
  for_states(e, says, e.c);
}

// s_{i-1} = log(exp(s_i) - exp(h_i)) - a_i wherever s_i > h_i.
void check_inverse_step(experiment& e) {
  const auto says = [&](const states& lanes) {
    const lane_states& x = lanes[0];
    for (std::size_t i = 1; i <= x.tokens(); ++i) {
      const auto [s, error] = x.s[i];
      const double carried = -std::expm1(x.h[i] - s);  // w_i
      // Errors are multiplied by 1/w; if little is carried, the step cannot be undone.
      if (!(carried >= 0.125) || !std::isfinite(s) || !std::isfinite(x.a[i]) || error > carried / 8) continue;
      const approximate before{s + std::log(carried) - x.a[i],
                               1.25 * error / carried + in_double(s, x.a[i], x.h[i]) / carried};
      e.equal(x.s[i - 1], before, scale_of_states, "s_{}, and log(exp(s_{}) - exp(h_{})) - log p_{}", i - 1, i, i, i);
    }
  };
  for_states(e, says, e.c);
}

// The case with some elements of one input raised, none above its domain.
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

void check_monotone(experiment& e) {
  const auto says = [&](const states& x) {
    for (std::size_t i = 1; i <= x[0].tokens(); ++i)
      e.at_most(x[0].s[i], x[1].s[i], scale_of_states, "s_{}, and s_{} after an input rose", i, i);
  };
  for_states(e, says, e.c, raised(e.c));
}

// Two cases with x + d and x + 2d for every element, exactly; d = 0 where this is not possible.
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

// The midpoint inequality, jointly in log p, h and s0.
void check_convex(experiment& e) {
  const auto [middle, end] = on_a_line(e.c);
  const auto says = [&](const states& lanes) {
    for (std::size_t i = 1; i <= lanes[0].tokens(); ++i) {
      const approximate x = lanes[0].s[i], y = lanes[1].s[i], z = lanes[2].s[i];
      e.at_most(with_error(y, in_double(x.value, y.value, z.value)), {(x.value + z.value) / 2, (x.error + z.error) / 2},
                scale_of_states, "s_{} at the midpoint of two inputs, and the mean of its ends", i);
    }
  };
  for_states(e, says, e.c, middle, end);
}

test_case from_another_state(const test_case& c) {
  core::counter_random random(c.seed);
  core::tensors inputs = c.call.inputs;
  for (double& x : inputs.at("s0").values.storage())
    if (std::isfinite(x)) x = core::round_to(c.call.type, x + 4 * random.normal());
  return with_inputs(c, std::move(inputs));
}

approximate distance(approximate x, approximate y) {
  return {x.value == y.value ? 0.0 : std::fabs(x.value - y.value), x.error + y.error};
}

// With two initial states, the distance between the states never grows.
void check_contraction(experiment& e) {
  const auto says = [&](const states& lanes) {
    const lane_states &x = lanes[0], &y = lanes[1];
    for (std::size_t i = 1; i <= x.tokens(); ++i) {
      const double rounding =
          in_double(x.s[i].value, y.s[i].value, x.s[i - 1].value) + in_double(y.s[i - 1].value, x.a[i], 0);
      e.at_most(with_error(distance(x.s[i], y.s[i]), rounding), distance(x.s[i - 1], y.s[i - 1]), scale_of_states,
                "the distance of two states after token {}, and before it", i);
    }
  };
  for_states(e, says, e.c, from_another_state(e.c));
}

}  // namespace

std::vector<property> inequality_laws() {
  return {law("sandwich", "every state lies between its largest term and that plus the log of the number of terms",
              scans(), {1, check_sandwich}),
          law("inverse_step", "a step undone gives the state before it", scans(), {1, check_inverse_step}),
          law("monotone", "no state falls where an input rises", scans(), {2, check_monotone}),
          law("convex", "states are jointly convex in log p, h and s0", {{"heinsen/scan"}}, {3, check_convex}),
          law("contraction", "states from two initial states never move apart", scans(), {2, check_contraction})};
}

}  // namespace assay::properties::encodings::heinsen
