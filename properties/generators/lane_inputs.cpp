#include "properties/generators/lane_inputs.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>

#include "reference/core/special_values.hpp"

namespace assay::properties {
namespace {

using core::counter_random;
using core::dtype;
using core::infinity;

// A decay of about size x: log p = -x, or the logit whose log-sigmoid is near -x.
double decay(bool gated, double x) {
  if (!gated) return -x;
  return x > 0.7 ? -x : -std::log2(std::max(x, 0x1p-1000)) * 0.7;
}

// Fills a lane with gates drawn one by one, and with normal inputs of this scale.
void for_tokens(lane_inputs& lane, counter_random& random, double (*gate)(bool, counter_random&), bool gated,
                double h_scale) {
  for (double& g : lane.gate) g = gate(gated, random);
  for (double& h : lane.h) h = h_scale * random.normal();
  lane.s0 = h_scale * random.normal();
}

double mild_gate(bool gated, counter_random& random) {
  const double x = random.normal();
  return gated ? x : -(0.1 + 0.9 * std::fabs(x));
}

// Writes a lane, rounded, to its place among the tensors.
void put(const lane_inputs& lane, std::size_t number, scan_tensors& to) {
  const std::size_t n = lane.gate.size(), d = to.s0.values.shape()[1];
  const core::dtype type = to.s0.type;
  double *gate = to.gate.values.data() + number / d * n * d + number % d,
         *h = to.h.values.data() + number / d * n * d + number % d;
  for (std::size_t i = 0; i < n; ++i, gate += d, h += d)
    *gate = core::round_to(type, lane.gate[i]), *h = core::round_to(type, lane.h[i]);
  to.s0.values.data()[number] = core::round_to(type, lane.s0);
}

// Fills the lanes from `first` on if each takes as many random numbers as the first lane of all did: then it is known
// where the numbers of each lane begin. False if some lane takes another count.
bool fill_at_once(scan_tensors& to, std::size_t first, std::uint64_t numbers, const counter_random& random,
                  const std::function<lane_inputs(counter_random&)>& draw) {
  constexpr std::size_t neighbours = 8;  // their elements share a cache line
  const std::size_t lanes = to.s0.size();
  std::atomic<bool> alike = true;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(first, lanes, neighbours), [&](const auto& range) {
    for (std::size_t lane = range.begin(); lane < range.end() && alike; ++lane) {
      counter_random lane_random = random.after(numbers * (lane - first));
      const std::uint64_t before = lane_random.drawn();
      put(draw(lane_random), lane, to);
      if (lane_random.drawn() - before != numbers) alike = false;
    }
  });
  return alike;
}

}  // namespace

scan_tensors fill_lanes(lane_filler fill, bool gated, dtype type, counter_random& random, std::size_t batch,
                        std::size_t n, std::size_t d) {
  constexpr std::size_t many = std::size_t{1} << 16;
  const core::shape tokens{batch, n, d};
  scan_tensors all{core::unwritten(type, tokens), core::unwritten(type, tokens), core::unwritten(type, {batch, d})};
  const auto draw = [&](counter_random& from) {
    lane_inputs lane{std::vector<double>(n), std::vector<double>(n)};
    fill(lane, gated, type, from);
    return lane;
  };
  for (std::size_t lane = 0; lane < batch * d; ++lane) {
    const std::uint64_t before = random.drawn();
    put(draw(random), lane, all);
    const std::uint64_t numbers = random.drawn() - before, others = batch * d - 1;
    if (lane > 0 || n * others < many || !fill_at_once(all, 1, numbers, random, draw)) continue;
    random = random.after(numbers * others);
    break;
  }
  return all;
}

