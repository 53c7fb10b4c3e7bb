// Laws of the scalings of rotary position embedding, of its frequencies, and of its operations together.
#include <cmath>

#include "properties/encodings/rope/laws/laws.hpp"
#include "properties/encodings/rope/laws/rotary_case.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::rope {
namespace {

// The same output of two calls, that of the second times a factor, element by element.
outcome compare_calls(implementation& under_test, const test_case& a, const test_case& b, const char* output,
                      double factor_of_b, const std::string& what) {
  const auto first = measure(under_test, a), second = measure(under_test, b);
  if (!first) return first.error();
  if (!second) return second.error();
  const numbers x(*first, output), y(*second, output);
  comparisons all;
  for (std::size_t i = 0; i < x.x.size(); ++i) {
    const approximate expected = at(x, i), actual = approximate{factor_of_b, 0.0} * at(y, i);
    if (!agree(all, expected, actual))
      return violated(differing(fmt::format("{}: {} element {}", what, output, i), expected, actual), first->outputs,
                      second->outputs);
  }
  return all.result();
}

// Positions 4m divided by 4 are positions m (Chen et al. 2023).
outcome check_interpolated_positions(implementation& under_test, const test_case& c) {
  const auto spread = with_positions(c, [](double m) { return 4.0 * m; });
  if (!spread) return {status::uninformative};
  return compare_calls(under_test, with_setting(c, "position_scale", 1.0), with_setting(*spread, "position_scale", 4.0),
                       "y", 1.0, "positions 4m, divided by 4");
}

// Interpolation by 2 halves every frequency.
outcome check_interpolated_frequencies(implementation& under_test, const test_case& c) {
  const test_case plain = with_setting(c, "scaling", std::string("none"));
  const test_case halved = with_setting(with_setting(c, "scaling", std::string("interpolation")), "factor", 2.0);
  return compare_calls(under_test, plain, halved, "theta", 2.0, "interpolated by 2");
}

// Without scaling the frequencies are those of any scaling by 1: what is below the trained length is not changed.
outcome check_factor_one(implementation& under_test, const test_case& c) {
  const test_case plain = with_setting(with_setting(c, "scaling", std::string("none")), "factor", 4.0);
  const std::string scaling = c.seed % 2 == 0 ? "ntk" : "interpolation";
  const test_case by_one = with_setting(with_setting(c, "scaling", scaling), "factor", 1.0);
  return compare_calls(under_test, plain, by_one, "theta", 1.0, scaling + " by 1");
}

// Every frequency but the fastest is slower by a factor of its own, the slowest by all of it: factor^(t/(r-1)).
outcome check_ntk(implementation& under_test, const test_case& c) {
  const auto pairs = sizes_of(c).at("r");
  if (pairs < 2) return {status::uninformative};
  const auto drawn = setting<double>(c, "factor");
  const double factor = drawn == 1.0 ? 4.0 : drawn;
  const auto plain = measure(under_test, with_setting(c, "scaling", std::string("none")));
  if (!plain) return plain.error();
  const auto stretched =
      measure(under_test, with_setting(with_setting(c, "scaling", std::string("ntk")), "factor", factor));
  if (!stretched) return stretched.error();
  const numbers x(*plain, "theta"), y(*stretched, "theta");
  comparisons all;
  for (std::size_t k = 0; k < x.x.size(); ++k) {
    const double share = static_cast<double>(k % pairs) / static_cast<double>(pairs - 1);
    const double slower = std::pow(factor, share);  // exact at both ends
    const approximate expected = at(x, k), actual = approximate{slower, 0x1p-50 * slower} * at(y, k);
    if (!agree(all, expected, actual))
      return violated(differing(fmt::format("frequency {} without scaling, and by ntk times {:.9g}", k % pairs, slower),
                                expected, actual),
                      plain->outputs, stretched->outputs);
  }
  return all.result();
}

// The base that the frequencies of a call are those of: base factor^(r/(r-1)) under "ntk".
double base_in_use(const test_case& c, double base, std::size_t pairs) {
  if (setting<std::string>(c, "scaling") != "ntk" || pairs < 2) return base;
  const auto r = static_cast<double>(pairs);
  return base * std::pow(setting<double>(c, "factor"), r / (r - 1.0));
}

// A geometric sequence: theta_i theta_0 = theta_{i/2} theta_{i-i/2}; it starts at 1, or at 1/factor where positions are
// interpolated, and ends where one step more would be base in use: theta_{r-1} theta_1 base = theta_0^2.
outcome check_sequence(implementation& under_test, const test_case& c) {
  const auto call = measure(under_test, c);
  if (!call) return call.error();
  const numbers all_theta(*call, "theta");
  const std::size_t pairs = sizes_of(c).at("r");
  const auto& bases = c.call.inputs.at("base").values.storage();
  const double factor = setting<std::string>(c, "scaling") == "interpolation" ? setting<double>(c, "factor") : 1.0;
  comparisons all;
  for (std::size_t k = 0; k < bases.size(); ++k) {
    const auto theta = [&](std::size_t t) { return at(all_theta, k * pairs + t); };
    const auto wrong = [&](const char* what, approximate x, approximate y) {
      return violated(differing(fmt::format("{}, base {:.17g}", what, bases[k]), x, y), {}, call->outputs);
    };
    const approximate first = approximate{factor, 0.0} * theta(0), one{1.0, 0.0};
    if (!agree(all, first, one)) return wrong("the first frequency", first, one);
    for (std::size_t i = 1; i < pairs; ++i) {
      const approximate here = theta(i) * theta(0), halves = theta(i / 2) * theta(i - i / 2);
      if (!agree(all, here, halves)) return wrong("a frequency and its factors", here, halves);
    }
    if (pairs < 2) continue;
    const double base = base_in_use(c, bases[k], pairs);
    const approximate end = theta(pairs - 1) * theta(1),
                      wanted = theta(0) * theta(0) * approximate{1.0 / base, 0x1p-49 / base};
    if (!agree(all, end, wanted)) return wrong("the end of the sequence", end, wanted);
  }
  return all.result();
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
outcome check_frequencies(implementation& under_test, const test_case& drawn) {
  const auto drawn_base = setting<double>(drawn, "base");
  const bool held = core::round_to(drawn.call.type, drawn_base) == drawn_base;
  const test_case c = held ? drawn : with_setting(drawn, "base", 100.0);
  auto way = by_frequencies(c);
  if (!way) return {status::uninformative};
  for (const test_case* step : {&way->frequencies, &way->rotation})
    if (!under_test.describe().offers(step->call.operation->name, c.call.type)) return {status::unsupported};
  const auto theta = measure(under_test, way->frequencies);
  if (!theta) return theta.error();
  core::tensor given = theta->outputs.at("theta");
  way->rotation.call.inputs.emplace(
      "theta", core::make_tensor(given.type, {given.size()}, {given.values.begin(), given.values.end()}));
  const auto whole = measure(under_test, c), apart = measure(under_test, way->rotation);
  if (!whole) return whole.error();
  if (!apart) return apart.error();
  const rotary_case shape(c);
  const numbers y(*whole, "y"), z(*apart, "y"), frequency(*theta, "theta");
  const auto& x = c.call.inputs.at("x").values.storage();
  const auto& m = c.call.inputs.at("position").values.storage();
  comparisons all;
  for (std::size_t v = 0; v < shape.vectors(); ++v)
    for (std::size_t t = 0; t < shape.pairs(); ++t) {
      const auto [first, second] = shape.pair(v, t);
      const double turned = std::fabs(m[v / shape.heads()]) * frequency.allowed[t];
      const approximate inherited{0.0, std::min(turned, 2.0) * std::hypot(x[first], x[second]) * (1 + 0x1p-50)};
      for (const std::size_t i : {first, second})
        if (!agree(all, at(y, i), at(z, i) + inherited))
          return violated(
              differing(fmt::format("y element {} by base and by frequencies", i), at(y, i), at(z, i) + inherited),
              apart->outputs, whole->outputs);
    }
  return all.result();
}

}  // namespace

std::vector<property> setting_laws() {
  const std::vector<std::string> positions{"mild", "left_padding", "decode"};
  const std::vector<std::string> bases{"mild", "bases_near_one", "wide_bases"}, frequencies{"rope/frequencies"};
  return {
      law_of("rotation_interpolation", "positions 4m divided by 4 are positions m", {"rope/rotate"},
             check_interpolated_positions, 2, positions),
      law_of("rotation_by_frequencies", "a base rotates by its frequencies, interpolated where positions are",
             {"rope/rotate"}, check_frequencies, 3, positions),
      law_of("frequency_interpolation", "interpolation by 2 halves the frequencies", frequencies,
             check_interpolated_frequencies, 2, bases),
      law_of("frequency_factor_one", "no scaling is any scaling by 1", frequencies, check_factor_one, 2, bases),
      law_of("frequency_ntk", "NTK scaling slows each frequency, from none of the factor to all of it", frequencies,
             check_ntk, 2, bases),
      law_of("frequency_sequence", "frequencies are a geometric sequence from 1 to the end of the base", frequencies,
             check_sequence, 1, bases),
  };
}

}  // namespace assay::properties::encodings::rope
