// Laws of the scalings of rotary position embedding, of its frequencies, and of its operations together.
#include <cmath>

#include "properties/encodings/rope/laws/laws.hpp"
#include "properties/encodings/rope/laws/rotary_case.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::rope {
namespace {

std::optional<test_case> spread_by_four(const test_case& c) {
  return with_positions(c, [](double m) { return 4.0 * m; });
}

// Without scaling the frequencies are those of any scaling by 1: what is below the trained length is not changed.
std::optional<test_case> scaled_by_one(const test_case& c) {
  const std::string scaling = c.seed % 2 == 0 ? "ntk" : "interpolation";
  return with_settings(c, {{"scaling", scaling}, {"factor", 1.0}});
}

change scaled(const char* scaling, double factor) {
  return with({{"scaling", std::string(scaling)}, {"factor", factor}});
}

// Every frequency but the fastest is slower by a factor of its own, the slowest by all of it: factor^(t/(r-1)).
void check_ntk(experiment& e) {
  const auto pairs = sizes_of(e.c).at("r");
  e.needs(pairs > 1);
  const auto drawn = setting<double>(e.c, "factor");
  const double factor = drawn == 1.0 ? 4.0 : drawn;
  const numbers x(e.call(with_setting(e.c, "scaling", std::string("none"))), "theta"),
      y(e.call(*scaled("ntk", factor)(e.c)), "theta");
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double share = static_cast<double>(k % pairs) / static_cast<double>(pairs - 1);
    const double slower = std::pow(factor, share);  // exact at both ends
    e.equal(x[k], approximate{slower, 0x1p-50 * slower} * y[k], "frequency {} without scaling, and by ntk times {:.9g}",
            k % pairs, slower);
  }
}

// The base that the frequencies of a call are those of: base factor^(r/(r-1)) under "ntk".
double base_in_use(const test_case& c, double base, std::size_t pairs) {
  if (setting<std::string>(c, "scaling") != "ntk" || pairs < 2) return base;
  const auto r = static_cast<double>(pairs);
  return base * std::pow(setting<double>(c, "factor"), r / (r - 1.0));
}

// A geometric sequence: theta_i theta_0 = theta_{i/2} theta_{i-i/2}; it starts at 1, or at 1/factor where positions are
// interpolated, and ends where one step more would be base in use: theta_{r-1} theta_1 base = theta_0^2.
void check_sequence(experiment& e) {
  const numbers theta(e.call(), "theta");
  const std::size_t pairs = theta.shape[1];
  const given_numbers bases(e.c, "base");
  const double factor = setting<std::string>(e.c, "scaling") == "interpolation" ? setting<double>(e.c, "factor") : 1.0;
  for (std::size_t k = 0; k < bases.size(); ++k) {
    e.equal(exactly(factor) * theta(k, 0), exactly(1), "the first frequency, base {:.17g}", bases[k].value);
    for (std::size_t i = 1; i < pairs; ++i)
      e.equal(theta(k, i) * theta(k, 0), theta(k, i / 2) * theta(k, i - i / 2),
              "a frequency and its factors, base {:.17g}", bases[k].value);
    if (pairs < 2) continue;
    const double base = base_in_use(e.c, bases[k].value, pairs);
    e.equal(theta(k, pairs - 1) * theta(k, 1), theta(k, 0) * theta(k, 0) * approximate{1.0 / base, 0x1p-49 / base},
            "the end of the sequence, base {:.17g}", bases[k].value);
  }
}

/// The case of rope/rotate by other operations: frequencies of its base, interpolated where its positions are divided.
struct other_way {
  test_case frequencies, rotation;
};
std::optional<other_way> by_frequencies(const test_case& c) {
  const auto base = setting<double>(c, "base");
  const core::dtype type = c.call.type;
  const core::tensor& position = c.call.inputs.at("position");
  for (const double m : position.values.storage())
    if (core::round_to(type, m) != m) return std::nullopt;
  const auto pairs = static_cast<std::int64_t>(rotary_case(c).pairs());
  if (pairs == 0) return std::nullopt;
  other_way way{c, c};
  way.frequencies.call = {
      reference::find_operation("rope/frequencies"),
      type,
      {{"base", core::make_tensor(type, {1}, {base})}},
      {{"pairs", pairs}, {"scaling", std::string("interpolation")}, {"factor", setting<double>(c, "position_scale")}}};
  way.rotation.call = {reference::find_operation("rope/rotate_by"),
                       type,
                       {{"x", c.call.inputs.at("x")}, {"position", core::cast(type, position)}},
                       {{"layout", setting<std::string>(c, "layout")}}};
  return way;
}

// R_{m/s} by the frequencies of a base is R_m by these frequencies interpolated by s. What theta is off turns y by m
// times as much, and by at most 2 |x| in all.
void check_frequencies(experiment& e) {
  const auto drawn_base = setting<double>(e.c, "base");
  const bool held = core::round_to(e.c.call.type, drawn_base) == drawn_base;
  const test_case c = held ? e.c : with_setting(e.c, "base", 100.0);
  auto way = by_frequencies(c);
  e.needs(way.has_value());
  const measured_call& theta = e.call(way->frequencies);
  core::tensor given = theta.outputs.at("theta");
  way->rotation.call.inputs.emplace(
      "theta", core::make_tensor(given.type, {given.size()}, {given.values.begin(), given.values.end()}));
  const numbers frequency(theta, "theta"), z(e.call(way->rotation), "y"), y(e.call(c), "y");
  const rotary_case shape(c);
  const auto& x = c.call.inputs.at("x").values.storage();
  const auto& m = c.call.inputs.at("position").values.storage();
  for_pairs(shape, [&](std::size_t v, std::size_t t, std::size_t first, std::size_t second) {
    const double turned = std::fabs(m[v / shape.heads()]) * frequency.allowed[t];
    const double length = length_of(exactly(x[first]), exactly(x[second])).value;
    const approximate inherited{0.0, std::min(turned, 2.0) * length * (1 + 0x1p-50)};
    for (const std::size_t i : {first, second})
      e.equal(y[i], z[i] + inherited, "y element {} by base and by frequencies", i);
  });
}

}  // namespace

std::vector<property> setting_laws() {
  const law_scope rotate{{"rope/rotate"}, {"mild", "left_padding", "decode"}},
      frequencies{{"rope/frequencies"}, {"mild", "bases_near_one", "wide_bases"}};
  return {
      // Chen et al. 2023
      law("rotation_interpolation", "positions 4m divided by 4 are positions m", rotate,
          agree_between(with({{"position_scale", 1.0}}), then(spread_by_four, with({{"position_scale", 4.0}})),
                        "positions 4m, divided by 4")),
      law("rotation_by_frequencies", "a base rotates by its frequencies, interpolated where positions are", rotate,
          {3, check_frequencies}),
      law("frequency_interpolation", "interpolation by 2 halves the frequencies", frequencies,
          agree_between(with({{"scaling", std::string("none")}}), scaled("interpolation", 2.0), "interpolated by 2",
                        times(2.0))),
      law("frequency_factor_one", "no scaling is any scaling by 1", frequencies,
          agree_between(scaled("none", 4.0), scaled_by_one, "scaling by 1")),
      law("frequency_ntk", "NTK scaling slows each frequency, from none of the factor to all of it", frequencies,
          {2, check_ntk}),
      law("frequency_sequence", "frequencies are a geometric sequence from 1 to the end of the base", frequencies,
          {1, check_sequence}),
  };
}

}  // namespace assay::properties::encodings::rope
