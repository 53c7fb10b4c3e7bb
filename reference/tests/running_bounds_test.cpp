// Running bounds enclose the truth, are the same on every instruction set, and leave undecided what they cannot bound.
#include <mpfr.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "reference/core/counter_random.hpp"
#include "reference/oracle.hpp"
#include "reference/registry.hpp"
#include "reference/running_bounds/dispatch.hpp"
#include "reference/running_bounds/scan.hpp"

using namespace assay;
using namespace assay::reference;
using core::dtype;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using number_source = std::function<double(core::counter_random&)>;
// The decays are log p or gate logits, as the operation takes them.
struct numbers_of_lane {
  number_source decay, h, s0;
};
number_source constant(double x) {
  return [x](core::counter_random&) { return x; };
}
number_source uniform(double low, double high) {
  return [=](core::counter_random& r) { return r.uniform(low, high); };
}
number_source normal() {
  return [](core::counter_random& r) { return r.normal(); };
}
number_source one_of(std::vector<double> x) {
  return [x](core::counter_random& r) { return x[r.below(x.size())]; };
}
number_source mixed(const number_source& usual, const number_source& rare, std::uint64_t once_in) {
  return [=](core::counter_random& r) { return r.one_in(once_in) ? rare(r) : usual(r); };
}
// Numbers of either sign, with magnitudes from 2^low to 2^high.
number_source powers(double low, double high) {
  return [=](core::counter_random& r) { return std::exp2(r.uniform(low, high)) * (r.one_in(2) ? 1.0 : -1.0); };
}
number_source negative(const number_source& x) {
  return [=](core::counter_random& r) { return -std::fabs(x(r)); };
}

// Each lane is hard for a bound in its own way. Positive decays lie outside the domain, but the formula holds.
const std::vector<std::pair<const char*, numbers_of_lane>>& hard_lanes() {
  static const std::vector<std::pair<const char*, numbers_of_lane>> all{
      {"mild", {negative(normal()), normal(), normal()}},
      {"long memory", {constant(-1e-7), uniform(-16, -14), normal()}},
      {"decays of all sizes", {negative(powers(-30, -3)), normal(), normal()}},
      {"gates near 0 and 1", {one_of({-1e-30, -90.0, 0.0}), normal(), normal()}},
      {"wide", {uniform(-69, 0), uniform(-1e4, 1e4), normal()}},
      {"wide integers", {one_of({-1, -2, 0, -64}), one_of({-1e4, 1e4, 0, 512, 511.5}), constant(0)}},
      {"ties", {constant(0), mixed(uniform(-60, -20), constant(-infinity), 3), constant(0x1.000001p0)}},
      {"growing", {uniform(0, 40), normal(), normal()}},
      {"all equal", {constant(0), constant(0), constant(0)}},
      {"infinite inside",
       {mixed(negative(normal()), constant(-infinity), 6), mixed(normal(), constant(-infinity), 3),
        one_of({-infinity, 0.5})}},
      {"dead", {negative(normal()), mixed(constant(-infinity), normal(), 9), constant(-infinity)}},
      {"zero", {constant(-0.0), one_of({-infinity, -700.0, -689.0, -745.0, -2000.0}), constant(0)}},
      {"cancelling", {constant(0), constant(-std::log(2.0)), constant(-std::log(2.0))}},
      {"about the least exponent", {constant(0), uniform(-46, -42), constant(0)}},
      {"tiny", {constant(0), mixed(constant(-infinity), uniform(-750, -80), 2), powers(-1074, -900)}},
      {"small sums", {negative(powers(-149, -100)), constant(-infinity), powers(-149, -100)}},
      {"large", {negative(powers(90, 127)), powers(90, 127), powers(90, 127)}},
      {"larger", {negative(powers(880, 1023)), powers(880, 1023), powers(880, 1023)}},
      {"not numbers",
       {mixed(negative(normal()), one_of({NAN, infinity}), 9), mixed(normal(), one_of({NAN, infinity}), 9),
        mixed(normal(), constant(NAN), 3)}},
  };
  return all;
}

