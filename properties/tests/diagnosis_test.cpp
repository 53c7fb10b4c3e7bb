// The plain sentences: true of what they are said of, and never said of what is right.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>

#include "properties/builtin.hpp"
#include "properties/diagnosis/diagnose.hpp"
#include "properties/harness/certified_implementation.hpp"
#include "properties/tests/changed.hpp"

using namespace assay;
using namespace assay::properties;
using testing::changed;
using testing::probe_seed;
using testing::said_at;
using testing::truth_property;
using testing::with_settings;

namespace {

diagnosis diagnosed(const std::string& name, const std::string& operation, core::dtype type) {
  auto under_test = make_builtin(name);
  REQUIRE(under_test);
  return diagnose(**under_test, *reference::find_operation(operation), type, {{}, probe_seed});
}

struct expected_sentence {
  const char *mutant, *operation, *sentence;
};
const expected_sentence sentences[] = {
    {"ignores_initial_state", "heinsen/scan", "the initial state is ignored when there is more than one token"},
    {"decay_sum_restarts", "heinsen/scan", "the sum of log p starts again at each block of 16 tokens"},
    {"carries_input", "heinsen/gated_scan", "the next state is built from the last input, not from the last state"},
    {"takes_p_for_log_p", "heinsen/scan", "p is used where log p is expected"},
    {"takes_p_for_log_p", "heinsen/embed_position", "p is used where log p is expected"},
    {"drops_nan", "heinsen/scan", "a NaN input is dropped instead of reaching the state"},
    {"guarded_exp_at_zero", "heinsen/scan", "log p = 0 (no decay) forgets the state"},
    {"first_row_state", "heinsen/scan", "all batch rows start from the first row's state"},
    {"final_state_detached", "heinsen/scan:vjp", "the gradient of the last state is dropped"},
    {"backward_carry_at_blocks", "heinsen/scan:vjp", "at blocks of 16 the gradient carried back scales the wrong term"},
    {"gradient_cut_at_blocks", "heinsen/scan:vjp", "the gradient stops at blocks of 16"},
    {"gradient_cut_at_blocks", "heinsen/gated_scan:vjp", "the gradient stops at blocks of 16"},
    {"upper_half_forgets", "heinsen/scan", "the second half of each block of 32 tokens starts without the first"},
    {"odd_tail_lost", "heinsen/scan", "the last token is not combined with the state for odd lengths"},
    {"swapped_at_blocks", "heinsen/scan",
     "the first token of each block of 16 tokens but the first decays its input instead of the state"},
    {"restarts_after_64", "heinsen/scan", "the second block of 64 tokens starts from the initial state"},
    {"runs_backwards", "heinsen/scan", "time runs backwards"}};

// Implementations that follow another convention than requested: the settings of operations show it.
const expected_sentence conventions[] = {
    {"rope_wrong_layout", "rope/rotate", "layout = \"interleaved\" and \"half_split\" are exchanged"},
    {"rope_layout_ignored", "rope/rotate", "asked for layout = \"interleaved\", behaves as layout = \"half_split\""},
    {"rope_rotary_ignored", "rope/rotate", "behaves as rotary = 0, whatever is asked for"},
    {"rope_fixed_base", "rope/rotate", "behaves as base = 10000, whatever is asked for"},
    {"rope_wrong_sign", "rope/rotate", "direction = \"counterclockwise\" and \"clockwise\" are exchanged"},
    {"rope_at_end_of_head", "rope/rotate", "asked for at = \"start\", behaves as at = \"end\""},
    {"sinusoidal_layout_swapped", "sinusoidal/table", "layout = \"interleaved\" and \"half_split\" are exchanged"},
    {"rope_tables_of_halves", "rope/rotate", "neighbours are paired, and columns of cosines and sines in the order of"},
    {"rope_frequencies_of_neighbours", "rope/rotate",
     "halves are paired, and columns of cosines and sines in the order"},
    {"rope_axes_tables_of_halves", "rope_axes/rotate_by", "neighbours are paired, and columns of cosines and sines"},
    {"rope_cosine_as_sine", "rope/rotate", "cosines are sines of pi/2 - m theta"},
    {"alibi_causal_ignored", "alibi/bias", "asked for causal = true, behaves as causal = false"}};

void check_sentence(const expected_sentence& expected) {
  const auto& [mutant, operation, sentence] = expected;
  INFO(mutant << " " << operation << ", seed " << probe_seed);
  const diagnosis d = diagnosed(std::string("mutant/") + mutant, operation, core::dtype::f32);
  REQUIRE(d.explained);
  INFO(*d.explained);
  // The sentence of a hypothesis or a setting explains it, or the mutant itself is named.
  const bool named = std::find(d.named.begin(), d.named.end(), std::string("mutant/") + mutant) != d.named.end();
  CHECK((named || d.explained->find(sentence) != std::string::npos));
}

// The diagnosis as in a gate: with the counterexample of the check against the truth, if that check fails.
std::string said_of(const changed::change& edit, const char* operation) {
  const core::operation& op = *reference::find_operation(operation);
  changed under_test(edit);
  const check_result r = run_property(truth_property(op), under_test, op, core::dtype::f32, testing::options(4));
  diagnosis_options o{{}, probe_seed, [edit] { return std::make_unique<changed>(edit); }};
  if (r.found) o.failed.push_back({r.checked, r.found->minimal});
  const diagnosis d = diagnose(under_test, op, core::dtype::f32, o);
  const std::string text = d.explained.value_or(d.facts.value_or(""));
  CHECK_FALSE(text.empty());
  UNSCOPED_INFO(text);
  return text;
}
bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// Adds to all outputs if an axis has this size or more.
changed::change wrong_from(const char* axis, std::size_t from) {
  return testing::wrong_where([axis, from](const core::axis_sizes& sizes) { return sizes.at(axis) >= from; });
}

void set_first(core::tensor& t, double x) {
  if (t.size() > 0) t.values.storage()[0] = x;
}
std::size_t tokens_of(const core::tensors& outputs) { return outputs.at("s").shape()[1]; }

}  // namespace

