// What the laws of rotary embedding see, what each of them is blind to, and when they say that they saw nothing.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "properties/tests/gating.hpp"
#include "reference/encodings/rope.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;
using namespace assay::reference::encodings;

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

status verdict_of(const char* law, const std::string& builtin, const char* operation,
                  std::set<std::string> families = {}) {
  const auto under_test = make_builtin(builtin).value();
  run_options o = options(12);
  o.families = std::move(families);
  return run_property(*find_property(law), *under_test, *reference::find_operation(operation), dtype::f32, o).verdict();
}

}  // namespace

TEST_CASE("rope/rotate/certificate_names_what_it_found", "[property][gate]") {
  struct example {
    const char *mutant, *layout;
    std::int64_t rotary;
    const char* message;
  };
  const example examples[] = {
      {"wrong_layout", "half_split", 0, "declared 3 pairs half_split, behaves as 3 pairs interleaved"},
      {"layout_ignored", "interleaved", 2, "declared 2 pairs interleaved, behaves as 2 pairs half_split"},
      {"at_end_of_head", "interleaved", 2,
       "declared 2 pairs interleaved, behaves as 2 pairs interleaved at the end of the head"},
      {"at_end_of_head", "half_split", 2,
       "declared 2 pairs half_split, behaves as 2 pairs half_split at the end of the head"},
      {"outside_in", "half_split", 0, "declared 3 pairs half_split, behaves as 3 pairs outside in"},
      {"pairs_of_whole_head", "half_split", 2,
       "declared 2 pairs half_split, behaves as 2 pairs half_split of the whole head"},
      {"rotary_ignored", "interleaved", 1, "declared 1 pair interleaved, behaves as 3 pairs interleaved"},
      {"wrong_sign", "interleaved", 0, "declared 3 pairs interleaved, behaves as 3 pairs interleaved, backwards"},
      {"offset_dropped", "half_split", 0, "declared 3 pairs half_split, and nothing turns at position 1"},
  };
  for (const example& e : examples) {
    const test_case c =
        rotation(dtype::f32, {1, 1, 1, 6}, {5}, {{"layout", std::string(e.layout)}, {"rotary", e.rotary}});
    const outcome o = checked("rotation_certificate", std::string("mutant/rope_") + e.mutant, c);
    INFO(e.mutant);
    CHECK(o.verdict == status::failed);
    CHECK(o.message == e.message);
    CHECK(checked("rotation_certificate", "sequential", c).verdict == status::passed);
  }
}

// The certificate is of pairs: what heads, or a number that is added everywhere, do is no layout.
TEST_CASE("rope/rotate/certificate_says_nothing_of_heads", "[property][gate]") {
  class few_heads final : public implementation {
   public:
    explicit few_heads(double added) : right_(make_builtin("sequential").value()), added_(added) {}
    [[nodiscard]] const description& describe() const override { return right_->describe(); }
    call_result evaluate(const request& call) override {
      core::tensors outputs = right_->evaluate(call).value();
      core::tensor& y = outputs.at("y");
      for (std::size_t i = 0; i < y.size(); ++i)
        if (i / y.shape()[3] % y.shape()[2] >= 4)
          y.values.storage()[i] = 7.0;
        else
          y.values.storage()[i] += added_;
      return outputs;
    }

   private:
    std::unique_ptr<implementation> right_;
    double added_;
  };
  const test_case c = rotation(dtype::f32, core::shape{1, 2, 6, 6}, {5, 6}, {});
  few_heads of_four(0.0), with_noise(0.5);
  const property& certificate = *find_property("rotation_certificate");
  CHECK(certificate.check(of_four, c).verdict == status::passed);
  CHECK(certificate.check(with_noise, c).message ==
        "declared 3 pairs interleaved, behaves as no rotation of pairs: coordinate 0 of 0 is not 0");
}

// A rotation by other angles is relative too: only absolute angles tell. Of coordinates that a layout does not pair the
// allowance knows nothing, so only rows that are full of numbers are asked.
TEST_CASE("rope/rotate/relativity_is_blind_to_angles_and_layouts", "[property][gate]") {
  for (const char* mutant : {"mutant/rope_frequencies_in_bf16", "mutant/rope_wrong_layout",
                             "mutant/rope_positions_doubled", "mutant/rope_wrong_sign"})
    for (const char* operation : {"rope/rotate", "rope/rotate_by"}) {
      if (std::string(mutant).ends_with("bf16") && std::string(operation) == "rope/rotate_by") continue;
      INFO(mutant << " " << operation << ", seed " << seed);
      CHECK(verdict_of("rotation_relativity", mutant, operation, {"mild"}) == status::passed);
      CHECK(verdict_of("value", mutant, operation) == status::failed);
    }
}

// (R_m q).(R_n k) is the same in both layouts where q and k are both permuted, and where one or none is, another.
TEST_CASE("rope/rotate/scores_agree_where_both_are_permuted", "[property]") {
  constexpr std::size_t features = 8, pairs = 4;
  const reference::rotary_layout half{features, pairs, true}, neighbours{features, pairs, false};
  const test_case c = rotation(dtype::f64, {1, 2, 1, features}, {3, 7}, {{"layout", std::string("half_split")}});
  const auto& x = c.call.inputs.at("x").values.storage();
  const auto score = [&](const char* layout, bool query_permuted, bool key_permuted) {
    test_case moved = c;
    moved.call.attributes["layout"] = std::string(layout);
    auto& to = moved.call.inputs.at("x").values.storage();
    for (std::size_t v = 0; v < 2; ++v)
      for (std::size_t t = 0; (v == 0 ? query_permuted : key_permuted) && t < pairs; ++t) {
        to[v * features + neighbours.first(t)] = x[v * features + half.first(t)];
        to[v * features + neighbours.second(t)] = x[v * features + half.second(t)];
      }
    const auto y = make_builtin("sequential").value()->evaluate(moved.call).value().at("y");
    double sum = 0;
    for (std::size_t k = 0; k < features; ++k) sum += y.values.storage()[k] * y.values.storage()[features + k];
    return sum;
  };
  const double expected = score("half_split", false, false);
  CHECK(std::fabs(score("interleaved", true, true) - expected) < 1e-14);
  CHECK(std::fabs(score("interleaved", true, false) - expected) > 0.01);
  CHECK(std::fabs(score("interleaved", false, true) - expected) > 0.01);
  CHECK(std::fabs(score("interleaved", false, false) - expected) > 0.01);
}

// In f32 an angle beyond 2^25 is known to no digit: laws of such angles prove nothing, and say so.
TEST_CASE("rope/rotate/laws_are_uninformative_where_angles_are_lost", "[property][gate]") {
  const char* laws[] = {"rotation_norms",        "rotation_composition",  "rotation_linearity",
                        "rotation_layouts",      "rotation_relativity",   "rotation_score_bound",
                        "rotation_own_position", "rotation_interpolation"};
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

// What a long context left behind shows after a larger call alone.
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
