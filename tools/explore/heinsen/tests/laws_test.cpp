// Measures the published figures of every question again, as far as that is cheap. If a figure comes from code in
// another language with other draws, a factor of 2 is allowed.
#include <catch2/catch.hpp>
#include <cmath>

#include "tools/explore/formats.hpp"
#include "tools/explore/measure.hpp"
#include "tools/explore/tests/callers.hpp"

using namespace assay;
using namespace assay::explore;

namespace {

struct axes {
  const char *measure, *implementation, *arithmetic, *storage, *family;
  double decay, scale;
  std::uint64_t size;
};
results found(const axes& x) {
  const cell c{x.measure, x.implementation, x.arithmetic, x.storage, x.family, x.decay, x.scale, x.size, 1};
  const auto r = measure_cell(c, nobody);
  INFO((r ? "" : r.error().message));
  REQUIRE(r);
  return *r;
}

void within(double x, double expected, double factor) {
  INFO("found " << x << ", published " << expected);
  CHECK(x > expected / factor);
  CHECK(x < expected * factor);
}

}  // namespace

TEST_CASE("explore/counter/signs_fail_where_the_law_says", "[property]") {
  const double published[2][3] = {{345, 700, 1002}, {44, 89, 125}};
  const double margins[] = {0.25, 1, 4};
  for (int k = 0; k < 3; ++k)
    for (int format = 0; format < 2; ++format) {
      const char* name = format == 0 ? "f16" : "bf16";
      const results r = found({"counter", "cumsum", name, name, "", margins[k], 1, 10000});
      INFO(name << ", margin " << margins[k]);
      CHECK(r.at("first_wrong") / r.at("law") > 0.9);
      CHECK(r.at("first_wrong") / r.at("law") < 1.1);
      within(r.at("first_wrong"), published[format][k], 1.2);
      const results kept = found({"counter", "sequential", name, name, "", margins[k], 1, 4096});
      CHECK(std::isnan(kept.at("first_wrong")));
      CHECK(kept.at("smallest_margin") > 0.98);
    }
}

TEST_CASE("explore/merging/horizons_of_constant_input", "[property]") {
  struct row {
    double p, f32, f16, bf16;
  };
  for (const row& r : {row{0.1, 7, 4, 3}, {0.5, 23, 11, 8}, {0.9, 128, 43, 22}, {0.99, 1046, 147, 63}})
    for (const auto& [name, steps] : {std::pair{"f32", r.f32}, {"f16", r.f16}, {"bf16", r.bf16}}) {
      const double merged = found({"merging", "sequential", name, name, "", r.p, 1, 1}).at("merged_at");
      INFO(name << ", p = " << r.p << ": " << merged);
      CHECK(std::fabs(merged - steps) <= std::max(2.0, 0.05 * steps));
    }
  const results counter = found({"merging", "sequential", "bf16", "bf16", "", 1, 1, 1});
  CHECK(counter.at("merged_at") == 61);
  CHECK(std::fabs(counter.at("law") - 61) < 6);
  CHECK(found({"merging", "sequential", "bf16", "bf16", "", 0.999, 1, 1}).at("freezes") == 1);
  CHECK(found({"merging", "sequential", "f32", "f32", "", 0.9, 1, 1}).at("freezes") == 0);
  CHECK(found({"merging", "sequential", "bf16", "bf16", "", 0.9, 1, 1}).at("cycle") >= 1);
}

TEST_CASE("explore/running_sum/stalls_and_overflows", "[property]") {
  within(found({"running_sum", "cumsum", "bf16", "bf16", "gates", 0, 1, 40000}).at("stalls_at"), 2000, 2);
  within(found({"running_sum", "cumsum", "f16", "f16", "gates", 0, 1, 200000}).at("stalls_at"), 10000, 2);
  const results wide = found({"running_sum", "cumsum", "f64", "f16", "gates", 0, 1, 100000});
  within(wide.at("overflows_at"), 8e4, 1.1);
  within(wide.at("overflows_at"), wide.at("law"), 1.02);
  CHECK(std::isnan(found({"running_sum", "cumsum", "f32", "f32", "gates", 0, 1, 40000}).at("stalls_at")));
  // 448 / E|log p| = 448 / 0.806; twice that if the largest number is kept in place of NaN.
  const results plain = found({"running_sum", "cumsum", "f64", "e4m3", "gates", 0, 1, 4000});
  within(plain.at("overflows_at"), 556, 1.1);
  within(plain.at("overflows_at"), plain.at("law"), 1.1);
  const results saturating = found({"running_sum", "cumsum", "f64", "e4m3_sat", "gates", 0, 1, 4000});
  CHECK(std::isnan(saturating.at("overflows_at")));
  within(saturating.at("stalls_at"), 1112, 1.1);
  within(saturating.at("stalls_at"), saturating.at("law"), 1.1);
}