TEST_CASE("conventions/diagnosis/the_one_that_is_followed_is_recovered", "[property][gate]") {
  for (const expected_sentence& expected : conventions) check_sentence(expected);
}

// The counterexample is given: few cases that a diagnosis draws have features beside two pairs that turn.
TEST_CASE("rope/diagnosis/conventions_of_partial_rotation_are_named", "[property][gate]") {
  for (const auto& [mutant, words] :
       {std::pair{"rope_proportional_for_block",
                  "asked for partial = \"block\", behaves as partial = \"proportional\""},
        {"rope_slowest_is_whole_base", "exponents t/(r-1) instead of t/r: a convention of published "}}) {
    const core::operation& op = *reference::find_operation("rope/rotate");
    auto under_test = make_builtin(std::string("mutant/") + mutant).value();
    const check_result r = run_property(truth_property(op), *under_test, op, core::dtype::f32, testing::options(4));
    INFO(mutant);
    REQUIRE(r.found);
    const diagnosis d = diagnose(*under_test, op, core::dtype::f32, {{{r.checked, r.found->minimal}}, probe_seed});
    INFO(d.facts.value_or(""));
    REQUIRE(d.explained);
    CHECK_THAT(*d.explained, Catch::StartsWith(words));
  }
}

TEST_CASE("heinsen/diagnosis/mutants_get_the_sentence_that_is_true_of_them", "[property][gate]") {
  for (const expected_sentence& expected : sentences) check_sentence(expected);
}

TEST_CASE("heinsen/diagnosis/facts_where_nothing_explains", "[property][gate]") {
  const auto facts = [](const char* mutant, const char* operation) {
    return diagnosed(std::string("mutant/") + mutant, operation, core::dtype::f32).facts.value_or("");
  };
  CHECK(facts("unguarded_infinite_prefix", "heinsen/scan").starts_with("a -inf prefix gives NaN"));
  CHECK(facts("unguarded_backward", "heinsen/scan:vjp").starts_with("a -inf prefix gives NaN"));
  CHECK(facts("naive_log_add_exp", "heinsen/scan").starts_with("large |h| gives infinities"));
  CHECK(facts("swapped_combine", "heinsen/scan") == "s, s_n are wrong on mild inputs of every size tried");
}

