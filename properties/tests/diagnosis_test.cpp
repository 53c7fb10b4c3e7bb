// The plain sentences: true of what they are said of, and never said of what is right.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "properties/builtin.hpp"
#include "properties/diagnosis/diagnose.hpp"
#include "properties/tests/gating.hpp"
#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

constexpr std::uint64_t seed = 20240417;

diagnosis diagnosed(const std::string& name, const std::string& operation, core::dtype type) {
  auto under_test = make_builtin(name);
  REQUIRE(under_test);
  return diagnose(**under_test, *reference::find_operation(operation), type, nullptr, seed);
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

// Implementations that follow another convention than they were asked for: the settings of operations tell.
const expected_sentence conventions[] = {
    {"rope_wrong_layout", "rope/rotate", "layout = \"interleaved\" and \"half_split\" are exchanged"},
    {"rope_layout_ignored", "rope/rotate", "declared layout = \"interleaved\", behaves as layout = \"half_split\""},
    {"rope_rotary_ignored", "rope/rotate", "declared rotary = 1, behaves as rotary = 0"},
    {"rope_fixed_base", "rope/rotate:vjp", "behaves as base = 10000, whatever is asked for"},
    {"sinusoidal_layout_swapped", "sinusoidal/table", "layout = \"interleaved\" and \"half_split\" are exchanged"},
    {"alibi_causal_ignored", "alibi/bias", "declared causal = true, behaves as causal = false"}};

void check_sentence(const expected_sentence& expected) {
  const auto& [mutant, operation, sentence] = expected;
  INFO(mutant << " " << operation << ", seed " << seed);
  const diagnosis d = diagnosed(std::string("mutant/") + mutant, operation, core::dtype::f32);
  REQUIRE(d.explained);
  CHECK(*d.explained == sentence);
}

}  // namespace

TEST_CASE("conventions/diagnosis/the_one_that_is_followed_is_recovered", "[property][gate]") {
  for (const expected_sentence& expected : conventions) check_sentence(expected);
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
  CHECK(facts("swapped_combine", "heinsen/scan") == "s, s_n are wrong on mild inputs from the first token on");
}

TEST_CASE("fox/diagnosis/facts_speak_of_its_own_inputs", "[property][gate]") {
  const diagnosis d = diagnosed("mutant/fox_reset_gives_nan", "fox/decay", core::dtype::f32);
  CHECK(d.facts.value_or("").starts_with("log f = -inf gives NaN"));
}

TEST_CASE("heinsen/diagnosis/nothing_is_said_of_what_is_right", "[property][gate]") {
  std::size_t examined = 0;
  for (const char* name : {"optimized", "reference", "sequential", "tree", "linear", "cumsum", "control/odd_chunks",
                           "control/doubling_tree", "control/double_inside"})
    for (const core::operation& op : reference::operations())
      for (const core::dtype type : {core::dtype::f64, core::dtype::f32}) {
        INFO(name << " " << op.name << " " << core::name_of(type) << ", seed " << seed);
        if (!make_builtin(name).value()->describe().offers(op.name, type) || !testing::is_own_algorithm(name, op))
          continue;
        // The truth itself, at up to 1000 digits: once for each function.
        if (std::string(name) == "reference" && (type == core::dtype::f64 || !op.is_forward())) continue;
        const diagnosis d = diagnosed(name, op.name, type);
        INFO(d.explained.value_or("") << d.facts.value_or(""));
        CHECK_FALSE(d.explained);
        CHECK_FALSE(d.facts);
        ++examined;
      }
  REQUIRE(examined > 0);
}

TEST_CASE("heinsen/diagnosis/noise_is_explained_by_nothing", "[property][gate]") {
  for (const char* name : {"anti/noise", "anti/constant", "anti/shuffled"}) {
    const diagnosis d = diagnosed(name, "heinsen/scan", core::dtype::f32);
    INFO(name << ": " << d.explained.value_or(""));
    CHECK_FALSE(d.explained);
    CHECK(d.facts);
  }
}
