#include "properties/diagnosis/repetition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/diagnosis/sentences.hpp"
#include "properties/harness/verdict.hpp"
#include "properties/laws/laws.hpp"

namespace assay::properties {
namespace {

constexpr std::size_t repetitions = 10, most_of_larger = 20000;
constexpr std::uint64_t draws_of_larger = 8;

bool goes_on_after(fault f) { return f == fault::unsupported || f == fault::error_reply || is_bad_output(f); }

bool same_bits(const core::tensors& x, const core::tensors& y) {
  return std::all_of(x.begin(), x.end(), [&](const auto& t) {
    const auto other = y.find(t.first);
    return other != y.end() && core::identical(t.second, other->second);
  });
}

// Whether one answer is right and the other is wrong, or they differ by more than the errors that both may have.
bool differ_beyond_rounding(const test_case& c, const core::tensors& x, const core::tensors& y,
                            const core::precisions& compute) {
  const probe p = probe_of(c, probe_kind::family, x, compute);
  if (p.right != judge(*p.truth, y).passed) return true;
  for (const auto& [name, t] : x)
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double a = t.values.storage()[i], b = y.at(name).values.storage()[i];
      if (!core::same_value(a, b) && !(std::fabs(a - b) <= 2.0 * p.allowed.at(name)[i])) return true;
    }
  return false;
}

/// The results of a list of calls, in that order.
using answers = std::vector<call_result>;

// Nothing if the program broke.
std::optional<answers> answers_of(implementation& under_test, const std::vector<const test_case*>& calls) {
  answers all;
  for (const test_case* c : calls) {
    all.push_back(under_test.evaluate(c->call));
    if (!all.back() && !goes_on_after(all.back().error().kind)) return std::nullopt;
  }
  return all;
}

using calls_made = std::vector<const test_case*>;

// Adds all cases in this order, then in the reverse order.
void add_both_orders(calls_made& calls, const std::vector<test_case>& cases) {
  for (const test_case& c : cases) calls.push_back(&c);
  for (auto c = cases.rbegin(); c != cases.rend(); ++c) calls.push_back(&*c);
}

std::optional<answers> fresh_answers(const fresh_start& fresh, const calls_made& calls) {
  const auto started = fresh ? fresh() : nullptr;
  return started ? answers_of(*started, calls) : std::nullopt;
}

// A declined call says nothing.
bool are_unequal(const call_result& x, const call_result& y) {
  if (x && y) return !same_bits(*x, *y);
  return x.has_value() != y.has_value() && (x ? y : x).error().kind != fault::unsupported;
}

bool all_equal(const answers& x, const answers& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const call_result& a, const call_result& b) { return !are_unequal(a, b); });
}

// The way in which equal calls differ.
struct difference {
  bool matters = false, fails = false;
  void add(const test_case& c, const call_result& x, const call_result& y, const description& about) {
    fails = fails || !x || !y;
    matters = matters || fails || differ_beyond_rounding(c, *x, *y, about.precisions_of(c.call));
  }
};

// Why equal calls differ: two new starts with the same calls in the same order tell state from chance.
words::unequal_because reason(const fresh_start& fresh, const calls_made& calls) {
  using words::unequal_because;
  const auto once = fresh_answers(fresh, calls), again = fresh_answers(fresh, calls);
  if (!once || !again) return unequal_because::either;
  return all_equal(*once, *again) ? unequal_because::state_is_kept : unequal_because::calls_race;
}

std::string sentence_of(words::unequal_because why, const char* when, const difference& found) {
  using words::unequal_by;
  return words::same_call_gives(why,
                                found.fails     ? unequal_by::an_error
                                : found.matters ? unequal_by::outputs
                                                : unequal_by::bits,
                                when);
}

bool is_right(implementation& started, const test_case& c, const description& about) {
  const call_result outputs = started.evaluate(c.call);
  return outputs && judge(c.call, about.precisions_of(c.call), *outputs).passed;
}

}  // namespace

std::optional<unequal_calls> repeated_in_process(implementation& under_test, const std::vector<test_case>& cases,
                                                 const fresh_start& fresh) {
  calls_made calls;
  for (const test_case& c : cases) calls.insert(calls.end(), repetitions, &c);
  add_both_orders(calls, cases);
  const auto outputs = answers_of(under_test, calls);
  if (!outputs) return std::nullopt;
  const char* when = nullptr;
  difference differences;
  for (std::size_t k = 0; k < calls.size(); ++k) {
    const auto first = static_cast<std::size_t>(std::find(calls.begin(), calls.end(), calls[k]) - calls.begin());
    const call_result &before = (*outputs)[first], &now = (*outputs)[k];
    if (!are_unequal(before, now)) continue;
    if (when == nullptr) when = k < repetitions * cases.size() ? words::repeated_at_once : words::after_others;
    differences.add(*calls[k], before, now, under_test.describe());
  }
  if (when == nullptr) return std::nullopt;
  return unequal_calls{sentence_of(reason(fresh, calls), when, differences), differences.matters};
}