TEST_CASE("fox/diagnosis/facts_speak_of_its_own_inputs", "[property][gate]") {
  const diagnosis d = diagnosed("mutant/fox_reset_gives_nan", "fox/decay", core::dtype::f32);
  INFO(d.facts.value_or(""));
  CHECK(d.facts.value_or("").starts_with("log f = -inf gives NaN"));
}

TEST_CASE("heinsen/diagnosis/noise_is_explained_by_nothing", "[property][gate]") {
  for (const char* name : {"anti/noise", "anti/constant", "anti/shuffled"}) {
    const diagnosis d = diagnosed(name, "heinsen/scan", core::dtype::f32);
    INFO(name << ": " << d.explained.value_or(""));
    CHECK_FALSE(d.explained);
    CHECK(d.facts);
  }
}

TEST_CASE("properties/diagnosis/state_and_chance_are_said_where_bits_differ_alone", "[property][gate]") {
  const auto relative = [](const request& call, core::tensors& outputs) {
    for (auto& [name, t] : outputs)
      for (double& x : t.values.storage()) x *= 1 + 64 * core::unit_roundoff(call.type);
  };
  CHECK(holds(said_of(relative, "rope/rotate"), "relative errors of 2^6 u"));
  const auto narrow = [](const request&, core::tensors& outputs) {
    for (auto& [name, t] : outputs)
      for (double& x : t.values.storage()) x = core::round_to(core::dtype::bf16, x);
  };
  CHECK(holds(said_of(narrow, "rope/rotate"), "bf16"));
  CHECK(holds(said_of(narrow, "heinsen/scan"), "bf16"));
  const auto counted = [calls = std::make_shared<int>(0)](const request&, core::tensors& outputs) {
    if (++*calls % 3 == 0)
      for (auto& [name, t] : outputs)
        for (double& x : t.values.storage()) x += 1;
  };
  CHECK(holds(said_of(counted, "heinsen/scan"), "the same call gives other outputs when it is repeated at once"));
}

// Queries before all keys: programs give 0 or NaN there, which no other fault explains.
TEST_CASE("alibi/diagnosis/a_setting_is_named_whatever_rows_without_keys_give", "[property][gate]") {
  const auto scaled = [right = std::shared_ptr(make_builtin("sequential").value())](const request& call,
                                                                                    core::tensors& outputs) {
    request other = call;
    other.attributes["bias_factor"] = std::string("inverse_sqrt");
    outputs = right->evaluate(other).value();
    if (!rests_on_convention(call)) return;
    core::tensor& o = outputs.at("o");
    const std::size_t n = o.shape()[2], m = call.inputs.at("k").shape()[2], width = o.shape()[3];
    for (std::size_t i = 0; i < o.size(); ++i)
      if (i / width % n + m < n) o.values.storage()[i] = std::nan("");
  };
  const std::string said = said_of(scaled, "alibi/attention");
  INFO(said);
  CHECK(holds(said, "inverse_sqrt"));
}