TEST_CASE("explore/gradient/autograd_of_prefix_sums_is_noise_for_small_p", "[property]") {
  struct row {
    double mean;
    std::uint64_t n;
    double published;
  };
  for (const row& r : {row{0, 64, 1.5e-5}, {0, 512, 3.1e-4}, {0, 4096, 7.5e-3}, {-8, 64, 0.19}, {-8, 4096, 75}}) {
    const results noisy = found({"gradient", "cumsum", "f32", "f32", "gates", r.mean, 1, r.n});
    within(noisy.at("median_log_p"), r.published, 2);
    within(noisy.at("law"), r.published, 2);
    CHECK(found({"gradient", "adjoint", "f32", "f32", "gates", r.mean, 1, r.n}).at("median_log_p") < 4e-7);
  }
  within(found({"gradient", "cumsum", "f32", "f32", "gates", 0, 1, 4096}).at("median_h"), 6.1e-5, 2);
}

TEST_CASE("explore/gradient_reach/ends_where_the_format_does", "[property]") {
  for (const char* type : {"f64", "f32", "f16", "bf16"})
    for (const double p : {0.1, 0.5, 0.9}) {
      const results r = found({"gradient_reach", "adjoint", type, type, "", p, 1, 100000});
      INFO(type << ", p = " << p << ": " << r.at("ends_at") << ", law " << r.at("law"));
      CHECK((r.at("ends_with") == 0) == (p <= 0.5));
      // Rounding of every factor moves the end by a share of u n; subnormal numbers have few digits.
      CHECK(std::fabs(r.at("ends_at") - r.at("law")) <= std::max(3.0, 0.1 * r.at("law")));
      CHECK(std::fabs(r.at("below_u_at") - r.at("law_below_u")) <= std::max(2.0, 0.05 * r.at("law_below_u")));
      CHECK(r.at("detached_loses") > 0);
      CHECK(r.at("detached_loses") < 1);
    }
}

TEST_CASE("explore/conditioning/p_is_worse_than_log_p", "[property]") {
  for (const double p : {0.5, 0.9, 0.99})
    for (const char* input : {"p", "log_p", "h"})
      for (const std::uint64_t n : {1, 20, 5000}) {
        const results r = found({"conditioning", input, "f64", "f64", "", p, 1, n});
        INFO(input << ", p = " << p << ", n = " << n);
        CHECK(r.at("response") == Approx(r.at("law")).epsilon(1e-5));
        CHECK(r.at("radius") < 1e-3 * r.at("response"));
      }
  CHECK(found({"conditioning", "p", "f64", "f64", "", 0.99, 1, 5000}).at("law") == Approx(99).epsilon(1e-3));
}