// Gate logits: log p and its slope are near 0, near their limits, or beyond the range that their kernels count.
const std::vector<std::pair<const char*, numbers_of_lane>>& hard_gates() {
  static const std::vector<std::pair<const char*, numbers_of_lane>> all{
      {"mild", {normal(), normal(), normal()}},
      {"saturated", {uniform(10, 60), uniform(-16, -14), normal()}},
      {"closed", {uniform(-60, -10), normal(), normal()}},
      {"of all sizes", {powers(-60, 10), normal(), normal()}},
      {"beyond what is counted",
       {one_of({599.0, 600.0, 601.0, 800.0, 801.0, 1e4, 0.0, -0.0}), normal(), powers(-60, 0)}},
      {"beyond it below", {one_of({-599.0, -600.0, -601.0, -800.0, -801.0, 3.0}), uniform(-1000, 0), normal()}},
      {"wide", {uniform(-100, 100), uniform(-1e4, 1e4), normal()}},
      {"infinite",
       {mixed(normal(), one_of({-infinity, infinity}), 4), mixed(normal(), constant(-infinity), 3),
        one_of({-infinity, 0.5})}},
      {"ties",
       {mixed(constant(infinity), uniform(20, 900), 3), mixed(uniform(-60, -20), constant(-infinity), 3),
        constant(0x1.000001p0)}},
      {"tiny", {uniform(600, 900), mixed(constant(-infinity), uniform(-750, -80), 2), powers(-1074, -900)}},
      {"cancelling", {constant(0), constant(-std::log(2.0)), constant(0)}},
      {"large", {powers(90, 127), powers(90, 127), powers(90, 127)}},
      {"larger", {powers(880, 1023), powers(880, 1023), powers(880, 1023)}},
      {"not numbers",
       {mixed(normal(), constant(NAN), 9), mixed(normal(), one_of({NAN, infinity}), 9),
        mixed(normal(), constant(NAN), 3)}},
  };
  return all;
}

core::tensor drawn(dtype type, const core::shape& s, const number_source& x, core::counter_random& random) {
  core::tensor t = core::zeros(type, s);
  for (double& value : t.values.storage()) value = core::round_to(type, x(random));
  return t;
}

// Cotangents or tangents, which are exact: of order 1, such that sums cancel, of all sizes, or mostly 0.
const std::vector<number_source>& cotangents() {
  static const std::vector<number_source> all{normal(), one_of({1.0, -1.0, 0.5}), powers(-1000, 100),
                                              mixed(constant(0), constant(1.5), 12), powers(-30, 30)};
  return all;
}

core::request call_of(const char* operation, const numbers_of_lane& lane, dtype type, const core::shape& s,
                      std::uint64_t seed) {
  core::counter_random random(seed);
  core::request call{find_operation(operation), type, {}};
  for (const core::tensor_declaration& d : call.operation->inputs) {
    const number_source& numbers = d.name == "h"                        ? lane.h
                                   : d.name == "s0"                     ? lane.s0
                                   : d.name == "log_p" || d.name == "g" ? lane.decay
                                                                        : cotangents()[seed % cotangents().size()];
    call.inputs.emplace(d.name,
                        drawn(type, core::shape_of(d, {{"B", s[0]}, {"n", s[1]}, {"d", s[2]}}), numbers, random));
  }
  return call;
}

// The number of decided elements, and of all elements.
struct share {
  std::size_t decided = 0, all = 0;
};

// Every decided element equals the result that intervals of 80 digits prove, and its remainder lies within the bound.
void check_against_intervals(const core::request& call, doubles doubles_per_number, const rung_outputs& proved,
                             share& found) {
  for (const auto& [name, o] : declaration_of(*call.operation).bound(call, doubles_per_number)) {
    const rung_output& truth = proved.at(name);
    for (std::size_t i = 0; i < o.decided.size(); ++i) {
      ++found.all;
      if (std::isinf(o.radius.storage()[i])) continue;
      found.decided += o.decided[i];
      const double value = o.rounded.values.storage()[i], low = o.low.storage()[i];
      INFO(name << " " << i << " of " << call.operation->name << ": " << value << " + " << low << " to "
                << o.radius.storage()[i]);
      // A tie that 80 digits leave undecided is not compared.
      if (truth.decided[i] != 0 && o.decided[i] != 0)
        REQUIRE(core::same_value(value, truth.rounded.values.storage()[i]));
      if (!std::isfinite(value)) continue;
      const double difference = (value - truth.rounded.values.storage()[i]) + (low - truth.low.storage()[i]);
      REQUIRE(std::fabs(difference) <= o.radius.storage()[i] * (1 + 0x1p-40) +
                                           0x1p-52 * std::fabs(truth.low.storage()[i]) + truth.radius.storage()[i]);
    }
  }
}

}  // namespace