TEST_CASE("properties/diagnosis/facts_are_checked_before_they_are_said", "[property][gate]") {
  const auto finite_mask = [](const request&, core::tensors& outputs) {
    for (double& x : outputs.at("bias").values.storage())
      if (std::isinf(x)) x = -1e9;
  };
  const std::string mask = said_of(finite_mask, "alibi/bias");
  CHECK(holds(mask, "bias is -1e+09 where it should be -inf"));
  CHECK_FALSE(holds(mask, "causal"));

  const auto single = [](const request&, core::tensors& outputs) {
    if (tokens_of(outputs) == 1)
      for (auto& [name, t] : outputs)
        for (double& x : t.values.storage()) x += 0.5;
  };
  CHECK(said_of(single, "heinsen/scan") == "s, s_n are wrong on mild inputs for a single token");

  // Some mild cases are wrong: mild inputs are not said to be right.
  const auto wide = [](const request& call, core::tensors& outputs) {
    if (call.inputs.at("h").shape()[2] > 2) set_first(outputs.at("s"), 0.3);
  };
  const std::string wrong = said_of(wide, "heinsen/scan");
  CHECK_FALSE(holds(wrong, "are right"));
  CHECK(holds(wrong, "mild inputs"));

  const auto far = [](const request& call, core::tensors& outputs) {
    const std::vector<double> position(call.inputs.at("query_position").values.storage().begin(),
                                       call.inputs.at("query_position").values.storage().end());
    core::tensor& bias = outputs.at("bias");
    const std::size_t keys = bias.shape()[2], queries = position.size();
    for (std::size_t i = 0; i < bias.size(); ++i) {
      const double key = call.inputs.at("key_position").values.storage()[i % keys];
      if (std::fabs(position[i / keys % queries] - key) >= 1000) bias.values.storage()[i] += 5e9;
    }
  };
  const std::string beyond = said_of(far, "alibi/bias");
  INFO(beyond);
  CHECK(holds(beyond, "bias is wrong from distance "));
  CHECK(holds(beyond, " on, and right up to distance "));

  // Wrong if rows stand at different positions; they also do in cases with a NaN.
  const auto by_rows = [](const request& call, core::tensors& outputs) {
    const auto& position = call.inputs.at("position");
    const std::size_t n = position.shape()[1];
    if (n > 0 && position.shape()[0] > 1 && position.values.storage()[0] != position.values.storage()[n])
      set_first(outputs.at("y"), 7);
  };
  CHECK_FALSE(holds(said_of(by_rows, "rope/rotate"), "a NaN among the inputs"));

  const auto of_nan = [](const request& call, core::tensors& outputs) {
    const auto& x = call.inputs.at("x").values.storage();
    if (std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); })) set_first(outputs.at("y"), 7);
  };
  CHECK(holds(said_of(of_nan, "rope/rotate"), "a NaN among the inputs"));
}

// A counterexample is small along every axis but one: its sizes have more in common than the fault needs.
TEST_CASE("properties/diagnosis/conditions_on_sizes_are_tried_one_axis_at_a_time", "[property][gate]") {
  const core::axis_sizes keys{{"B", 1}, {"h", 1}, {"n", 1}, {"m", 256}, {"d", 1}, {"e", 1}};
  CHECK(said_at(wrong_from("m", 256), "attention/output", keys) ==
        "o is wrong on mild inputs where m is more than 255");
  const core::axis_sizes heads{{"B", 1}, {"h", 9}, {"n", 1}, {"d", 4}};
  CHECK(said_at(wrong_from("h", 7), "rope/rotate", heads) == "y is wrong on mild inputs where h is more than 6");
  const core::axis_sizes features{{"B", 1}, {"n", 1}, {"d", 64}};
  CHECK(said_at(wrong_from("d", 40), "heinsen/scan", features) ==
        "s, s_n are wrong on mild inputs where d is more than 39");
  const core::axis_sizes tokens{{"B", 1}, {"n", 400}, {"d", 1}};
  CHECK(said_at(wrong_from("n", 333), "heinsen/scan", tokens) == "s, s_n are wrong on mild inputs from 333 tokens on");
}

// A fault that begins at a token is first seen at that position, since most rows count from 0.
TEST_CASE("properties/diagnosis/tokens_are_no_positions", "[property][gate]") {
  const auto from_token = [](const request&, core::tensors& outputs) {
    core::tensor& y = outputs.at("y");
    const std::size_t n = y.shape()[1], of_token = y.shape()[2] * y.shape()[3];
    for (std::size_t i = 0; i < y.size(); ++i)
      if (i / of_token % n >= 64) y.values.storage()[i] += 1.0;
  };
  const core::axis_sizes tokens{{"B", 1}, {"n", 66}, {"h", 1}, {"d", 4}};
  CHECK(said_at(from_token, "rope/rotate", tokens) == "y is wrong on mild inputs from 65 tokens on");

  const auto from_position = [](const request& call, core::tensors& outputs) {
    core::tensor& y = outputs.at("y");
    const std::size_t of_token = y.shape()[2] * y.shape()[3];
    for (std::size_t i = 0; i < y.size(); ++i)
      if (call.inputs.at("position").values.storage()[i / of_token] >= 64) y.values.storage()[i] += 1.0;
  };
  const std::string positions = said_at(from_position, "rope/rotate", tokens);
  INFO(positions);
  CHECK(holds(positions, "y is wrong from position 64 on, and right up to position 6"));
}

