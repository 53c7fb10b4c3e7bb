#include "properties/encodings/attention/kernels.hpp"

#include <algorithm>
#include <cmath>

#include "properties/harness/usual_sizes.hpp"
#include "reference/core/special_values.hpp"
#include "reference/kinds/attention_of_places.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::attention {
namespace {

// Sets queries to ones, and keys so that key j of m has the logit logit(j), or nearly that.
template <class F>
void set_logits(drawn_inputs& in, F logit) {
  std::fill(in.numbers.at("q").begin(), in.numbers.at("q").end(), 1.0);
  const std::size_t width = in.sizes.at("d"), keys = in.sizes.at("m");
  std::vector<double>& k = in.numbers.at("k");
  for (std::size_t first = 0; first < k.size(); first += width) {
    const double x = logit(first / width % keys) / std::pow(static_cast<double>(width), 0.75);
    std::fill_n(k.begin() + static_cast<std::ptrdiff_t>(first), width, x);
  }
}

void wide_logits(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  set_logits(in, [&](std::size_t) { return 40 * random.normal(); });
}

void set_sinks(drawn_inputs& in, double sink, core::counter_random& random) {
  for (double& s : in.numbers.at("sink")) s = sink + random.normal();
}
void loud_sinks(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  set_sinks(in, random.one_in(2) ? 1000 : 6, random);
}
// Sinks below all logits, or -inf if every query has a key.
void faint_sinks(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  set_sinks(in, -1000, random);
  if (in.sizes.at("n") <= in.sizes.at("m"))
    for (double& s : in.numbers.at("sink"))
      if (random.one_in(2)) s = -core::infinity;
}

// Sinks for which o sigmoid(lse - sink) still differs from o, or just no longer.
void low_sinks(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  set_sinks(in, -random.uniform(5, 30), random);
}

family of_sinks(std::string name, std::string summary, input_filler fill) {
  return of_input("sink", attention_family(std::move(name), std::move(summary), std::move(fill)));
}

// A case with fewer keys than queries. The last queries stand at the last keys: the first ones see none.
test_case with_few_keys(const test_case& c) {
  test_case other = c;
  const core::operation& op = *c.call.operation;
  const std::size_t n = c.call.inputs.at("q").shape()[2], m = c.call.inputs.at("k").shape()[2];
  if (n < 2 || m == 0) return other;
  other.call.attributes["causal"] = true;
  other.call.attributes["alignment"] = std::string("last");
  other.call.inputs = core::restrict_axis(op, c.call.inputs, "m", span_of(0, std::min(m, 1 + c.seed % (n - 1))));
  return other;
}
bool sees_no_key(const test_case& c, std::size_t, std::size_t query) {
  const std::size_t n = c.call.inputs.at("q").shape()[2], m = c.call.inputs.at("k").shape()[2];
  const reference::query_places places(core::completed(*c.call.operation, c.call.attributes), n, m);
  return !places.sees_any(query, m);
}

constexpr const char* sinks = "attention/sinks";
constexpr const char* grouped = "attention/grouped_query";
constexpr const char* lse = "attention/lse";

}  // namespace

family bias_or_keys(std::string name, std::string summary, input_filler bias_filler, input_filler key_filler) {
  const bool has_bias = bias_filler != nullptr, has_keys = key_filler != nullptr;
  family f = attention_family(
      std::move(name), std::move(summary),
      [=](drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random) {
        (op.input("bias") != nullptr ? bias_filler : key_filler)(in, op, type, random);
      });
  f.applies = [=](const core::operation& op) {
    return op.input("bias") != nullptr ? has_bias : has_keys && op.input("q") != nullptr;
  };
  return f;
}

