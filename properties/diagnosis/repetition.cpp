#include "properties/diagnosis/repetition.hpp"

#include <algorithm>
#include <cmath>

namespace assay::properties {
namespace {

constexpr std::size_t repetitions = 10;

bool same_bits(const core::tensors& x, const core::tensors& y) {
  return std::all_of(x.begin(), x.end(), [&](const auto& t) {
    const auto other = y.find(t.first);
    return other != y.end() && core::identical(t.second, other->second);
  });
}

// Whether one is right and the other is wrong, or they differ by more than both may err.
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

/// The outputs of a list of calls, in that order.
using answers = std::vector<core::tensors>;

std::optional<answers> answers_of(implementation& under_test, const std::vector<const test_case*>& calls) {
  answers all;
  for (const test_case* c : calls) {
    call_result outputs = under_test.evaluate(c->call);
    if (!outputs) return std::nullopt;
    all.push_back(std::move(*outputs));
  }
  return all;
}

// Each call several times, then all of them again.
std::vector<const test_case*> repeated(const std::vector<test_case>& cases) {
  std::vector<const test_case*> calls;
  for (const test_case& c : cases) calls.insert(calls.end(), repetitions, &c);
  for (const test_case& c : cases) calls.push_back(&c);
  return calls;
}

std::optional<answers> fresh_answers(const fresh_start& fresh, const std::vector<const test_case*>& calls) {
  const auto started = fresh ? fresh() : nullptr;
  return started ? answers_of(*started, calls) : std::nullopt;
}

bool all_same_bits(const answers& x, const answers& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_bits);
}

// Why equal calls differ: the same calls in the same order, started anew twice, tell state from chance.
std::string reason(const fresh_start& fresh, const std::vector<const test_case*>& calls) {
  const auto once = fresh_answers(fresh, calls), again = fresh_answers(fresh, calls);
  if (!once || !again) return "state is kept between calls, or they race";
  return all_same_bits(*once, *again) ? "state is kept between calls"
                                      : "calls race, or depend on chance: started anew twice, it differs too";
}

std::string sentence_of(const std::string& why, const char* when, bool matters) {
  return why + ": the same call gives other " + (matters ? "outputs " : "bits, not more than rounding explains, ") +
         when;
}

}  // namespace

std::optional<unequal_calls> repeated_in_process(implementation& under_test, const std::vector<test_case>& cases,
                                                 const fresh_start& fresh) {
  const auto calls = repeated(cases);
  const auto outputs = answers_of(under_test, calls);
  if (!outputs) return std::nullopt;
  const char* when = nullptr;
  bool matters = false;
  for (std::size_t k = 0; k < calls.size(); ++k) {
    const auto first = static_cast<std::size_t>(std::find(calls.begin(), calls.end(), calls[k]) - calls.begin());
    const core::tensors &before = (*outputs)[first], &now = (*outputs)[k];
    if (same_bits(before, now)) continue;
    if (when == nullptr) when = k < repetitions * cases.size() ? "when it is repeated at once" : "after other calls";
    matters =
        matters || differ_beyond_rounding(*calls[k], before, now, under_test.describe().precisions_of(calls[k]->call));
  }
  if (when == nullptr) return std::nullopt;
  return unequal_calls{sentence_of(reason(fresh, calls), when, matters), matters};
}

std::optional<unequal_calls> repeated_in_fresh_process(implementation& under_test, const std::vector<test_case>& cases,
                                                       const fresh_start& fresh) {
  std::vector<const test_case*> calls;
  for (const test_case& c : cases) calls.push_back(&c);
  const auto here = answers_of(under_test, calls), there = fresh_answers(fresh, calls);
  if (!here || !there || all_same_bits(*here, *there)) return std::nullopt;
  bool matters = false;
  for (std::size_t k = 0; k < calls.size(); ++k)
    matters = matters || differ_beyond_rounding(*calls[k], (*here)[k], (*there)[k],
                                                under_test.describe().precisions_of(calls[k]->call));
  return unequal_calls{sentence_of(reason(fresh, calls), "where the candidate is started anew", matters), matters};
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