// Code with exact angles at the positions of another row: the error of f32 angles there explains nothing of it.
TEST_CASE("rope/diagnosis/the_first_rows_positions_are_named_of_exact_code", "[property][gate]") {
  class of_first_row final : public implementation {
   public:
    [[nodiscard]] const description& describe() const override { return right_.describe(); }
    call_result evaluate(const request& call) override {
      request other = call;
      core::tensor& position = other.inputs.at("position");
      if (position.size() > 0)
        position = core::take(position, 0, std::vector<std::size_t>(position.shape().front(), 0));
      return right_.evaluate(other);
    }

   private:
    certified_implementation right_;
  };
  const core::operation& op = *reference::find_operation("rope/rotate");
  of_first_row under_test;
  const core::axis_sizes sizes{{"B", 2}, {"n", 3}, {"h", 1}, {"d", 4}};
  const test_case shown = make_case({&op, core::dtype::f32, "large_positions", probe_seed, extent(sizes)});
  const diagnosis d = diagnose(under_test, op, core::dtype::f32, {{{&truth_property(op), shown}}, probe_seed});
  REQUIRE(d.explained);
  CHECK(*d.explained == "behaves like: position is that of the first row for all (as in unslothai/unsloth#3699)");
}

// If only one family is wrong, the condition is stated for it.
TEST_CASE("attention/diagnosis/conditions_within_a_family_are_said", "[property][gate]") {
  const core::operation& op = *reference::find_operation("attention/output");
  changed under_test([](const request& call, core::tensors& outputs) {
    const auto& q = call.inputs.at("q").values.storage();
    if (call.inputs.at("k").shape()[2] > 8 && std::all_of(q.begin(), q.end(), [](double x) { return x == 0; }))
      for (double& x : outputs.at("o").values.storage()) x += 0.25;
  });
  const core::axis_sizes sizes{{"B", 1}, {"h", 1}, {"n", 2}, {"m", 40}, {"d", 2}, {"e", 2}};
  const test_case shown = make_case({&op, core::dtype::f32, "equal_logits", probe_seed, extent(sizes)});
  const diagnosis d = diagnose(under_test, op, core::dtype::f32, {{{&truth_property(op), shown}}, probe_seed});
  INFO(d.explained.value_or("") << " / " << d.facts.value_or(""));
  REQUIRE(d.facts);
  CHECK(holds(*d.facts, "inputs of the family equal_logits give wrong values where m is more than 8; "));
}

// A law masks rows of mild inputs: a fault there is not reported for mild inputs.
TEST_CASE("attention/diagnosis/rows_that_a_law_masks_are_not_mild", "[property][gate]") {
  const core::operation& op = *reference::find_operation("attention/output");
  const changed::change wrong_without_keys = [](const request& call, core::tensors& outputs) {
    const core::tensor& bias = call.inputs.at("bias");
    core::tensor& o = outputs.at("o");
    const std::size_t heads = o.shape()[1], n = o.shape()[2], e = o.shape()[3], m = bias.shape()[2];
    for (std::size_t i = 0; i < o.size(); ++i) {
      const double* row = bias.values.storage().data() + (i / (n * e) % heads * n + i / e % n) * m;
      if (m > 0 && std::all_of(row, row + m, [](double b) { return std::isinf(b); })) o.values.storage()[i] = 0.25;
    }
  };
  changed under_test(wrong_without_keys);
  const property& law = *find_property("attention_rows_without_keys");
  const check_result r = run_property(law, under_test, op, core::dtype::f32, testing::options(4));
  REQUIRE(r.found);
  const diagnosis d = diagnose(under_test, op, core::dtype::f32, {{{&law, r.found->minimal}}, probe_seed});
  const std::string said = d.explained.value_or("") + d.facts.value_or("");
  INFO(said);
  CHECK_FALSE(holds(said, " on mild inputs"));
}

