// Wrong and right variants of Heinsen's operations, to test the gate.
#pragma once

#include "properties/faults/call_changes.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "reference/encodings/heinsen.hpp"

namespace assay::properties::encodings::heinsen {

using R = reference::rounded;
using scan_scheme = reference::encodings::heinsen::scheme<R>;
inline constexpr auto& changed_heinsen = make_variant<reference::encodings::heinsen>;

/// Replaces the step of the scan, which gives the state after token i.
inline scheme_change<scan_scheme> with_step(
    std::function<R(const R& a, const R& state, const R& h, std::size_t i)> next) {
  return [next](scan_scheme& scheme) {
    scheme.scan = [next](reference::const_lane<R> a, reference::const_lane<R> h, const R& s0, reference::lane<R> s) {
      R state = s0;
      for (std::size_t i = 0; i < s.size(); ++i) s[i] = state = next(a[i], state, h[i], i);
    };
  };
}
/// Replaces the log-sum-exp of the decayed state and the input.
inline scheme_change<scan_scheme> with_sum(R (*sum)(const R& past, const R& h)) {
  return with_step([sum](const R& a, const R& state, const R& h, std::size_t) { return sum(a + state, h); });
}
/// log-sum-exp as max + log1p(exp(-gap)) without a guard: NaN if both are -inf.
inline R unguarded_sum(const R& x, const R& y) {
  const R z = x - y;
  return larger(x, y) + log1p(exp(larger(z, -z) * R(-1.0)));
}
/// Replaces the scan or the adjoint of `scheme`.
inline scheme_change<scan_scheme> with_scan(decltype(scan_scheme::scan) scan) {
  return [scan](scan_scheme& scheme) { scheme.scan = scan; };
}
inline scheme_change<scan_scheme> with_adjoint(decltype(scan_scheme::adjoint) adjoint) {
  return [adjoint](scan_scheme& scheme) { scheme.adjoint = adjoint; };
}

std::vector<variant> mutants();
/// The parts of the list: wrong steps and scans, wrong states at the ends, wrong derivatives, wrong blocks, less
/// precision than declared, memory between calls, settings, products that underflow.
std::vector<variant> forward_mutants();
std::vector<variant> state_mutants();
std::vector<variant> gradient_mutants();
std::vector<variant> block_mutants();
std::vector<variant> precision_mutants();
std::vector<variant> memory_mutants();
std::vector<variant> setting_mutants();
std::vector<variant> linear_tree_mutants();
/// Mutants made by rule: a fault of the step, or of the adjoint's step, at some tokens.
std::vector<variant> generated_mutants();
std::vector<variant> controls();
/// Declares the intervals in which the state and the inputs of every operation must stay.
void declare_domain(description& about, const std::map<std::string, declared_domain>& domain);
/// s_i = max(log p_i + s_{i-1}, h_i): an answer that knows the larger term and nothing of the sum. For forward
/// operations.
uninformed_answer maximum_for_sum();
/// Reports of bugs in log-sum-exp, scans and gates that these operations cannot show.
std::vector<unmodelled> not_modelled();

}  // namespace assay::properties::encodings::heinsen
