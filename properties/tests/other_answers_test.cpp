// Right answers other than the truth (reference/other_answers.hpp): NaN if a mask hides NaN, and queries without keys.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "properties/laws/settings.hpp"
#include "properties/tests/gating.hpp"
#include "reference/core/special_values.hpp"

using namespace assay;
using namespace assay::properties;
using assay::properties::testing::rounded_truth_of;
using core::dtype;

namespace {

const double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t rows = 2, heads = 2, tokens = 3, width = 2;

// A causal call of three tokens, whose last value is hidden from all queries except the last.
request causal_call(const std::string& name, std::size_t queries = tokens, std::size_t keys = tokens) {
  const core::operation& op = *reference::find_operation(name);
  core::axis_sizes sizes{{"B", rows},  {"h", heads}, {"n", queries}, {"m", keys}, {"d", width},
                         {"e", width}, {"u", 1},     {"a", 4},       {"b", 5}};
  if (name.starts_with("t5_bias/")) sizes["b"] = 32;
  request call{&op, dtype::f32, {}, {}};
  if (op.attribute("causal") != nullptr) call.attributes["causal"] = true;
  core::counter_random random(7);
  for (const core::tensor_declaration& d : op.inputs) {
    core::tensor t = core::zeros(d.type_in(call.type), core::shape_of(d, sizes));
    if (!d.own_type)
      for (double& x : t.values.storage()) x = core::round_to(call.type, random.normal());
    if (d.name == "log_f" || d.name == "slopes")
      for (double& x : t.values.storage()) x = d.name == "slopes" ? std::fabs(x) : -std::fabs(x);
    if (d.name == "bias")
      for (std::size_t i = 0; i < t.size(); ++i)
        if (i % keys > i / keys % queries) t.values.storage()[i] = -core::infinity;
    call.inputs.emplace(d.name, std::move(t));
  }
  return call;
}
const std::vector<std::string> causal_attention{"fox/attention",   "fox/cached_attention",   "attention/output",
                                                "attention/sinks", "alibi/attention",        "t5_bias/attention",
                                                "cope/attention",  "shaw/attention",         "nope/attention",
                                                "sba/attention",   "attention/grouped_query"};

std::size_t place(std::size_t row, std::size_t head, std::size_t token, std::size_t component) {
  return ((row * heads + head) * tokens + token) * width + component;
}
bool is_right_with(const request& call, const std::string& output, const std::function<void(core::tensor&)>& change) {
  core::tensors outputs = rounded_truth_of(*expect(call, dtype::f32));
  change(outputs.at(output));
  return judge(call, dtype::f32, outputs).passed;
}
bool is_right_at(const request& call, const std::string& output, std::size_t index, double x) {
  return is_right_with(call, output, [&](core::tensor& t) { t.values.storage()[index] = x; });
}

}  // namespace

TEST_CASE("properties/other_answers/a_hidden_nan_times_weight_0_is_nan_or_nothing", "[property]") {
  for (const std::string& name : causal_attention) {
    INFO(name);
    const request whole = causal_call(name);
    request call = whole;
    call.inputs.at("v").values.storage()[place(0, 1, 2, 1)] = not_a_number;
    CHECK(is_right_with(call, "o", [](core::tensor&) {}));  // a kernel that skips hidden keys
    CHECK(is_right_with(call, "o", [](core::tensor& o) {    // softmax @ v
      for (std::size_t i = 0; i < tokens; ++i) o.values.storage()[place(0, 1, i, 1)] = not_a_number;
    }));
    CHECK_FALSE(is_right_at(call, "o", place(0, 1, 0, 0), not_a_number));   // another component
    CHECK_FALSE(is_right_at(call, "o", place(0, 0, 0, 1), not_a_number));   // another head
    CHECK_FALSE(is_right_at(call, "o", place(1, 1, 0, 1), not_a_number));   // another row of the batch
    CHECK_FALSE(is_right_at(call, "o", place(0, 1, 0, 1), 100));            // another number
    CHECK_FALSE(is_right_at(whole, "o", place(0, 1, 0, 1), not_a_number));  // no NaN is there
    if (name == "sba/attention") continue;                                  // the last query does not see itself
    CHECK_FALSE(is_right_at(call, "o", place(0, 1, 2, 1), 0.5));            // it is seen
  }
}