// An output is not called right if its allowance is so wide that it hides errors.
TEST_CASE("heinsen/diagnosis/one_output_alone_is_said_where_the_others_look_right", "[property][gate]") {
  const auto grown = [](std::vector<const char*> names) -> changed::change {
    return [names](const request& call, core::tensors& outputs) {
      if (call.operation->is_forward()) return;
      for (const char* name : names)
        for (double& x : outputs.at(name).values.storage()) x *= name == names.front() ? 1.5 : 1.0 + 0x1p-19;
    };
  };
  CHECK(holds(said_of(grown({"grad_h"}), "heinsen/scan:vjp"), "grad_h alone is "));
  const std::string both = said_of(grown({"grad_h", "grad_log_p"}), "heinsen/scan:vjp");
  CHECK(holds(both, "grad_h"));
  CHECK_FALSE(holds(both, "grad_h alone"));
}

// At position 0 the rotation is the identity: a right result there says nothing about wide heads.
TEST_CASE("rope/diagnosis/probes_that_cannot_tell_are_no_evidence", "[property][gate]") {
  const core::operation& op = *reference::find_operation("rope/rotate");
  changed under_test([](const request& call, core::tensors& outputs) {
    core::tensor& y = outputs.at("y");
    const auto& position = call.inputs.at("position").values.storage();
    const std::size_t d = y.shape()[3], of_token = y.shape()[2] * d;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (d >= 64 && position[i / of_token] != 0.0) y.values.storage()[i] += 1.0;
  });
  case_key key{&op, core::dtype::f32, "decode", probe_seed,
               extent(core::axis_sizes{{"B", 1}, {"n", 1}, {"h", 1}, {"d", 64}})};
  key.settings = {{"rotary", {std::int64_t{0}}}, {"magnitude", {1.0}}};
  const test_case wide = make_case(key);
  const diagnosis d = diagnose(under_test, op, core::dtype::f32, {{{find_property("value"), wide}}, probe_seed});
  INFO(d.explained.value_or("") << " / " << d.facts.value_or(""));
  CHECK_FALSE(d.explained);
  REQUIRE(d.facts);
  CHECK(*d.facts == "y is wrong on mild inputs where d is more than 63");
  CHECK_FALSE(holds(*d.facts, "are right"));

  key.family = "mild";
  key.domain["position"] = {0.0, 0.0};
  const test_case first = make_case(key);
  const auto right = make_builtin("sequential").value();
  const auto probed = [&](const test_case& c) {
    return probe_of(c, probe_kind::family, right->evaluate(c.call).value(), core::dtype::f32);
  };
  CHECK_FALSE(probed(first).informative);
  CHECK(probed(wide).informative);
}

// The errors of sin x and cos x have the sizes of cos x and sin x: the allowance of one says nothing about the other.
TEST_CASE("sinusoidal/diagnosis/a_setting_is_recovered_where_rounding_is_large", "[property][gate]") {
  const core::operation& op = *reference::find_operation("sinusoidal/table");
  with_settings under_test({{"first", std::string("cosine")}}, [](description& about) {
    about.settings["sinusoidal/table"]["first"] = {std::string("sine")};
    about.domain["sinusoidal/table"]["position"] = {200, 900};
  });
  const diagnosis d = diagnose(under_test, op, core::dtype::f32, {{}, probe_seed});
  INFO(d.facts.value_or(""));
  REQUIRE(d.explained);
  CHECK(holds(*d.explained, "asked for first = \"sine\", behaves as first = \"cosine\""));
}

TEST_CASE("rope/diagnosis/any_number_of_pairs_is_recovered", "[property][gate]") {
  const core::operation& op = *reference::find_operation("rope/rotate");
  with_settings under_test({{"rotary", std::int64_t{5}}}, [](description& about) {
    about.settings["rope/rotate"]["rotary"] = {std::int64_t{8}};
    about.sizes["rope/rotate"]["d"] = {20, 24, 2};
  });
  const diagnosis d = diagnose(under_test, op, core::dtype::f32, {{}, probe_seed});
  INFO(d.facts.value_or(""));
  REQUIRE(d.explained);
  CHECK(*d.explained == "asked for rotary = 8, behaves as rotary = 5");
}