namespace {

// Exponents at which log(1 + e^z) and its parts are hard: around 0, at half multiples of log 2, and down to the least
// exponent.
std::vector<double> exponents(double least, std::size_t count) {
  core::counter_random random(5);
  std::vector<double> z{0.0, -0x1p-1074, -0x1p-1000, -0x1p-600, -0x1p-53, least};
  for (double k = 0.5; k < 60.0; k += 0.5)
    for (const double beside : {0.0, 0x1p-52, -0x1p-52}) z.push_back(-k * 0x1.62e42fefa39efp-1 * (1.0 + beside));
  while (z.size() < count) {
    z.push_back(-std::exp2(random.uniform(-60.0, 6.0)));
    z.push_back(random.uniform(least, 0.0));
    z.push_back(random.uniform(-1.5, 0.0));
  }
  z.resize(count);
  return z;
}

// The largest shares of their bounds that the errors of softplus() reach: for the sum, and for e^z (3 2^-53 of itself).
std::pair<double, double> worst_of_softplus(const running::kernels_of_arithmetic& kernels, double least,
                                            bool with_low) {
  constexpr std::size_t count = 32 * 400;
  const std::vector<double> z = exponents(least, count);
  std::vector<double> z_low(count, 0.0), power(count), sum(count), low(count), error(count);
  core::counter_random random(6);
  if (with_low)
    for (std::size_t i = 0; i < count; ++i) z_low[i] = z[i] * random.uniform(-0x1p-54, 0x1p-54);
  kernels.softplus(count, z.data(), z_low.data(), power.data(), sum.data(), low.data(), error.data());
  mpfr_t x, y;
  mpfr_inits2(300, x, y, static_cast<mpfr_ptr>(nullptr));
  std::pair<double, double> worst{0, 0};
  for (std::size_t i = 0; i < count; ++i) {
    mpfr_set_d(x, z[i], MPFR_RNDN);
    mpfr_add_d(x, x, z_low[i], MPFR_RNDN);
    mpfr_exp(x, x, MPFR_RNDN);
    mpfr_log1p(y, x, MPFR_RNDN);
    mpfr_d_sub(x, power[i], x, MPFR_RNDN);
    mpfr_sub_d(y, y, sum[i], MPFR_RNDN);
    mpfr_sub_d(y, y, low[i], MPFR_RNDN);
    worst.first = std::max(worst.first, std::fabs(mpfr_get_d(y, MPFR_RNDA)) / error[i]);
    worst.second = std::max(worst.second, std::fabs(mpfr_get_d(x, MPFR_RNDA)) / (3 * 0x1p-53 * power[i]));
  }
  mpfr_clears(x, y, static_cast<mpfr_ptr>(nullptr));
  return worst;
}

}  // namespace

TEST_CASE("reference/running_bounds/softplus_keeps_its_bound", "[unit]") {
  for (const running::kernel_table* k : running::supported_kernels()) {
    const auto one = worst_of_softplus(k->in_doubles, -690.0, false);
    const auto two = worst_of_softplus(k->in_two_doubles, -620.0, true);
    WARN(k->name << ": largest share of the bound " << one.first << " in doubles (powers " << one.second << "), "
                 << two.first << " in two doubles");
    for (const double share_of_bound : {one.first, one.second, two.first, two.second}) CHECK(share_of_bound <= 1.0);
    // A bound that no error comes near would be too loose.
    CHECK(one.first > 0.1);
  }
}