void mild(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  for_tokens(lane, random, mild_gate, gated, 1.0);
}
void gates_near_one(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  for_tokens(
      lane, random,
      [](bool g, counter_random& r) { return decay(g, std::ldexp(1.0, -4 - static_cast<int>(r.below(26)))); }, gated,
      1.0);
}
void gates_near_zero(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  for_tokens(
      lane, random, [](bool g, counter_random& r) { return decay(g, r.uniform(5, 60)); }, gated, 1.0);
}
// Rounding errors of equal steps add coherently: random gates hide that.
void constant_gate(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  mild(lane, gated, {}, random);
  std::fill(lane.gate.begin(), lane.gate.end(),
            decay(gated, random.uniform(0.5, 1) * std::ldexp(1.0, -static_cast<int>(random.below(17)))));
}
void constant_stream(lane_inputs& lane, bool gated, dtype type, counter_random& random) {
  constant_gate(lane, gated, type, random);
  std::fill(lane.h.begin(), lane.h.end(), random.normal());
}
// The decay over a block of 16 to 256 tokens is e^-0.3 to e^-3: a lost carry is neither 0 nor 1.
void block_half_life(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  mild(lane, gated, {}, random);
  const double per_token = random.uniform(0.3, 3.0) / static_cast<double>(std::size_t{16} << random.below(5));
  for (double& g : lane.gate) g = decay(gated, per_token * random.uniform(0.5, 1.5));
}
void large_h(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  mild(lane, gated, {}, random);
  const double level = random.sign() * 300.0;
  for (double& h : lane.h) h = random.one_in(4) ? random.sign() * random.uniform(90, 300) : level + h;
  lane.s0 = random.one_in(2) ? level : lane.s0;
}
void late_spike(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  mild(lane, gated, {}, random);
  if (!lane.h.empty()) lane.h[lane.h.size() - 1 - random.below((lane.h.size() + 1) / 2)] = 120.0 + random.normal();
}
void infinite_prefix(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  mild(lane, gated, {}, random);
  lane.s0 = -infinity;
  const std::size_t prefix = random.below(lane.h.size() + 1);
  std::fill_n(lane.h.begin(), prefix, -infinity);
  if (!gated && prefix > 0 && random.one_in(3)) lane.gate[random.below(prefix)] = -infinity;
}
void infinite_inside(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  mild(lane, gated, {}, random);
  for (double& h : lane.h)
    if (random.one_in(3)) h = -infinity;
  for (double& g : lane.gate)
    if (!gated && random.one_in(6)) g = -infinity;
}
// One term is smaller than the other by 12 nats (less in narrow formats) up to 4 nats more than a sum can hold:
// log(1+x) in place of log1p(x) shows here.
void gap(lane_inputs& lane, bool gated, dtype type, counter_random& random) {
  const double widest = 0.6931 * core::format_of(type).precision + 4.0;
  const double distance = random.uniform(std::min(12.0, widest / 2), widest);
  lane.s0 = random.one_in(2) ? 0.0 : random.normal();
  for (double& g : lane.gate) g = decay(gated, random.one_in(2) ? std::ldexp(1.0, -30) : 0.0);
  double state = lane.s0;
  for (double& h : lane.h) {
    h = random.one_in(3) ? state + distance : state - distance;
    state = std::max(state, h);
  }
}
void no_decay(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  mild(lane, gated, {}, random);
  for (double& g : lane.gate) g = gated ? random.uniform(14, 200) : random.one_in(2) ? 0.0 : -1e-6 * random.uniform();
}
void powers_of_two(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  const auto power = [&] { return std::ldexp(1.0, static_cast<int>(random.below(15)) - 8); };
  for (double& g : lane.gate) g = gated ? random.sign() * power() : -power();
  for (double& h : lane.h) h = random.sign() * power();
  lane.s0 = random.sign() * power();
}
void subnormal(lane_inputs& lane, bool gated, dtype type, counter_random& random) {
  const double tiny = core::smallest_subnormal(type);
  const auto number = [&] {
    return tiny * static_cast<double>(random.below(std::size_t{1} << (core::format_of(type).precision - 1)));
  };
  for (double& g : lane.gate) g = gated ? random.sign() * number() : -number();
  for (double& h : lane.h) h = random.sign() * number();
  lane.s0 = random.sign() * number();
}
void wide(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  for_tokens(
      lane, random, [](bool g, counter_random& r) { return decay(g, r.uniform(0, 69)); }, gated, 1.0);
  for (double& h : lane.h) h = random.uniform(-1e4, 1e4);
}
// A large state decays within a few tokens by more than the exponent range of f32. The state itself stays in that
// range, and little comes in: a product that code in the linear domain forms first underflows.
void fading_state(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  mild(lane, gated, {}, random);
  lane.s0 = random.uniform(60, 80);
  const double lost = random.uniform(90, lane.s0 + 60);
  const std::size_t within = 2 + random.below(6);
  for (std::size_t i = 0; i < lane.h.size(); ++i) {
    lane.gate[i] = decay(gated, (i < within ? lost / static_cast<double>(within) : 0.1) * random.uniform(0.9, 1.0));
    lane.h[i] = random.uniform(-80, -70);
  }
}
// Decays up to far beyond the exponent range of exp. Half of the inputs are -inf, so that nothing hides a decay.
void extreme_gates(lane_inputs& lane, bool gated, dtype type, counter_random& random) {
  mild(lane, gated, {}, random);
  // The state itself stays above -max(dtype): below it, -inf and the truth have different derivatives.
  const double deepest = 0.5 * core::largest_finite(type) / (1.0 + static_cast<double>(lane.gate.size()));
  constexpr double levels[] = {16.6, 20, 34, 40, 87.5, 90, 103.9, 104.5, 300, 708, 745.5, 1000, 1e5, 2e7};
  for (double& g : lane.gate) {
    const double x = std::min(levels[random.below(std::size(levels))] + random.uniform(), deepest);
    g = gated && random.one_in(3) ? x : -x;
  }
  for (double& h : lane.h)
    if (random.one_in(2)) h = -infinity;
}
// (log p, h) = (0, -inf) changes nothing, wherever it stands.
void neutral_padding(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  mild(lane, gated, {}, random);
  for (std::size_t i = 0; i < lane.h.size(); ++i)
    if (random.one_in(2)) {
      lane.h[i] = -infinity;
      lane.gate[i] = gated ? 3000.0 : 0.0;
    }
}
void nan_inside(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  mild(lane, gated, {}, random);
  if (!lane.h.empty() && random.one_in(2))
    (random.one_in(2) ? lane.h : lane.gate)[random.below(lane.h.size())] = std::numeric_limits<double>::quiet_NaN();
}

