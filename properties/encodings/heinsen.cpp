// Families of inputs for Heinsen's log-linear encoding. No single one suffices: each shows faults that
// all others hide (see the mutants).
#include "properties/mutants/heinsen.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/encodings.hpp"
#include "properties/laws/laws.hpp"

namespace assay::properties {
namespace {

using core::counter_random;
using core::dtype;
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// One lane before rounding: gate logits or log decays, input logits, initial state.
struct lane_inputs {
  std::vector<double> gate, h;
  double s0 = 0.0;
};

// How a family fills a lane. `gated`: gate holds logits g, else log p.
using lane_filler = void (*)(lane_inputs& lane, bool gated, dtype type, counter_random& random);

// What a family does to the module: centre and spread of the gate logits and of h over the tokens.
struct logit_ranges {
  double gate_centre = 0, gate_spread = 1, h_centre = 0, h_spread = 1;
};

// A decay of about this size: log p = -x, or the logit whose log-sigmoid is near it.
double decay(bool gated, double x) {
  if (!gated) return -x;
  return x > 0.7 ? -x : -std::log2(std::max(x, 0x1p-1000)) * 0.7;
}

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
  lane.s0 = minus_infinity;
  const std::size_t prefix = random.below(lane.h.size() + 1);
  std::fill_n(lane.h.begin(), prefix, minus_infinity);
  if (!gated && prefix > 0 && random.one_in(3)) lane.gate[random.below(prefix)] = minus_infinity;
}
void infinite_inside(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  mild(lane, gated, {}, random);
  for (double& h : lane.h)
    if (random.one_in(3)) h = minus_infinity;
  for (double& g : lane.gate)
    if (!gated && random.one_in(6)) g = minus_infinity;
}
// The smaller term is 12 nats to a few ulps below what the sum can hold: log(1+x) for log1p(x) shows here.
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
// Decays beyond the exponent range of exp, with nothing else coming in.
void extreme_gates(lane_inputs& lane, bool gated, dtype type, counter_random& random) {
  mild(lane, gated, {}, random);
  // The state itself stays above -max(dtype): below it, -inf and the truth have different derivatives.
  const double deepest = 0.5 * core::largest_finite(type) / (1.0 + static_cast<double>(lane.gate.size()));
  constexpr double levels[] = {16.6, 20, 34, 40, 87.5, 90, 103.9, 104.5, 300, 708, 745.5, 1000};
  for (double& g : lane.gate) {
    const double x = std::min(levels[random.below(std::size(levels))] + random.uniform(), deepest);
    g = gated && random.one_in(3) ? x : -x;
  }
  for (double& h : lane.h)
    if (random.one_in(2)) h = minus_infinity;
}
// (log p, h) = (0, -inf) changes nothing, wherever it stands.
void neutral_padding(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  mild(lane, gated, {}, random);
  for (std::size_t i = 0; i < lane.h.size(); ++i)
    if (random.one_in(2)) {
      lane.h[i] = minus_infinity;
      lane.gate[i] = gated ? 3000.0 : 0.0;
    }
}
void nan_inside(lane_inputs& lane, bool gated, dtype, counter_random& random) {
  mild(lane, gated, {}, random);
  if (!lane.h.empty() && random.one_in(2))
    (random.one_in(2) ? lane.h : lane.gate)[random.below(lane.h.size())] = std::numeric_limits<double>::quiet_NaN();
}

std::size_t draw_length(counter_random& random, extent size) {
  if (size.range == lengths::exactly) return size.tokens;
  if (size.range == lengths::long_ones) return 1000 + random.below(1100);
  if (size.range == lengths::around_blocks) {
    if (random.one_in(4)) return 66 + random.below(260);
    const std::size_t power = std::size_t{1} << (3 + random.below(6));
    return power - 1 + random.below(3);
  }
  return random.one_in(2) ? random.below(9) : random.below(66);
}

struct extents {
  std::size_t batch, n, d;
};
extents draw_extents(counter_random& random, extent size) {
  extents s{1, draw_length(random, size), 1};
  if (size.range == lengths::exactly) s.d = 4;
  if (size.range >= lengths::long_ones) return s;
  // Certified truth costs microseconds an element: wide or many rows come with few tokens.
  constexpr std::size_t widths[] = {1, 2, 3, 5, 9, 17, 35};
  s.d = widths[random.below(s.n < 10 ? 7 : s.n < 34 ? 3 : 2)];
  if (s.n < 34 && random.one_in(3)) s.batch = 2 + random.below(2);
  if (random.one_in(60)) s.d = 0;
  return s;
}

core::tensors scan_inputs(lane_filler fill, bool gated, dtype type, counter_random& random, extent size) {
  const extents s = draw_extents(random, size);
  std::vector<double> gate(s.batch * s.n * s.d), h(gate.size()), s0(s.batch * s.d);
  for (std::size_t b = 0; b < s.batch; ++b)
    for (std::size_t j = 0; j < s.d; ++j) {
      lane_inputs lane{std::vector<double>(s.n), std::vector<double>(s.n)};
      fill(lane, gated, type, random);
      for (std::size_t i = 0; i < s.n; ++i) {
        gate[(b * s.n + i) * s.d + j] = lane.gate[i];
        h[(b * s.n + i) * s.d + j] = lane.h[i];
      }
      s0[b * s.d + j] = lane.s0;
    }
  const core::shape full{s.batch, s.n, s.d};
  return {{gated ? "g" : "log_p", core::make_tensor(type, full, gate)},
          {"h", core::make_tensor(type, full, h)},
          {"s0", core::make_tensor(type, {s.batch, s.d}, s0)}};
}

// Tokens and weights are mild; biases and scales put the logits into the family's regime.
core::tensors module_inputs(const logit_ranges& r, dtype type, counter_random& random, extent size) {
  extents s = draw_extents(random, size);
  s.d = std::min<std::size_t>(s.d, 5);
  const std::size_t e = 1 + random.below(6);
  const auto draw = [&](const core::shape& shape, double centre, double spread) {
    std::vector<double> x(core::element_count(shape));
    for (double& value : x) value = centre + spread * random.normal();
    return core::make_tensor(type, shape, x);
  };
  const auto halves = [&](core::tensor gate, const core::tensor& rest) {
    core::shape shape = gate.shape();
    std::vector<double> x(gate.values.storage().begin(), gate.values.storage().end());
    x.insert(x.end(), rest.values.storage().begin(), rest.values.storage().end());
    shape[0] *= 2;
    return core::make_tensor(type, shape, x);
  };
  const double width = std::sqrt(static_cast<double>(e));
  return {{"x", draw({s.batch, s.n, e}, 0, 1)},
          {"W_H", halves(draw({s.d, e}, 0, r.gate_spread / width), draw({s.d, e}, 0, r.h_spread / width))},
          {"b_H", halves(draw({s.d}, r.gate_centre, r.gate_spread / 4), draw({s.d}, r.h_centre, r.h_spread / 4))},
          {"W_R", draw({e, s.d}, 0, 0.5)},
          {"b_R", draw({e}, 0, 0.5)},
          {"s0", draw({s.batch, s.d}, 0, 1)}};
}

bool is_module(const core::operation& op) { return op.name == "heinsen/embed_position"; }

family scan_family(std::string name, std::string summary, lane_filler fill) {
  family f{std::move(name), std::move(summary)};
  f.generate = [fill](const core::operation& op, dtype type, counter_random& random, extent size) {
    return scan_inputs(fill, op.name == "heinsen/gated_scan", type, random, size);
  };
  f.applies = [](const core::operation& op) { return !is_module(op); };
  return f;
}

family full_family(std::string name, std::string summary, lane_filler fill, logit_ranges ranges) {
  family f{std::move(name), std::move(summary)};
  f.generate = [fill, ranges](const core::operation& op, dtype type, counter_random& random, extent size) {
    return is_module(op) ? module_inputs(ranges, type, random, size)
                         : scan_inputs(fill, op.name == "heinsen/gated_scan", type, random, size);
  };
  return f;
}

}  // namespace