// The published figures are for one position; the measured ones are the largest over the last 64 positions.
TEST_CASE("explore/error/of_a_sinusoidal_table", "[property]") {
  const auto largest = [](const char* formula, double d, std::uint64_t m, const char* type, const char* storage) {
    return found({"error", formula, type, storage, "sinusoidal/table", 0, d, m}).at("largest");
  };
  const std::pair<std::uint64_t, double> published[] = {
      {1000, 2.9e-5}, {2048, 6.1e-5}, {10000, 3.2e-4}, {100000, 5.2e-3}};
  for (const auto& [m, error] : published) within(largest("formula", 128, m, "f32", "f32"), error, 3);
  within(largest("formula", 128, 1000, "bf16", "bf16"), 2.0, 2);
  within(largest("formula", 128, 1000, "f64", "bf16"), 2.0e-3, 2);
  CHECK(largest("formula", 128, 1000, "f64", "e4m3") <= 0x1p-4);
  const auto checked = [](const char* what, const char* storage, const char* operation, double d, std::uint64_t size) {
    return check_cell({"error", what, "f32", storage, operation, 0, d, size, 1}).has_value();
  };
  CHECK(checked("formula", "e4m3", "sinusoidal/table", 128, 1000000));
  CHECK_FALSE(checked("angle", "e4m3", "sinusoidal/table", 128, 1000));
  CHECK_FALSE(checked("softmax", "bf16", "sinusoidal/table", 128, 1000));
  CHECK_FALSE(checked("formula", "f32", "sinusoidal/table", 1, 1000));
  CHECK_FALSE(checked("formula", "f32", "sinusoidal/table:vjp", 128, 1000));
  CHECK_FALSE(checked("formula", "f32", "sinusoidal/frequencies", 128, 1000));
  CHECK_FALSE(checked("formula", "f32", "fox/decay", 1, 5000));
  CHECK(checked("formula", "f32", "alibi/bias,form=key,causal=false", 1, 1000));
  CHECK_FALSE(checked("formula", "f32", "alibi/bias,form=keys", 1, 1000));
  CHECK_FALSE(checked("formula", "f32", "alibi/bias,shape=key", 1, 1000));
  CHECK_FALSE(checked("formula", "f32", "alibi/bias,causal=perhaps", 1, 1000));
}

// An error of theta is relative, and so is its effect on the angle: the fast pairs decide, which a scaling leaves
// unchanged or divides. The product's rounding has the same size, with either sign.
TEST_CASE("explore/angles/digits_of_an_angle_by_position_and_scaling", "[property]") {
  const auto digits = [](const char* type, const char* frequencies, std::uint64_t position) {
    const auto all = found({"angles", "formula", type, type, frequencies, 0, 128, position}),
               stored_short = found({"angles", "formula", type, "bf16", frequencies, 0, 128, position});
    CHECK(stored_short.at("largest") <= stored_short.at("law"));
    CHECK(stored_short.at("largest") > 100 * all.at("largest"));
    CHECK(all.at("largest") <= all.at("law"));
    return all.at("digits");
  };
  for (const char* operation :
       {"rope/frequencies", "rope/frequencies,scaling=interpolation,factor=4",
        "rope/extended_frequencies,scaling=yarn,factor=40,trained_length=4096",
        "rope/extended_frequencies,scaling=llama3,factor=8", "rope/extended_frequencies,scaling=dynamic,length=131072",
        "rope/divided_frequencies"}) {
    INFO(operation);
    const double near = digits("f32", operation, 8191), far = digits("f32", operation, 131071);
    CHECK((far > 1.5 && far < 3.5));
    CHECK((near - far > 0.7 && near - far < 1.6));  // log10(16) = 1.2, less where the two errors cancel
    CHECK(digits("f64", operation, 131071) > far + 8);
  }
  // From mpmath: at the second position the two errors have opposite signs, and their magnitudes sum to 0.00512.
  const auto largest = [](std::uint64_t position) {
    return found({"angles", "formula", "f32", "f32", "rope/frequencies", 0, 128, position}).at("largest");
  };
  CHECK(largest(8191) == Approx(0.0004851702).epsilon(1e-6));
  CHECK(largest(131071) == Approx(0.0026728729).epsilon(1e-6));
  CHECK_FALSE(check_cell({"angles", "formula", "f32", "f32", "rope/rotate", 0, 128, 8191, 1}).has_value());
  CHECK_FALSE(check_cell({"angles", "formula", "f32", "f32", "rope/magnitude", 0, 1, 8191, 1}).has_value());
}

TEST_CASE("explore/repeats/merge_at_the_first_odd_number_that_is_none", "[property]") {
  const auto merged = [](const char* type, const char* storage, double d, std::uint64_t n) {
    return found({"repeats", "formula", type, storage, "sinusoidal/table", 0, d, n}).at("merged_at");
  };
  CHECK(merged("bf16", "bf16", 16, 1000) <= 256);
  CHECK(merged("f16", "f16", 16, 5000) == 2048);
  CHECK(std::isnan(merged("f32", "bf16", 128, 4096)));
}