namespace {

// Checks all dtypes and both arithmetics, with each kind of cotangents or tangents.
void check_lanes(const char* operation, const std::vector<std::pair<const char*, numbers_of_lane>>& lanes) {
  for (const auto& [name, lane] : lanes) {
    INFO(name);
    for (const dtype type : core::floating_dtypes) {
      std::map<doubles, share> found;
      const std::uint64_t seeds = find_operation(operation)->is_forward() ? 2 : cotangents().size();
      for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const core::request call = call_of(operation, lane, type, {2, 15, 5}, seed);
        const rung_outputs proved = owner_of(*call.operation).enclose(call, 80);
        for (const doubles doubles_per_number : {doubles::one, doubles::two})
          check_against_intervals(call, doubles_per_number, proved, found[doubles_per_number]);
      }
      for (const auto& [doubles_per_number, part] : found) {
        INFO(operation << " " << core::name_of(type) << " decided " << part.decided << " of " << part.all);
        // Cotangents above the largest f16 are infinite, and cotangents with few bits make ties.
        if (std::string_view(name) == "mild" && type != dtype::f16 &&
            !(type == dtype::f64 && doubles_per_number == doubles::one))
          CHECK(part.decided * 100 >= part.all * 80);
      }
    }
  }
}

}  // namespace

TEST_CASE("reference/running_bounds/hold_the_truth", "[unit]") {
  for (const char* operation : {"heinsen/scan", "heinsen/scan:vjp", "heinsen/scan:jvp"})
    check_lanes(operation, hard_lanes());
}

TEST_CASE("reference/running_bounds/hold_the_truth_of_gates", "[unit]") {
  for (const char* operation : {"heinsen/gated_scan", "heinsen/gated_scan:vjp", "heinsen/gated_scan:jvp"})
    check_lanes(operation, hard_gates());
}

namespace {

// value, low and radius of each output of the kernels, one after the other.
struct outputs_of_kernel {
  std::vector<double> numbers;
  running::bounded_field field(std::size_t first, std::size_t size) {
    return {&numbers[first], &numbers[first + size], &numbers[first + 2 * size]};
  }
};

// Cotangents also take the places of tangents.
std::vector<double> run(const running::kernels_of_decay& kernels, const char* decay, const core::request& call,
                        const core::shape& s, const running::target_format& format) {
  const std::size_t size = core::element_count(s), lanes = s[0] * s[2];
  const auto in = [&](const char* name) { return call.inputs.at(name).values.data(); };
  outputs_of_kernel out{std::vector<double>(12 * size + 3 * lanes)};
  const running::lanes_shape shape{s[0], s[1], s[2]};
  kernels.scan({shape, in(decay), in("h"), in("s0"), format, out.field(0, size)});
  kernels.adjoint({shape, in(decay), in("h"), in("s0"), in("grad_s"), in("grad_s_n"), format, out.field(3 * size, size),
                   out.field(6 * size, size), out.field(12 * size, lanes)});
  kernels.tangent({shape, in(decay), in("h"), in("s0"), in("grad_s"), in("grad_s"), in("grad_s_n"), format,
                   out.field(9 * size, size)});
  return out.numbers;
}

void check_instruction_sets(const char* operation, const char* decay,
                            running::kernels_of_decay running::kernels_of_arithmetic::*decay_kernels,
                            const std::vector<std::pair<const char*, numbers_of_lane>>& lanes) {
  const auto& kernels = running::supported_kernels();
  REQUIRE(std::string(kernels.front()->name) == "baseline");
  constexpr running::target_format f32{0x1p-126, 0x1.fffffep127, 0x1p-23, false},
      f64{0x1p-1022, 0x1.fffffffffffffp1023, 0x1p-52, true};
  const core::shape s{3, 7, 37};
  for (const auto& [name, lane] : lanes) {
    if (std::string(name) == "not numbers") continue;  // they hold NaN of any sign
    for (std::uint64_t seed = 0; seed < cotangents().size(); ++seed) {
      const core::request call = call_of(operation, lane, dtype::f32, s, seed);
      for (const auto arithmetic : {&running::kernel_table::in_doubles, &running::kernel_table::in_two_doubles})
        for (const auto& format : {f32, f64}) {
          const auto numbers = [&](const running::kernel_table* k) {
            return run((k->*arithmetic).*decay_kernels, decay, call, s, format);
          };
          const std::vector<double> first = numbers(kernels.front());
          for (const running::kernel_table* k : kernels) {
            INFO(k->name << ", " << name << ", cotangents " << seed);
            CHECK(std::memcmp(first.data(), numbers(k).data(), first.size() * sizeof(double)) == 0);
          }
        }
    }
  }
}

}  // namespace

