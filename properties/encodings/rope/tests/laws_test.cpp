// Tests which faults the laws of rotary embedding detect, and when the laws report that a case tells nothing.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "properties/tests/changed.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

using core::dtype;

test_case rotation(dtype type, const core::shape& shape, const std::vector<double>& positions,
                   core::attributes settings) {
  core::counter_random random(seed);
  std::vector<double> x(core::element_count(shape));
  for (double& v : x) v = random.normal();
  const core::operation* op = reference::find_operation("rope/rotate");
  test_case c{{op, type, {}, core::completed(*op, settings)}, "mild", 0};
  c.call.inputs.emplace("x", core::make_tensor(type, shape, x));
  c.call.inputs.emplace("position", core::make_tensor(dtype::i64, {shape[0], shape[1]}, positions));
  return c;
}

outcome checked(const char* law, const std::string& builtin, const test_case& c) {
  const auto under_test = make_builtin(builtin).value();
  return find_property(law)->check(*under_test, c);
}

}  // namespace

TEST_CASE("rope/rotate/certificate_names_what_it_found", "[property][gate]") {
  struct example {
    const char *mutant, *layout;
    std::int64_t rotary;
    const char* message;
  };
  const example examples[] = {
      {"wrong_layout", "half_split", 0, "(0, 3) (1, 4) (2, 5), behaves as (0, 1) (2, 3) (4, 5)"},
      {"at_end_of_head", "interleaved", 2, "(0, 1) (2, 3), behaves as (2, 3) (4, 5)"},
      {"rotary_ignored", "interleaved", 1, "(0, 1), behaves as (0, 1) (2, 3) (4, 5)"},
      {"wrong_sign", "interleaved", 0, "(0, 1) (2, 3) (4, 5), behaves as (1, 0) (3, 2) (5, 4)"},
      {"offset_dropped", "half_split", 0, "(0, 3) (1, 4) (2, 5), behaves as none"},
  };
  for (const example& e : examples) {
    const test_case c =
        rotation(dtype::f32, {1, 1, 1, 6}, {5}, {{"layout", std::string(e.layout)}, {"rotary", e.rotary}});
    const outcome o = checked("rotation_certificate", std::string("mutant/rope_") + e.mutant, c);
    INFO(e.mutant);
    CHECK(o.verdict == status::failed);
    CHECK(o.message ==
          std::string("asked for pairs ") + e.message + ", where the first of a pair turns to the second one");
    CHECK(checked("rotation_certificate", "sequential", c).verdict == status::passed);
  }
}

// The certificate concerns pairs: effects between heads, or a number added everywhere, are no layout.
TEST_CASE("rope/rotate/certificate_says_nothing_of_heads", "[property][gate]") {
  const auto with = [](double added) {
    return changed([added](const request&, core::tensors& outputs) {
      core::tensor& y = outputs.at("y");
      for (std::size_t i = 0; i < y.size(); ++i)
        y.values.storage()[i] = i / y.shape()[3] % y.shape()[2] >= 4 ? 7.0 : y.values.storage()[i] + added;
    });
  };
  const test_case c = rotation(dtype::f32, core::shape{1, 2, 6, 6}, {5, 6}, {});
  changed of_four_heads = with(0.0), everywhere = with(0.5);
  const property& certificate = *find_property("rotation_certificate");
  CHECK(certificate.check(of_four_heads, c).verdict == status::passed);
  CHECK(certificate.check(everywhere, c).message == "no rotation of pairs: coordinate 0 turns to 1, 2, 3, 4, 5");
}