// The function is wrong in calls of more than 20 tokens. The gradient is wrong in the same calls, or in calls of more
// than two heads.
TEST_CASE("properties/diagnosis/a_gradient_that_is_wrong_where_its_function_is_right_says_so", "[property][gate]") {
  const auto gradient_is_its_own = [](auto gradient_is_wrong) {
    const changed::change edit = [&](const request& call, core::tensors& outputs) {
      const core::axis_sizes sizes = core::check_request(call).value();
      const bool wrong = call.operation->is_forward() ? sizes.at("n") > 20 : gradient_is_wrong(sizes);
      if (!wrong) return;
      for (auto& [name, t] : outputs)
        for (double& x : t.values.storage()) x += 0.25;
    };
    const core::operation& op = *reference::find_operation("rope/rotate:vjp");
    changed under_test(edit);
    const test_case shown =
        make_case({&op, core::dtype::f32, "mild", probe_seed, extent({{"B", 1}, {"n", 24}, {"h", 4}, {"d", 8}})});
    const diagnosis d = diagnose(under_test, op, core::dtype::f32, {{{&truth_property(op), shown}}, probe_seed});
    REQUIRE((d.facts || d.explained));
    return d.function_is_right;
  };
  CHECK_FALSE(gradient_is_its_own([](const core::axis_sizes& sizes) { return sizes.at("n") > 20; }));
  CHECK(gradient_is_its_own([](const core::axis_sizes& sizes) { return sizes.at("h") > 2; }));
}

// A state is 1 where a token has these inputs at -inf.
TEST_CASE("heinsen/diagnosis/the_input_whose_infinity_matters_is_said", "[property][gate]") {
  const auto said_where_infinite = [](std::vector<std::string> inputs) {
    return said_of(
        [inputs](const request& call, core::tensors& outputs) {
          core::tensor& s = outputs.at("s");
          for (std::size_t i = 0; i < s.size(); ++i)
            if (std::all_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
                  return std::isinf(call.inputs.at(input).values.storage()[i]);
                }))
              s.values.storage()[i] = 1.0;
        },
        "heinsen/scan");
  };
  using Catch::StartsWith;
  CHECK_THAT(said_where_infinite({"h"}), StartsWith("h = -inf gives "));
  CHECK_THAT(said_where_infinite({"log_p"}), StartsWith("log p = -inf gives "));
  CHECK_THAT(said_where_infinite({"h", "log_p"}), StartsWith("h = -inf together with log p = -inf gives"));
}

// A check may multiply mild inputs: a fault on the product is not a fault on mild inputs.
TEST_CASE("heinsen/diagnosis/inputs_that_a_check_changes_are_of_no_family", "[property][gate]") {
  const core::operation& op = *reference::find_operation("heinsen/scan");
  changed under_test([](const request& call, core::tensors& outputs) {
    const auto& h = call.inputs.at("h").values.storage();
    if (std::none_of(h.begin(), h.end(), [](double x) { return std::isfinite(x) && std::fabs(x) > 40.0; })) return;
    for (auto& [name, t] : outputs)
      for (double& x : t.values.storage()) x += 0.25;
  });
  test_case shown = make_case({&op, core::dtype::f32, "mild", probe_seed, extent(core::axis_sizes{{"n", 5}})});
  for (double& x : shown.call.inputs.at("h").values.storage()) x = core::round_to(core::dtype::f32, 100 * x + 50);
  const diagnosis d = diagnose(under_test, op, core::dtype::f32, {{{&truth_property(op), shown}}, probe_seed});
  const std::string said = d.explained.value_or("") + d.facts.value_or("");
  CHECK_THAT(said, Catch::StartsWith("large |h| gives wrong values"));
  CHECK_THAT(said, Catch::EndsWith("; mild inputs of all lengths tried are right"));
}