TEST_CASE("reference/running_bounds/every_instruction_set_gives_the_same_bits", "[unit]") {
  using kernels = running::kernels_of_arithmetic;
  check_instruction_sets("heinsen/scan:vjp", "log_p", &kernels::log_p_kernels, hard_lanes());
  check_instruction_sets("heinsen/gated_scan:vjp", "g", &kernels::gate_logit_kernels, hard_gates());
}

TEST_CASE("reference/running_bounds/lanes_that_are_not_bounded_disturb_nobody", "[unit]") {
  const auto& op = *find_operation("heinsen/scan");
  core::request call = call_of("heinsen/scan", hard_lanes().front().second, dtype::f32, {2, 5, 11}, 3);
  const rung_outputs alone = declaration_of(op).bound(call, doubles::one);
  call.inputs.at("h").values(0, 2, 3) = NAN;
  call.inputs.at("log_p").values(1, 0, 10) = infinity;
  call.inputs.at("s0").values(1, 4) = NAN;
  const rung_outputs beside = declaration_of(op).bound(call, doubles::one);
  for (const auto& [name, o] : beside)
    for (std::size_t i = 0; i < o.decided.size(); ++i) {
      const std::size_t row = o.decided.size() / 2, j = i % 11, b = i / row;
      const bool excluded = (b == 0 && j == 3) || (b == 1 && (j == 10 || j == 4));
      CHECK(o.decided[i] == (excluded ? 0 : 1));
      if (!excluded) CHECK(o.low.storage()[i] == alone.at(name).low.storage()[i]);
    }
}

TEST_CASE("reference/running_bounds/infinite_gate_logits_are_exact", "[unit]") {
  // p = 1 keeps the whole past, p = 0 cuts it; the slope of log p is 0, or the weight of the past is 0.
  for (const doubles doubles_per_number : {doubles::one, doubles::two}) {
    core::request call = call_of("heinsen/gated_scan:jvp", hard_gates().front().second, dtype::f32, {1, 3, 2}, 1);
    for (const std::size_t token : {0u, 1u, 2u}) {
      call.inputs.at("g").values(0, token, 0) = infinity;
      call.inputs.at("g").values(0, token, 1) = -infinity;
      for (const std::size_t j : {0u, 1u}) call.inputs.at("h").values(0, token, j) = j == 0 ? -infinity : 2.5;
    }
    const auto& forward = *find_operation("heinsen/gated_scan");
    const core::request call_of_value{
        &forward, dtype::f32, {{"g", call.inputs.at("g")}, {"h", call.inputs.at("h")}, {"s0", call.inputs.at("s0")}}};
    const rung_output s = declaration_of(forward).bound(call_of_value, doubles_per_number).at("s");
    const rung_output ds = declaration_of(*call.operation).bound(call, doubles_per_number).at("tangent_s");
    const auto exact = [](const rung_output& o, std::size_t i, double value) {
      return o.decided[i] == 1 && o.rounded.values.storage()[i] == value && o.low.storage()[i] == 0.0 &&
             o.radius.storage()[i] == 0.0;
    };
    for (const std::size_t token : {0u, 1u, 2u}) {
      INFO("token " << token);
      CHECK(exact(s, 2 * token, call.inputs.at("s0").values(0, 0)));
      CHECK(exact(s, 2 * token + 1, 2.5));
      CHECK(exact(ds, 2 * token, call.inputs.at("tangent_s0").values(0, 0)));
      CHECK(exact(ds, 2 * token + 1, call.inputs.at("tangent_h").values(0, token, 1)));
    }
  }
}