// Every element is one of a few special numbers, drawn at random: in many cases all combinations of neighbours occur.
void special_values(lane_inputs& lane, bool gated, dtype type, counter_random& random) {
  const double tiny = core::smallest_subnormal(type), normal = core::smallest_normal(type);
  const double u = core::unit_roundoff(type);
  const double decays[] = {0.0,  -0.0,  -tiny, -normal, -u,     -0.6931471805599453,
                           -1.0, -20.0, -87.5, -104.0,  -745.5, -infinity};
  const double logits[] = {0.0, -0.0, tiny, -tiny, 1.0, -1.0, 16.75, -16.75, 88.5, -88.5, 104.5, -104.5, 750.0, 3072.0};
  const double inputs[] = {-infinity, 0.0, -0.0, tiny, -tiny, normal, 1.0, -1.0, -u, 88.75, -103.5, 710.0, 1e4, -1e4};
  const auto one_of = [&](const auto& all) { return all[random.below(std::size(all))]; };
  for (double& g : lane.gate) g = gated ? one_of(logits) : one_of(decays);
  for (double& h : lane.h) h = one_of(inputs);
  lane.s0 = one_of(inputs);
}

namespace {

using extended = long double;  // f64 needs more than double to aim between its numbers

extended log_decay(bool gated, double x) {
  if (!gated) return x;
  return x >= 0 ? -std::log1p(std::exp(-extended(x))) : extended(x) - std::log1p(std::exp(extended(x)));
}

extended log_add_exp(extended x, extended y) {
  const extended m = std::max(x, y);
  return std::isinf(m) ? m : m + std::log1p(std::exp(-std::fabs(x - y)));
}

// Chooses each h from t = log p + s, the logit that the state carries there, and follows the true state.
template <class Choose>
void choose_inputs(lane_inputs& lane, bool gated, dtype type, Choose choose) {
  lane.s0 = core::round_to(type, lane.s0);
  extended state = lane.s0;
  for (std::size_t i = 0; i < lane.h.size(); ++i) {
    lane.gate[i] = core::round_to(type, lane.gate[i]);
    const extended t = log_decay(gated, lane.gate[i]) + state;
    lane.h[i] = core::round_to(type, static_cast<double>(choose(t, lane.h[i])));
    state = log_add_exp(t, lane.h[i]);
  }
}

}  // namespace

// |t - h| is 0 or next to it, log 2, the width of the significand, or an end of exp. Gate logits lie where log-sigmoid
// and softplus switch formulas.
void branch_points(lane_inputs& lane, bool gated, dtype type, counter_random& random) {
  mild(lane, gated, type, random);
  const double width = 0.6931471805599453 * core::format_of(type).precision;
  const double gaps[] = {0.0,       core::unit_roundoff(type),
                         0.25,      0.6931471805599453,
                         1.0,       width - 0.7,
                         width,     width + 0.7,
                         2 * width, 87.34,
                         88.73,     103.3,
                         103.98,    708.4,
                         745.1};
  const double logits[] = {0.0,  0.6931471805599453, 15.0, 16.64, 17.33, 20.0, 33.3, 36.74, 37.0, 87.34, 103.98, 709.8,
                           745.1};
  const auto near = [&](double x) {
    return x * (1 + (random.uniform() - 0.5) * std::ldexp(1.0, -4 * int(random.below(14))));
  };
  if (gated)
    for (double& g : lane.gate)
      if (random.one_in(2)) g = random.sign() * near(logits[random.below(std::size(logits))]);
  choose_inputs(lane, gated, type,
                [&](extended t, double) { return t + random.sign() * near(gaps[random.below(std::size(gaps))]); });
}

// exp(h) = 1 - exp(t): the state is near 0 and consists of the rounding error of h.
void near_zero_states(lane_inputs& lane, bool gated, dtype type, counter_random& random) {
  mild(lane, gated, type, random);
  lane.s0 = 0.25 * random.normal();
  choose_inputs(lane, gated, type,
                [&](extended t, double h) { return t < 0 ? std::log1p(-std::exp(t)) : extended(h); });
}

// A small weight v = 2^-k of h moves the state in steps far finer than its spacing: h is chosen so that the
// state lies next to the middle of two neighbours.
void near_midpoints(lane_inputs& lane, bool gated, dtype type, counter_random& random) {
  mild(lane, gated, type, random);
  choose_inputs(lane, gated, type, [&](extended t, double) -> extended {
    const int finest = core::format_of(type).precision - 3;
    const extended v = std::ldexp(extended(1), -2 - static_cast<int>(random.below(static_cast<std::size_t>(finest))));
    const double near = core::round_to(type, static_cast<double>(t - std::log1p(-v)));
    const extended middle = extended(near) + random.sign() * core::half_ulp(type, near);
    return middle > t ? middle + std::log(-std::expm1(t - middle)) : t + std::log(v);
  });
}

}  // namespace assay::properties