// One of the last keys has weight, and two anywhere. If all keys had weight, one alone would have almost none.
void few_keys_weigh(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  const std::size_t m = std::max<std::size_t>(in.sizes.at("m"), 1);
  std::vector<bool> weighs(m);
  weighs[m - 1 - random.below(std::min<std::size_t>(m, 4))] = true;
  for (int k = 0; k < 2; ++k) weighs[random.below(m)] = true;
  set_logits(in, [&](std::size_t j) { return weighs[j] ? random.normal() : -300; });
}
void equal_keys(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random&) {
  std::fill(in.numbers.at("q").begin(), in.numbers.at("q").end(), 0.0);
}
// Logits near -200 or, in one case of three, below the numbers that some kernels use for -inf: -10000, or -50000
// (flashinfer).
void keys_far_below(drawn_inputs& in, const core::operation&, core::dtype type, core::counter_random& random) {
  // q . k before scaling is farther from 0 than the logit, and must be a number of the format too.
  const double wide = std::pow(static_cast<double>(std::max<std::size_t>(in.sizes.at("d"), 1)), 0.25),
               farthest = std::min(std::exp2(random.uniform(15.7, 20)), core::largest_finite(type) / (2 * wide)),
               level = random.one_in(3) ? farthest : 200;
  set_logits(in, [&](std::size_t) { return random.uniform(-4, 4) - level; });
  // Beside a finite sink these keys would have no weight: if every query has a key, sinks are -inf.
  if (const auto sink = in.numbers.find("sink"); sink != in.numbers.end() && in.sizes.at("n") <= in.sizes.at("m"))
    std::fill(sink->second.begin(), sink->second.end(), -core::infinity);
}
// Only queries hold a NaN. A hidden key has the weight 0, and 0 times a NaN value is NaN in programs that sum over all
// keys: this is no fault. A NaN in a query that sees no key is left out too.
void nan_in_a_query(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  std::vector<double>& q = in.numbers.at("q");
  if (!q.empty() && in.sizes.at("n") <= in.sizes.at("m")) q[random.below(q.size())] = std::nan("");
}
void one_key_above(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  const std::size_t above = random.below(std::max<std::size_t>(in.sizes.at("m"), 1));
  set_logits(in, [&](std::size_t j) { return j == above ? 50 : random.normal(); });
}

void add_kernels(encoding_tests& tests) {
  for (family& f : std::vector<family>{
           bias_or_keys("wide_logits", "logits from -100 to 100, on both sides of a cap", nullptr, wide_logits),
           of_sinks("loud_sinks", "sinks that take most of the weight, or all", loud_sinks),
           of_sinks("low_sinks", "sinks 5 to 30 below the logits", low_sinks),
           of_sinks("faint_sinks", "sinks far below all logits, or -inf", faint_sinks)})
    tests.families.push_back(std::move(f));
  const std::vector<std::string> attends{grouped, sinks}, all{grouped, sinks, lse};
  add_sizes_of_places(tests.sizes, attends);
  add_sizes(
      tests.sizes, {lse}, "B h n m d",
      "5 9 3 130 1, 66 2 2 5 3, 2 2 129 130 2, 1 1 63 127 1, 5 1 65 66 1, 1 9 65 66 1, 1 1 65 66 66, 1 1 3 130 64,"
      "2 2 64 64 64, 1 1 3 130 128, 3 9 8 9 3, 1 2 3 1300 3");
  add_sizes(tests.sizes, {lse}, "B h n m d", "5 9 3 5 66, 1 2 65 66 2, 1 2 3 258 3", true, every_family);
  add_sizes(tests.sizes, {lse}, "B h n m d", "1 2 9 17 256, 1 2 65 130 128, 2 2 2 65537 3, 2 65 3 17 4, 2 2 258 513 2",
            false);
  // Long rows have no groups of heads: the truth of a group costs as much as that of so many heads.
  for (usual_size& size : tests.sizes)
    if (std::find(all.begin(), all.end(), size.functions.front()) != all.end() &&
        size.axes.at("n") * size.axes.at("m") > 1000)
      size.settings["group"] = std::int64_t{1};
  tests.long_ones.push_back({all, {{"m", 0}}, {{"h", 33000}, {"n", 200}, {"u", 300}}});
  tests.laws.push_back(law_of_rows_without_keys(
      "grouped", {{grouped, std::string(grouped) + ":vjp"}, {"mild", "large_logits", "equal_logits"}},
      {with_few_keys, sees_no_key}));
  tests.rests_on_convention = [](const request& call) {
    if (call.inputs.contains("bias")) return has_row_without_keys(call);
    return call.operation->attribute("window_left") != nullptr &&
           has_query_without_keys(*call.operation, call.attributes, call.inputs.at("q").shape()[2],
                                  call.inputs.at("k").shape()[2]);
  };
  tests.mutants = all_of({std::move(tests.mutants), kernel_mutants()});
  tests.controls = all_of({std::move(tests.controls), kernel_controls()});
}

}  // namespace assay::properties::encodings::attention
