// Wrong and right ways to scan logarithms and positive states.
#include <algorithm>

#include "properties/faults/declared_faults.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "reference/encodings/log_space.hpp"

namespace assay::properties::encodings::log_space {

std::vector<variant> signed_mutants();  // signed_variants.cpp
std::vector<variant> signed_controls();

namespace {

using encoding = reference::encodings::log_space;
using reference::formula::traced;
using shares = encoding::shares;
namespace log_scans = reference::log_scans;
inline constexpr auto& changed = make_variant<encoding>;

auto summing(traced (*sum)(const traced& x)) {
  return [sum](auto& scheme) { scheme.sum = sum; };
}
auto scanning(traced (*states)(const shares&, const shares&, const traced&, const traced&)) {
  return [states](auto& scheme) { scheme.states = states; };
}

// Running sums [n, B, d] of exp(x).
traced sums_of(const traced& x) { return cumulative_sum(exp(x), 0); }
traced largest_so_far(const traced& x) {
  return log_scans::step_through(log_scans::nothing_before(x), {x},
                                 [](const traced& s, const auto& now) { return larger(s, now[0]); });
}
traced unshifted(const traced& x) { return log(sums_of(x)); }
traced below_largest(const traced& x) {
  const core::shape s = shape_of(x);
  const traced shift = detach(reshaped(largest_along(x, 0), {1, s[1], s[2]}));
  return log(sums_of(x - shift)) + shift;
}
traced never_rescaled(const traced& x) {
  const traced shift = detach(largest_so_far(x));
  return log(sums_of(x - shift)) + shift;
}
// In blocks of four tokens, the largest number up to the block's end is subtracted; sums that become 0 are set to
// 1e-20.
traced below_largest_of_block(const traced& x) {
  const std::size_t n = shape_of(x)[0];
  const traced so_far = detach(largest_so_far(x));
  std::vector<traced> shifts;
  for (std::size_t first = 0; first < n; first += 4) {
    const std::size_t last = std::min(first + 4, n);
    const core::shape s = shape_of(x);
    shifts.push_back(broadcast(between(so_far, 0, last - 1, last), {last - first, s[1], s[2]}));
  }
  const traced shift = reference::formula::joined(shifts, 0);
  return log_scans::step_through(log_scans::nothing_before(x), {x, shift}, [](const traced& y, const auto& now) {
    const traced sum = exp(y - now[1]) + exp(now[0] - now[1]);
    return log(either(equal(sum, traced(0.0)), traced(1e-20), sum)) + now[1];
  });
}
traced unguarded(const traced& x) {
  return log_scans::step_through(log_scans::nothing_before(x), {x}, [](const traced& s, const auto& now) {
    const traced top = detach(larger(s, now[0]));
    return top + log(exp(s - top) + exp(now[0] - top));
  });
}
traced log_of(const shares&, const shares& logs, const traced& g, const traced& h0) {
  return log(log_scans::by_logarithms(logs, logs, g, h0));
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {signed_mutants(),
       reported_faults({
           {"mutant/log_space_state_dropped", "tile-ai/TileOPs#1557: initial states are silently dropped",
            "log_space/min_gru/h0/zeroed"},
           {"mutant/log_space_reset_one_late", "PufferAI/PufferLib#622: a reset that comes one step late",
            "log_space/min_lstm/f/one_late_along_n_1"},
       }),
       {
           changed("mutant/log_space_unshifted", "openvinotoolkit/openvino#28538: log(cumsum(exp(x)))",
                   "exponentials overflow, or are all 0", {.formula = summing(unshifted)}),
           changed("mutant/log_space_global_shift", "microsoft/onnxscript#904, tinygrad/tinygrad#6937",
                   "x is taken less the largest of all tokens: what comes before it underflows",
                   {.formula = summing(below_largest), .representative = true}),
           changed("mutant/log_space_never_rescaled", "tinygrad/tinygrad#6942: cummax, and one cumsum",
                   "the sum so far keeps the shifts of its tokens", {.formula = summing(never_rescaled)}),
           changed("mutant/log_space_block_shift",
                   "fla-org/flash-linear-attention, logcumsumexp_fwd_kernel: the largest of a block, and 1e-20",
                   "x is taken less the largest up to the end of its block of 4: small terms before it underflow",
                   {.formula = summing(below_largest_of_block)}),
           changed("mutant/log_space_unguarded", "tinygrad/tinygrad#17853, pytorch/pytorch#52213",
                   "-inf less -inf is NaN, and stays", {.formula = summing(unguarded), .representative = true}),
           changed("mutant/log_space_gradient_unshifted", "pytorch/pytorch#36308: grad * (-result).exp()",
                   "exp(-y) of the gradient overflows", {.gradient = [](auto& scheme) { scheme.sum = unshifted; }}),
           changed("mutant/log_space_gates_exchanged", "lucidrains/minGRU-pytorch#21: the standard GRU",
                   "the gate says how much of the state is kept",
                   {.formula =
                        [](auto& scheme) {
                          scheme.shares_of_gate = [](const traced& k) { return log_scans::complementary(-k); };
                        },
                    .representative = true}),
           changed("mutant/log_space_state_by_g", "lucidrains/minGRU-pytorch#9, lucidrains/minGRU-pytorch#17",
                   "h0 goes through g as candidates do",
                   {.formula = [](auto& scheme) { scheme.enter = encoding::positive; }, .representative = true}),
           changed("mutant/log_space_not_normalized", "Feng et al. 2024: minLSTM before its gates are normalized",
                   "h = f h + i g",
                   {.formula =
                        [](auto& scheme) {
                          scheme.shares_of_gates = [](const traced& f, const traced& i) {
                            return shares{sigmoid(f), sigmoid(i)};
                          };
                        }}),
           changed("mutant/log_space_sigmoid_candidates", "g of lucidrains/minGRU-pytorch without its upper branch",
                   "g(v) is sigmoid(v) where v > 0, too",
                   {.formula = [](auto& scheme) { scheme.candidate = [](const traced& v) { return sigmoid(v); }; },
                    .representative = true}),
           changed("mutant/log_space_states_as_logarithms", "glassroom/heinsen_sequence: log_x without exp",
                   "states are their logarithms", {.formula = scanning(log_of)}),
           changed("mutant/log_space_softplus_is_linear", "apache/tvm#20184: softplus(x) = x above 20, in f64 too",
                   "exp(-k) is lost where k is above 20",
                   {.formula =
                        [](auto& scheme) {
                          scheme.states = log_scans::by_cumulative_sums;
                          const auto linear = [](const traced& x) {
                            return either(less(traced(20.0), x), x, softplus(x));
                          };
                          scheme.log_shares_of_gate = [=](const traced& k) { return shares{-linear(k), -linear(-k)}; };
                          scheme.log_shares_of_gates = [=](const traced& f, const traced& i) {
                            const traced apart = linear(-f) - linear(-i);
                            return shares{-linear(apart), -linear(-apart)};
                          };
                        },
                    .shown_in = core::dtype::f64}),
           changed("mutant/log_space_log_of_share", "pytorch/pytorch#1835: log(1 - sigmoid(k))",
                   "the logarithm of a share that is rounded to 0",
                   {.formula =
                        [](auto& scheme) {
                          scheme.states = log_scans::by_cumulative_sums;
                          scheme.log_shares_of_gate = [](const traced& k) {
                            const traced z = sigmoid(k);
                            return shares{log(traced(1.0) - z), log(z)};
                          };
                        }}),
       }});
}

std::vector<variant> controls() {
  return all_of(
      {signed_controls(),
       {
           changed("control/log_space_doubling",
                   "llvm/torch-mlir#4748, proger/accelerated-scan: a scan by doubling strides",
                   "of class tree: log_add_exp of blocks, products of maps",
                   {.formula =
                        [](auto& scheme) { scheme.sum = log_scans::by_doubling, scheme.states = log_scans::by_maps; }}),
           changed("control/log_space_prefix_sums", "lucidrains/minGRU-pytorch, heinsen_associative_scan_log",
                   "of class cumsum: A + logcumsumexp(b - A)",
                   {.formula =
                        [](auto& scheme) {
                          scheme.sum = log_scans::by_differences, scheme.states = log_scans::by_cumulative_sums;
                        }}),
           changed("control/log_space_running_maximum", "Milakov and Gimelshein 2018, arXiv 1805.02867: one pass",
                   "of class linear: the sum is rescaled",
                   {.formula = [](encoding::scheme& scheme) { scheme.sum = log_scans::by_running_maximum; },
                    .gradient = [](auto& scheme) { scheme.sum = log_scans::by_differences; }}),
           changed("control/log_space_logarithms", "Feng et al. 2024: log h step by step",
                   "of classes linear and cumsum: states as logarithms",
                   {.formula = scanning(log_scans::by_logarithms)}),
           changed("control/log_space_interpolated", "lucidrains/minGRU-pytorch, torch.lerp",
                   "of class linear: h + z (g - h)",
                   {.formula =
                        [](auto& scheme) {
                          scheme.states = [](const shares& factors, const shares& logs, const traced& g,
                                             const traced& h0) {
                            return log_scans::by_interpolation(factors, logs, g, h0);
                          };
                        }}),
           changed("control/log_space_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
       }});
}

}  // namespace assay::properties::encodings::log_space
