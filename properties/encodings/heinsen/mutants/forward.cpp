// Mutants whose steps or scans are wrong.
#include <cmath>
#include <limits>

#include "properties/encodings/heinsen/mutants/mutants.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using namespace reference;  // the schemes below are written in its vocabulary
using namespace reference::encodings;

// Keeps exp(A) and the sum of exp(h - A) separately: one may overflow although their product is in range.
void factored_scan(const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
  R decay(0.0), sum = exp(s0);
  for (std::size_t i = 0; i < s.size(); ++i) {
    decay = decay + a[i];
    sum = sum + exp(h[i] - decay);
    s[i] = decay + log(sum);
  }
}

}  // namespace

std::vector<variant> forward_mutants() {
  return {
      changed_heinsen("mutant/guarded_single_only", "HenrikBengtsson/matrixStats#84",
                      "-inf is guarded for one token and not for two",
                      {.formula = with_scan([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
                         R state = s0;
                         for (std::size_t i = 0; i < s.size(); ++i) {
                           const R t = a[i] + state;
                           s[i] = state = s.size() < 2 ? log_sum_exp(t, h[i]) : unguarded_sum(t, h[i]);
                         }
                       })}),
      changed_heinsen("mutant/gate_saturates", "sbryngelson/ANEForge#113", "log sigmoid(g) is 0 from g = 11 on",
                      {.formula =
                           [](scan_scheme& scheme) {
                             scheme.gate = [](const R& g) { return g.number >= 11.0 ? R(0.0) : log_sigmoid(g); };
                           }}),
      changed_heinsen("mutant/takes_p_for_log_p", "fla-org/flash-linear-attention#11",
                      "p is used where log p is expected",
                      {.formula = with_step([](const R& a, const R& state, const R& h, std::size_t) {
                         return log_sum_exp(exp(a) + state, h);
                       })}),
      changed_heinsen("mutant/factored_exponentials", "tenstorrent/tt-metal#56550",
                      "exp(A) and exp(h - A) are formed apart and overflow", {.formula = with_scan(factored_scan)}),
      changed_heinsen("mutant/exp_without_underflow", "VcDevel/Vc#273", "exp gives NaN where its result is subnormal",
                      {.formula = with_sum([](const R& t, const R& h) {
                         const double gap = std::fabs(t.number - h.number);
                         const bool subnormal = gap > 88.0 && gap < 104.0;
                         return subnormal ? R(std::numeric_limits<double>::quiet_NaN()) : log_sum_exp(t, h);
                       })}),
      changed_heinsen("mutant/upper_half_forgets", "triton-lang/triton#2361",
                      "the carry between the halves of a block of 32 is lost",
                      {.formula = with_step([](const R& a, const R& state, const R& h, std::size_t i) {
                         return i % 32 == 16 ? h : log_sum_exp(a + state, h);
                       })}),
      changed_heinsen("mutant/odd_tail_lost", "pytorch/pytorch#137943",
                      "the last token of an odd length is not combined",
                      {.formula = with_scan([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
                         sequential_scan<R>(a, h, s0, s);
                         if (s.size() > 1 && s.size() % 2 == 1) s[s.size() - 1] = h[s.size() - 1];
                       })}),
      changed_heinsen("mutant/swapped_at_blocks", "triton-lang/triton#2359",
                      "operands are swapped between blocks of 16",
                      {.formula = with_step([](const R& a, const R& state, const R& h, std::size_t i) {
                         return i > 0 && i % 16 == 0 ? log_sum_exp(state, a + h) : log_sum_exp(a + state, h);
                       })}),
      changed_heinsen("mutant/restarts_after_64", "tile-ai/TileOPs#1718",
                      "the second tile of 64 starts from the initial state",
                      {.formula = with_scan([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
                         R state = s0;
                         for (std::size_t i = 0; i < s.size(); ++i)
                           s[i] = state = log_sum_exp(a[i] + (i == 64 ? s0 : state), h[i]);
                       })}),
      changed_heinsen("mutant/runs_backwards", "NVIDIA/TensorRT#4513", "time runs backwards",
                      {.formula = with_scan([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
                         R state = s0;
                         for (std::size_t i = s.size(); i-- > 0;) s[i] = state = log_sum_exp(a[i] + state, h[i]);
                       })}),
      changed_heinsen("mutant/exclusive_scan", "microsoft/onnxruntime#13174",
                      "the scan is exclusive: every state is the one before",
                      {.formula = with_scan([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
                         R state = s0;
                         for (std::size_t i = 0; i < s.size(); ++i) {
                           s[i] = state;
                           state = log_sum_exp(a[i] + state, h[i]);
                         }
                       })}),
      changed_heinsen("mutant/torn_read", "diku-dk/futhark#1188",
                      "at the edge of a block of 8 the decay is that of the next token",
                      {.formula = with_scan([](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
                         R state = s0;
                         for (std::size_t i = 0; i < s.size(); ++i) {
                           const bool torn = i % 8 == 7 && i + 1 < s.size();
                           s[i] = state = log_sum_exp(a[torn ? i + 1 : i] + state, h[i]);
                         }
                       })}),
  };
}

}  // namespace assay::properties::encodings::heinsen