std::optional<unequal_calls> repeated_in_fresh_process(implementation& under_test, const std::vector<test_case>& cases,
                                                       const fresh_start& fresh) {
  calls_made calls;
  add_both_orders(calls, cases);
  const auto here = answers_of(under_test, calls), there = fresh_answers(fresh, calls);
  if (!here || !there) return std::nullopt;
  const char* when = nullptr;
  difference differences;
  const auto compare = [&](const test_case& c, const call_result& x, const call_result& y, const char* there_and_then) {
    if (!are_unequal(x, y)) return;
    if (when == nullptr) when = there_and_then;
    differences.add(c, x, y, under_test.describe());
  };
  for (std::size_t k = 0; k < calls.size(); ++k) compare(*calls[k], (*here)[k], (*there)[k], words::started_anew);
  for (std::size_t k = 0; k < cases.size(); ++k)
    compare(cases[k], (*there)[k], (*there)[calls.size() - 1 - k], words::after_others);
  if (when == nullptr) return std::nullopt;
  return unequal_calls{sentence_of(reason(fresh, calls), when, differences), differences.matters};
}

std::vector<test_case> larger_than(const test_case& c, implementation& under_test, std::uint64_t seed) {
  const core::operation& op = *c.call.operation;
  if (find_family(op, c.family) == nullptr) return {};
  const core::axis_sizes sizes = sizes_of(c);
  case_key key{&op, c.call.type, c.family, seed, {}, {}};
  const core::attributes settings = core::completed(op, c.call.attributes);
  for (const core::attribute_declaration& a : op.attributes)
    if (a.axis.empty()) key.settings[a.name] = {settings.at(a.name)};
  std::vector<core::axis_sizes> all(1, sizes);
  for (const std::string& axis : core::free_axes(op)) {
    const std::size_t larger = under_test.describe().sizes_of_axis(op, axis).nearest(2 * sizes.at(axis) + 1);
    all.front()[axis] = larger;
    all.push_back(sizes);
    all.back()[axis] = larger;
  }
  std::vector<test_case> answered;
  for (const core::axis_sizes& larger : all) {
    std::size_t elements = 0;
    for (const auto& d : op.inputs) elements += core::element_count(core::shape_of(d, larger));
    if (elements > most_of_larger || larger == sizes) continue;
    key.size = extent(larger);
    for (std::uint64_t k = 0; k < draws_of_larger; ++k) {
      key.seed = seed + k;
      test_case drawn = make_case(key);
      // Sizes that do not go together make no call, such as where one must divide the other and does not.
      if (!core::check_request(drawn.call) || !within_domain(under_test.describe(), drawn) ||
          !under_test.evaluate(drawn.call))
        continue;
      answered.push_back(std::move(drawn));
      break;
    }
  }
  return answered;
}

std::optional<core::dtype> wrong_after_dtype(const test_case& c, const description& about, const fresh_start& fresh) {
  std::vector<core::dtype> others = about.operations.at(c.call.operation->name);
  std::erase_if(others, [&](core::dtype t) { return t == c.call.type || !within_domain(about, in_dtype(c, t)); });
  const auto alone = fresh && !others.empty() ? fresh() : nullptr;
  // If a call in the same dtype has the same effect, the dtype of the first call is not the cause.
  if (!alone || !is_right(*alone, c, about) || wrong_after_itself(c, about, fresh)) return std::nullopt;
  for (const core::dtype first : others) {
    const auto started = fresh();
    if (started && started->evaluate(in_dtype(c, first).call) && !is_right(*started, c, about)) return first;
  }
  return std::nullopt;
}

bool wrong_after_itself(const test_case& c, const description& about, const fresh_start& fresh) {
  const auto started = fresh ? fresh() : nullptr;
  return started && is_right(*started, c, about) && !is_right(*started, c, about);
}

std::string first_dtype_words(core::dtype wrong, core::dtype first) {
  return fmt::format("wrong in {} after a call in {}: state of the first dtype is kept", core::name_of(wrong),
                     core::name_of(first));
}

std::string after_itself_words() {
  return "right once, and wrong when the same call comes again: any call leaves state";
}

call_result recorder::evaluate(const request& call) {
  call_result outputs = inner_.evaluate(call);
  if (outputs) calls_.push_back({call, *outputs});
  return outputs;
}

std::vector<probe> session_of(implementation& fresh, const core::operation& op, const std::vector<test_case>& cases) {
  recorder recorded(fresh);
  for (const test_case& c : cases)
    for (const char* law : {"recomputation", "repeat"}) find_property(law)->check(recorded, c);
  std::vector<probe> session;
  for (const auto& [call, outputs] : recorded.calls())
    if (call.operation == &op) {
      test_case c = cases.front();
      c.call = call;
      session.push_back(probe_of(c, probe_kind::counterexample, outputs, fresh.describe().precisions_of(call)));
    }
  return session;
}

}  // namespace assay::properties