TEST_CASE("properties/other_answers/of_a_hidden_nan_gradients_are_nan_or_numbers", "[property]") {
  for (const std::string& name : causal_attention) {
    INFO(name);
    const request whole = causal_call(name + ":vjp");
    request call = whole;
    call.inputs.at("v").values.storage()[place(0, 1, 2, 1)] = not_a_number;
    for (const char* input : {"grad_q", "grad_k"}) {
      CHECK(is_right_at(call, input, place(0, 1, 0, 0), not_a_number));  // P (dP - sum P dP)
      CHECK_FALSE(is_right_at(call, input, place(0, 0, 0, 0), not_a_number));
      CHECK_FALSE(is_right_at(call, input, place(1, 1, 0, 0), not_a_number));
      CHECK_FALSE(is_right_at(call, input, place(0, 1, 0, 0), 100));
      CHECK_FALSE(is_right_at(whole, input, place(0, 1, 0, 0), not_a_number));
    }
    // P^T grad_o does not depend on the values.
    CHECK_FALSE(is_right_at(call, "grad_v", place(0, 1, 0, 0), not_a_number));
  }
}

TEST_CASE("properties/other_answers/a_query_without_keys_has_0_or_nan_or_the_mean_of_all_values", "[property]") {
  for (const std::string name : {"attention/grouped_query", "cope/attention", "alibi/attention", "nope/attention",
                                 "shaw/attention", "attention/output", "t5_bias/attention"}) {
    INFO(name);
    request call = causal_call(name, tokens, 2);
    if (name == "shaw/attention") call.attributes["where"] = std::string("keys");
    if (name == "attention/output")
      for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t j = 0; j < 2; ++j) call.inputs.at("bias").values(h, 0, j) = -core::infinity;
    const auto& v = call.inputs.at("v").values;
    const auto fill = [](double x, double y) {
      return [x, y](core::tensor& o) { o.values(0, 1, 0, 0) = x, o.values(0, 1, 0, 1) = y; };
    };
    const auto mean = [&](std::size_t e) { return core::round_to(dtype::f32, (v(0, 1, 0, e) + v(0, 1, 1, e)) / 2); };
    CHECK(is_right_with(call, "o", fill(0, 0)));
    CHECK(is_right_with(call, "o", fill(not_a_number, not_a_number)));
    CHECK(is_right_with(call, "o", fill(mean(0), mean(1))));
    CHECK_FALSE(is_right_with(call, "o", fill(v(0, 1, 0, 0), v(0, 1, 0, 1))));
    CHECK_FALSE(is_right_with(call, "o", fill(mean(0) * 1.001, mean(1))));
    CHECK_FALSE(is_right_with(call, "o", fill(mean(1), mean(0))));
    CHECK_FALSE(is_right_at(call, "o", place(0, 1, 2, 0), not_a_number));  // a query that sees keys
  }
}

TEST_CASE("properties/other_answers/the_mean_has_what_pairs_add_to_values", "[property]") {
  const request call = causal_call("shaw/attention", tokens, 2);
  request open = call;  // all keys have equal scores
  open.attributes["causal"] = false;
  for (const char* input : {"q", "k", "table_k"})
    for (double& x : open.inputs.at(input).values.storage()) x = 0;
  const core::tensor mean = rounded_truth_of(*expect(open, dtype::f32)).at("o");
  CHECK(is_right_at(call, "o", 0, mean.values.storage()[0]));
  CHECK_FALSE(
      is_right_at(call, "o", 0, (call.inputs.at("v").values(0, 0, 0, 0) + call.inputs.at("v").values(0, 0, 1, 0)) / 2));
}

TEST_CASE("properties/other_answers/weights_that_need_no_key_leave_0", "[property]") {
  const request sinks = causal_call("attention/sinks", tokens, 2), breaking = causal_call("sba/attention");
  CHECK_FALSE(is_right_at(sinks, "o", 0, not_a_number));
  CHECK_FALSE(is_right_at(breaking, "o", 0, not_a_number));  // the first query sees none
}

TEST_CASE("properties/other_answers/a_hidden_key_of_a_table_for_pairs", "[property]") {
  request call = causal_call("shaw/attention");
  call.inputs.at("table_v").values(4, 0) = not_a_number;  // of later keys
  CHECK(is_right_at(call, "o", place(0, 0, 0, 0), not_a_number));
  CHECK_FALSE(is_right_at(call, "o", place(0, 0, 2, 0), not_a_number));  // the last query has none
  CHECK_FALSE(is_right_at(call, "o", place(0, 0, 0, 1), not_a_number));
}

TEST_CASE("properties/other_answers/a_part_without_keys_holds_nan", "[property]") {
  const core::operation& op = *reference::find_operation("attention/merge");
  request call{
      &op,
      dtype::f32,
      {{"parts", core::make_tensor(dtype::f32, {1, 1, 2, 2, 2}, {1, 2, not_a_number, not_a_number, 3, 4, 5, 6})},
       {"lses", core::make_tensor(dtype::f32, {1, 1, 2, 2}, {0.5, -core::infinity, 1, 2})}}};
  CHECK(is_right_at(call, "o", 0, not_a_number));
  CHECK(is_right_at(call, "o", 0, 1));
  CHECK_FALSE(is_right_at(call, "o", 0, 0));
  CHECK_FALSE(is_right_at(call, "o", 2, not_a_number));
}
