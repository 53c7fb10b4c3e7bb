// Faults that are simple and so have a name: other positions, other scalings, other bounds of settings and integers.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "properties/harness/catalogue.hpp"
#include "properties/tests/changed.hpp"

using namespace assay;
using namespace assay::properties;
using testing::probe_seed;

namespace {

/// Right answers to calls other than those made.
class answering final : public implementation {
 public:
  using edit = std::function<void(request&)>;
  explicit answering(edit change) : right_(make_builtin("sequential").value()), edit_(std::move(change)) {}
  [[nodiscard]] const description& describe() const override { return right_->describe(); }
  call_result evaluate(const request& call) override {
    request other = call;
    other.attributes = core::completed(*call.operation, call.attributes);
    edit_(other);
    return right_->evaluate(other);
  }

 private:
  std::unique_ptr<implementation> right_;
  edit edit_;
};

// The diagnosis as in a gate.
std::string said_of(implementation& under_test, const char* operation) {
  const core::operation& op = *reference::find_operation(operation);
  const check_result r =
      run_property(testing::truth_property(op), under_test, op, core::dtype::f32, testing::options(8));
  INFO(operation);
  REQUIRE(r.found);
  const diagnosis d = diagnose(under_test, op, core::dtype::f32, {{{r.checked, r.found->minimal}}, probe_seed});
  return d.explained.value_or("") + d.facts.value_or("");
}
std::string said_of_answers(const char* operation, answering::edit change) {
  answering under_test(std::move(change));
  return said_of(under_test, operation);
}

answering::edit each_position(double (*moved)(double m)) {
  return [moved](request& call) {
    for (const core::tensor_declaration& d : call.operation->inputs)
      if (d.role == core::input_role::position)
        for (double& m : call.inputs.at(d.name).values.storage()) m = moved(m);
  };
}

// Rotates by the frequencies that another operation gives.
class scaled_rotation final : public implementation {
 public:
  explicit scaled_rotation(core::attributes scaling)
      : right_(make_builtin("sequential").value()), scaling_(std::move(scaling)), about_(right_->describe()) {
    about_.operations = {{"rope/rotate", {core::dtype::f32}}};
    for (const auto& [name, value] : core::completed(*reference::find_operation("rope/rotate"), {}))
      if (name != "layout") about_.settings["rope/rotate"][name] = {value};
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    const core::tensor& x = call.inputs.at("x");
    core::attributes settings = scaling_;
    settings["pairs"] = static_cast<std::int64_t>(x.shape().back() / 2);
    const core::operation &scales = *reference::find_operation(
                              scaling_.contains("trained_length") ? "rope/extended_frequencies" : "rope/frequencies"),
                          &turns = *reference::find_operation("rope/rotate_by");
    const core::tensors base{{"base", core::make_tensor(core::dtype::f32, {1}, {10000.0})}};
    call_result theta = right_->evaluate({&scales, core::dtype::f32, base, core::completed(scales, settings)});
    if (!theta) return theta;
    core::tensor row = theta->at("theta");
    const auto& numbers = row.values.storage();
    core::tensor position = call.inputs.at("position");
    return right_->evaluate(
        {&turns,
         core::dtype::f32,
         {{"x", x},
          {"theta", core::make_tensor(core::dtype::f32, {numbers.size()}, {numbers.begin(), numbers.end()})},
          {"position", core::cast(core::dtype::f32, position)}},
         {{"layout", core::completed(*call.operation, call.attributes).at("layout")}}});
  }

 private:
  std::unique_ptr<implementation> right_;
  core::attributes scaling_;
  description about_;
};

}  // namespace

TEST_CASE("properties/diagnosis/positions_of_a_table_that_ends_are_named", "[property][gate]") {
  CHECK_THAT(said_of_answers("rope/rotate", each_position([](double m) { return m - 512 * std::floor(m / 512); })),
             Catch::Contains("position begins anew at 512") && !Catch::Contains("explained if"));
  CHECK_THAT(said_of_answers("rope/rotate", each_position([](double m) { return std::min(m, 4095.0); })),
             Catch::Contains("position is at most 4095"));
  CHECK_THAT(said_of_answers("kerple/log", each_position([](double m) { return std::min(m, 127.0); })),
             Catch::Contains("query_position and key_position are at most 127"));
}