encoding_tests heinsen_tests() {
  std::vector<family> families{
      full_family("mild", "gates and inputs of order 1", mild, {0, 1, 0, 1}),
      full_family("gates_near_one", "log p from -2^-4 to -2^-29", gates_near_one, {6, 2, 0, 1}),
      full_family("gates_near_zero", "log p from -5 to -60", gates_near_zero, {-20, 8, 0, 1}),
      full_family("constant_gate", "one decay for the whole lane, 2^-17 to 1", constant_gate, {2, 0, 0, 1}),
      scan_family("constant_stream", "decay and input constant", constant_stream),
      full_family("block_half_life", "decay over a block is e^-0.3 to e^-3", block_half_life, {3.5, 0.5, 0, 1}),
      full_family("large_h", "|h| from 90 to 300", large_h, {0, 1, 200, 60}),
      scan_family("late_spike", "one h of 120 late in the lane", late_spike),
      scan_family("infinite_prefix", "s0 and the first h are -inf", infinite_prefix),
      scan_family("infinite_inside", "h and log p are -inf here and there", infinite_inside),
      scan_family("gap", "h below or above the state by 12 nats to log(1/u) + 4", gap),
      full_family("no_decay", "log p = 0 or above -1e-6", no_decay, {40, 10, 0, 1}),
      scan_family("powers_of_two", "all inputs are powers of two", powers_of_two),
      scan_family("subnormal", "all inputs are subnormal", subnormal),
      scan_family("wide", "log p from -69 to 0, h to 1e4", wide),
      scan_family("extreme_gates", "decays beyond the exponent range, h often -inf", extreme_gates),
      scan_family("neutral_padding", "neutral elements (0, -inf) strewn in", neutral_padding),
      scan_family("nan_inside", "a NaN in some lanes", nan_inside),
  };
  families.back().holds_nan = true;
  for (family& f : families)
    f.parts_classes = f.name == "mild" || f.name == "gates_near_one" || f.name == "gates_near_zero" ||
                      f.name == "constant_gate" || f.name == "wide";
  return {"heinsen",
          std::move(families),
          heinsen_mutants(),
          heinsen_controls(),
          {shift_property(), counter_property(), constant_stream_property()}};
}

}  // namespace assay::properties