// In f32 an angle beyond 2^25 is known to no digit: laws about such angles prove nothing, and report so.
TEST_CASE("rope/rotate/laws_are_uninformative_where_angles_are_lost", "[property][gate]") {
  const char* laws[] = {"rotation_norms", "rotation_relativity"};
  const core::attributes settings{{"base", 1.0}, {"layout", std::string("half_split")}};
  const test_case far = rotation(dtype::f32, {1, 3, 2, 4}, {0x1p28, 0x1p28 + 5, 0x1p28 + 9}, settings);
  const test_case here = rotation(dtype::f32, {1, 3, 2, 4}, {1, 5, 9}, settings);
  const test_case nothing = rotation(dtype::f32, {1, 0, 2, 4}, {}, settings);
  for (const char* law : laws) {
    INFO(law);
    CHECK(checked(law, "sequential", far).verdict == status::uninformative);
    CHECK(checked(law, "sequential", nothing).verdict == status::uninformative);
    CHECK(checked(law, "sequential", here).verdict == status::passed);
  }
}

// State that a long context leaves behind shows only after a larger call.
TEST_CASE("rope/frequencies/repeat_asks_for_more_in_between", "[property][gate]") {
  const core::operation* op = reference::find_operation("rope/frequencies");
  const core::attributes settings{{"pairs", std::int64_t{4}}, {"scaling", std::string("ntk")}, {"factor", 2.0}};
  test_case c{{op, dtype::f32, {{"base", core::make_tensor(dtype::f32, {1}, {10000.0})}}, settings}, "mild", 1};
  const outcome o = checked("repeat", "mutant/rope_factor_stays", c);
  CHECK(o.verdict == status::failed);
  CHECK(o.message.starts_with("the same call again, a larger one between them"));
  CHECK(checked("repeat", "sequential", c).verdict == status::passed);
  c.seed = 2;
  CHECK(checked("repeat", "mutant/rope_factor_stays", c).verdict == status::passed);
}

// At angle 0 a NaN may reach its partner or leave it unchanged; nothing else is right.
TEST_CASE("rope/rotate/a_nan_at_angle_0_stays_in_its_pair", "[property][gate]") {
  constexpr double no_number = std::numeric_limits<double>::quiet_NaN(), as_given = 1.0;
  test_case c = rotation(dtype::f32, core::shape{1, 2, 1, 4}, {0, 3}, {});
  c.call.inputs.at("x") =
      core::make_tensor(dtype::f32, {1, 2, 1, 4}, {no_number, 0.5, 0.25, 1, 0.5, 1, no_number, 0.75});
  const auto verdict_with = [&](double there, double beside) {
    changed under_test([=](const request& call, core::tensors& outputs) {
      const auto& x = call.inputs.at("x").values.storage();
      for (std::size_t i = 0; i < x.size(); ++i)
        if (std::isnan(x[i])) {
          outputs.at("y").values.storage()[i] = there;
          outputs.at("y").values.storage()[i ^ 1] = beside == as_given ? x[i ^ 1] : beside;
        }
    });
    return find_property("rotation_nan_at_0")->check(under_test, c).verdict;
  };
  CHECK(verdict_with(no_number, no_number) == status::passed);
  CHECK(verdict_with(no_number, as_given) == status::passed);
  CHECK(verdict_with(no_number, 0.0) == status::failed);
  CHECK(verdict_with(0.0, no_number) == status::failed);

  const auto& rests_on_convention = encoding_tests_of(*c.call.operation)->rests_on_convention;
  CHECK(rests_on_convention(c.call));
  c.call.inputs.at("position").values.storage()[0] = 1.0;
  CHECK_FALSE(rests_on_convention(c.call));
}

TEST_CASE("rope/rotate/no_counterexample_rests_on_a_nan_at_angle_0", "[property][gate]") {
  for (const char* name : {"rope/rotate", "rope/rotate_by"})
    for (const dtype type : core::floating_dtypes)
      for (std::uint64_t k = 0; k < scaled(40); ++k)
        for (const char* family : {"nan_inside", "infinite_x"}) {
          const core::operation* op = reference::find_operation(name);
          INFO(name << " " << core::name_of(type) << " " << family << " seed " << k);
          CHECK_FALSE(encoding_tests_of(*op)->rests_on_convention(make_case({op, type, family, k}).call));
        }
}