TEST_CASE("properties/diagnosis/positions_in_bf16_are_named_where_few_cases_have_large_ones", "[property][gate]") {
  for (const char* operation : {"alibi/bias", "kerple/log"})
    CHECK_THAT(said_of_answers(operation, each_position([](double m) { return core::round_to(core::dtype::bf16, m); })),
               Catch::Contains("query_position and key_position are held in bf16") ||
                   Catch::Contains("distances are rounded to bf16"));
}

TEST_CASE("properties/diagnosis/an_axis_of_positions_that_is_ignored_is_named", "[property][gate]") {
  for (const char* operation : {"rope_axes/rotate", "rope_axes/rotate_by", "comrope/rotate", "liere/rotate"})
    CHECK_THAT(said_of_answers(operation,
                               [](request& call) {
                                 core::tensor& m = call.inputs.at("position");
                                 for (std::size_t i = 0; i < m.size(); ++i)
                                   if (i % m.shape().back() == 1) m.values.storage()[i] = 0;
                               }),
               Catch::Contains("the second axis of position is ignored"));
}

TEST_CASE("properties/diagnosis/scalings_of_frequencies_inside_a_rotation_are_named", "[property][gate]") {
  CHECK_THAT(said_of_answers("rope/rotate", [](request& call) { call.attributes["position_scale"] = 8.0; }),
             Catch::Contains("behaves as position_scale = 8"));
  scaled_rotation llama3({{"scaling", std::string("llama3")}, {"factor", 8.0}, {"trained_length", std::int64_t{8192}}});
  CHECK_THAT(said_of(llama3, "rope/rotate"),
             Catch::Contains("turns by the frequencies of scaling = \"llama3\", factor = 8, trained_length = 8192"));
  scaled_rotation ntk({{"scaling", std::string("ntk")}, {"factor", 4.0}});
  CHECK_THAT(said_of(ntk, "rope/rotate"), Catch::Contains("turns by the frequencies of scaling = \"ntk\", factor = 4"));
  scaled_rotation yarn({{"scaling", std::string("yarn")}, {"factor", 4.0}, {"trained_length", std::int64_t{4096}}});
  CHECK_THAT(said_of(yarn, "rope/rotate"),
             Catch::Contains("turns by the frequencies of scaling = \"yarn\", factor = 4, trained_length = 4096"));
}

TEST_CASE("properties/diagnosis/bounds_of_numbers_and_integers_are_said", "[property][gate]") {
  const auto wide = testing::wrong_with([](const core::axis_sizes&, const core::attributes& settings) {
    return core::setting<std::int64_t>(settings, "window_left") >= 2;
  });
  testing::changed window_fault(wide);
  CHECK_THAT(said_of(window_fault, "attention/grouped_query"), Catch::EndsWith("where window_left is more than 1"));
  testing::changed padding_fault([](const request& call, core::tensors& outputs) {
    const auto& first = call.inputs.at("first_key").values.storage();
    if (std::any_of(first.begin(), first.end(), [](double key) { return key != 0; }))
      for (double& x : outputs.at("o").values.storage()) x += 0.25;
  });
  CHECK_THAT(said_of(padding_fault, "fox/cached_attention"), Catch::EndsWith("where first_key is not 0"));
}

TEST_CASE("properties/diagnosis/a_remainder_by_subtraction_is_said", "[property][gate]") {
  testing::changed by_subtraction([](const request&, core::tensors& outputs) {
    const core::tensor& a = outputs.at("a");
    core::tensor& r = outputs.at("r");
    const std::size_t keys = a.shape().back();
    for (std::size_t row = 0; row < r.size(); ++row) {
      float sum = 0;
      for (std::size_t j = keys; j-- > 0;) sum += static_cast<float>(a.values.storage()[row * keys + j]);
      r.values.storage()[row] = 1.0F - sum;
    }
  });
  CHECK_THAT(said_of(by_subtraction, "sba/weights"),
             Catch::Contains("r alone is in steps of 2^-24 (as 1 less a sum is)"));
}