// A rotation keeps the length of a change of x; scores of attention of width d change by up to their own size.
TEST_CASE("explore/sensitivity/is_that_of_the_function", "[property]") {
  for (const char* type : {"f32", "bf16"}) {
    const double u = find_format(type)->unit_roundoff();
    const auto moved = [&](const char* operation, std::uint64_t n) {
      return found({"sensitivity", "formula", type, type, operation, 0, 16, n}).at("largest");
    };
    CHECK(moved("rope/rotate", 64) > 0.5 * u);
    CHECK(moved("rope/rotate", 64) < 1.42 * u);
    CHECK(moved("attention/output", 64) > u);
    CHECK(moved("attention/output", 64) < 20 * u);
  }
  CHECK(!check_cell({"sensitivity", "formula", "f32", "f32", "sinusoidal/table", 0, 16, 64}));
  CHECK(!check_cell({"sensitivity", "usual", "f32", "bf16", "rope/rotate", 0, 16, 64}));
}

// For the slopes of two heads. A bias that is linear in the position of the key is large for keys near the last query,
// and bf16 does not distinguish these keys.
TEST_CASE("explore/repeats/the_key_form_loses_near_keys", "[property]") {
  const auto near = [](const char* bias, std::uint64_t n) {
    return found({"repeats", "formula", "f32", "bf16", bias, 0, 1, n});
  };
  for (const auto& [n, distinct] : {std::pair<std::uint64_t, double>{512, 9}, {2048, 4}, {8192, 1}}) {
    CHECK(near("alibi/bias,form=key", n).at("distinct_of_16") == distinct);
    CHECK(near("alibi/bias,form=key", n).at("merged_at") <= 2);
    CHECK(near("alibi/bias,form=distance", n).at("distinct_of_16") == 16);
    CHECK(near("alibi/bias,form=distance", n).at("merged_at") >= 128);
  }
}

// Positions beyond 2^8 are not representable in bf16, so angles must be wide, but cosines need not be. For attention
// the sums of products must be wide.
TEST_CASE("explore/error/angles_and_sums_must_be_wide", "[property]") {
  const auto largest = [](const char* stage, const char* operation, std::uint64_t n) {
    return found({"error", stage, "f32", "bf16", operation, 0, 64, n}).at("largest");
  };
  const double rotated = largest("formula", "rope/rotate", 512);
  CHECK(rotated < 0x1p-8);
  CHECK(largest("table", "rope/rotate", 512) < 8 * rotated);
  CHECK(largest("usual", "rope/rotate", 512) < 8 * rotated);
  CHECK(largest("angle", "rope/rotate", 512) > 64 * rotated);
  const double attended = largest("formula", "attention/output", 64);
  CHECK(largest("usual", "attention/output", 64) < 8 * attended);
  CHECK(largest("accumulation", "attention/output", 64) > largest("usual", "attention/output", 64));
}

// With a logarithm that is an ulp low, 16, 32 and 64 are wrong. Prefix sums in bf16 lose all digits of the nearest
// pair.
TEST_CASE("explore/error/of_candidates", "[property]") {
  const auto wrong = [](const char* mutant, const char* operation, std::uint64_t size) {
    return measure_cell({"error", mutant, "f32", "f32", operation, 0, 1, size, 1}, mutants).value();
  };
  const results low = wrong("builtin:mutant/t5_log_one_ulp_low", "t5_bias/bucket", 128);
  CHECK(low.at("wrong") == 6);  // three distances, for keys before and after the query
  CHECK(low.at("first_wrong") == 16);
  CHECK(low.at("last_wrong") == 64);
  CHECK(wrong("builtin:mutant/t5_log_one_ulp_low", "t5_bias/bucket,bidirectional=false", 128).at("wrong") == 0);
  // Without bidirectional, keys after the query share one bucket; here buckets of keys before it are wrong.
  CHECK(wrong("builtin:mutant/t5_buckets_in_bf16", "t5_bias/bucket,bidirectional=false", 128).at("wrong") > 0);
  CHECK(wrong("builtin:mutant/fox_prefix_in_storage", "fox/decay", 256).at("largest") >=
        found({"error", "formula", "f32", "f32", "fox/decay", 0, 1, 256}).at("largest"));
}
