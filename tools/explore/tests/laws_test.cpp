// The published figures of every question, measured again where that is cheap. Where a figure was found in another
// language with other draws, a factor of 2 is granted.
#include <catch2/catch.hpp>
#include <cmath>

#include "tools/explore/measure.hpp"
#include "tools/explore/tests/nobody.hpp"

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
  // 448 / E|log p| = 448 / 0.806; twice that where the largest number is kept in place of NaN.
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

TEST_CASE("explore/angle/errors_of_tables", "[property]") {
  const auto largest = [](const char* recipe, double d, std::uint64_t m, const char* type, const char* storage) {
    return found({"angle", recipe, type, storage, "", 0, d, m}).at("largest");
  };
  const std::pair<std::uint64_t, double> published[] = {
      {1000, 2.9e-5}, {2048, 6.1e-5}, {10000, 3.2e-4}, {100000, 5.2e-3}};
  for (const auto& [m, error] : published) within(largest("power", 128, m, "f32", "f32"), error, 2);
  within(largest("exponential", 128, 10000, "f32", "f32"), 6.5e-4, 2);
  within(largest("rounded_once", 512, 10000, "f32", "f32"), 5.0e-4, 2);
  within(largest("rounded_once", 128, 1000, "bf16", "bf16"), 2.0, 2);
  within(largest("rounded_once", 128, 1000, "f64", "bf16"), 2.0e-3, 2);
}

TEST_CASE("explore/neighbours/merge_at_the_first_odd_number_that_is_none", "[property]") {
  CHECK(found({"neighbours", "rounded_once", "bf16", "bf16", "", 0, 16, 1000}).at("merged_at") <= 256);
  CHECK(found({"neighbours", "rounded_once", "f16", "f16", "", 0, 16, 5000}).at("merged_at") == 2048);
  CHECK(std::isnan(found({"neighbours", "rounded_once", "f32", "bf16", "", 0, 128, 4096}).at("merged_at")));
}

TEST_CASE("explore/rotary_score/by_what_is_narrow", "[property]") {
  struct row {
    const char *recipe, *arithmetic, *storage;
    double at_240, at_4000;
  };
  for (const row& r : {row{"all_narrow", "f32", "f32", 6.7e-6, 1.3e-4},
                       {"narrow_output", "f32", "bf16", 9.5e-3, 9.3e-3},
                       {"narrow_table", "f32", "bf16", 1.5e-2, 1.4e-2},
                       {"narrow_positions", "f32", "bf16", 1.2, 2.0},
                       {"all_narrow", "bf16", "bf16", 1.4, 2.6},
                       {"all_narrow", "f16", "f16", 9.0e-2, 1.7}}) {
    INFO(r.recipe << " " << r.storage);
    within(found({"rotary_score", r.recipe, r.arithmetic, r.storage, "", 0, 1, 240}).at("largest"), r.at_240, 2);
    within(found({"rotary_score", r.recipe, r.arithmetic, r.storage, "", 0, 1, 4000}).at("largest"), r.at_4000, 2);
  }
  CHECK(found({"rotary_score", "all_narrow", "f16", "f16", "", 0, 1, 131000}).at("nonfinite") == 1);
}

TEST_CASE("explore/linear_bias/the_key_form_loses_near_keys", "[property]") {
  const auto bias = [](const char* form, std::uint64_t n) {
    return found({"linear_bias", form, "f32", "bf16", "", 0.5, 1, n});
  };
  const std::tuple<std::uint64_t, double, double> published[] = {{512, 9, 0.155}, {2048, 3, 0.257}, {8192, 1, 0.615}};
  for (const auto& [n, distinct, variation] : published) {
    CHECK(bias("key_form", n).at("distinct_of_16") == distinct);
    CHECK(bias("key_form", n).at("total_variation") == Approx(variation).epsilon(0.02));
    CHECK(bias("distance_form", n).at("distinct_of_16") == 16);
    CHECK(bias("distance_form", n).at("total_variation") < 1e-4);
  }
}

TEST_CASE("explore/buckets/flips", "[property]") {
  const auto wrong = [](const char* form, const char* type, const char* family, double buckets, std::uint64_t d) {
    return found({"buckets", form, type, type, family, 0, buckets, d});
  };
  CHECK(wrong("quotient", "f32", "bidirectional", 32, 128).at("wrong") == 0);
  CHECK(wrong("quotient", "f32", "causal", 32, 128).at("wrong") == 0);
  // bf16: 45 and 90 in both directions, 76 and 112 in one.
  CHECK(wrong("quotient", "bf16", "bidirectional", 32, 128).at("wrong") >= 2);
  CHECK(wrong("quotient", "bf16", "causal", 32, 128).at("wrong") >= 2);
  // A logarithm that is an ulp low: 16, 32 and 64.
  const results low = wrong("low_logarithm", "f32", "bidirectional", 32, 128);
  CHECK(low.at("wrong") == 3);
  CHECK(low.at("first_wrong") == 16);
  CHECK(low.at("last_wrong") == 64);
  CHECK(wrong("low_logarithm", "f32", "causal", 32, 128).at("wrong") == 0);
}

TEST_CASE("explore/forget_gates/prefix_sums_lose_the_nearest_pair", "[property]") {
  const auto largest = [](const char* type, const char* storage, double mean, std::uint64_t n) {
    return found({"forget_gates", "prefix_sums", type, storage, "gates", mean, 1, n}).at("largest");
  };
  within(largest("f32", "f32", 4, 2048), 1.9e-6, 2);
  within(largest("f32", "f32", 0, 16384), 4.8e-4, 2);
  within(largest("f32", "f32", -3, 16384), 2.0e-3, 2);
  within(largest("f64", "f16", 0, 2048), 0.90, 2);
  within(largest("f64", "bf16", 0, 2048), 7.7, 2);
  CHECK(std::isnan(largest("f64", "f16", 0, 131072)));
  CHECK(found({"forget_gates", "segments", "f32", "f32", "gates", 0, 1, 16384}).at("largest") == 0);
}

// Positions beyond 2^8 are no numbers of bf16, so that angles must be wide, and cosines need not be. Of attention it is
// the sums of products that must be.
TEST_CASE("explore/stage/angles_and_sums_must_be_wide", "[property]") {
  const auto largest = [](const std::string& stage, std::uint64_t n) {
    return found({"stage", stage.c_str(), "bf16", "bf16", "mild", 0, 64, n}).at("largest");
  };
  const double rotated = largest("rope/rotate/none", 512);
  CHECK(rotated < 0x1p-8);
  CHECK(largest("rope/rotate/table", 512) < 8 * rotated);
  CHECK(largest("rope/rotate/usual", 512) < 8 * rotated);
  CHECK(largest("rope/rotate/angle", 512) > 64 * rotated);
  const double attended = largest("attention/output/none", 64);
  CHECK(largest("attention/output/usual", 64) < 8 * attended);
  CHECK(largest("attention/output/accumulation", 64) > largest("attention/output/usual", 64));
  const auto checked = [](const char* stage, const char* format, std::uint64_t n) {
    return check_cell({"stage", stage, format, format, "mild", 0, 64, n, 1}).has_value();
  };
  CHECK(checked("rope/rotate/angle", "f16", 64));
  CHECK_FALSE(checked("rope/rotate/angle", "f32", 64));
  CHECK_FALSE(checked("rope/rotate/softmax", "f16", 64));
  CHECK_FALSE(checked("rope/rotate/angle", "f16", 5000));
}
