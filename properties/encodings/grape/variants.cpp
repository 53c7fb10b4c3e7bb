// Wrong and right ways to gates, distances and sums along a path.
#include <utility>
#include <vector>

#include "properties/faults/declared_faults.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "reference/encodings/grape.hpp"

namespace assay::properties::encodings::grape {
namespace {

using namespace reference;  // the ways below are written in its vocabulary
using formula::traced, formula::traced_truth;
using encoding = reference::encodings::grape;
inline constexpr auto& changed = make_variant<encoding>;
constexpr std::size_t keys = encoding::keys;

// Ways to softplus, and from a sum of products to a gate.
auto with_softplus_of(traced (*function)(const traced& x)) {
  return [function](auto& scheme) { scheme.softplus_of = function; };
}
traced overflowing_softplus(const traced& x) { return log(traced(1.0) + exp(x)); }
traced rectified_gate(const traced& x) { return larger(x, traced(0.0)); }
traced softplus_of_size(const traced& x) { return larger(x, traced(0.0)) + log1p(exp(-magnitude_of(x))); }
traced softplus_by_log_sigmoid(const traced& x) { return -log_sigmoid(-x); }
constexpr auto with_gate_of_sum = [](auto gate) { return [gate](auto& scheme) { scheme.gate = gate; }; };
constexpr auto with_distance_of = [](auto distance) {
  return [distance](auto& scheme) { scheme.distance = distance; };
};

// Ways from scores to log gates, and from terms to sums.
auto with_log_gate(traced (*log_gate)(const traced& score)) {
  return [log_gate](auto& scheme) { scheme.log_gate = log_gate; };
}
traced log_of_gate(const traced& x) { return log(sigmoid(x)); }
traced gate_without_log(const traced& x) { return sigmoid(x); }
traced gate_in_base_two(const traced& x) { return log_sigmoid(x) / log(traced(2.0)); }
traced gate_by_softplus(const traced& x) { return -softplus(-x); }
auto with_path_sums(traced (*sums)(const traced& terms)) {
  return [sums](auto& scheme) { scheme.sums = sums; };
}
traced with_own_term(const traced& terms) { return sums_from_each_on(terms, keys); }
traced segment_sums(const traced& terms) { return encoding::behind(terms, formula::sums_from_each_on); }
// The sum of a row less its cumulative sum, as published.
traced row_less_prefixes(const traced& terms) {
  core::shape rows = shape_of(terms);
  rows[keys] = 1;
  return reshaped(summed(terms, {3}), rows) - cumulative_sum(terms, keys);
}
traced prefixes_in_bf16(const traced& terms) {
  core::shape rows = shape_of(terms);
  rows[keys] = 1;
  return reshaped(summed(terms, {3}), rows) - held_in(core::dtype::bf16, cumulative_sum(terms, keys));
}
traced mean_of_segment(const traced& terms) {
  const std::size_t n = shape_of(terms)[keys];
  const formula::traced_integer places = formula::counted(n);
  return segment_sums(terms) / to_real(clamp(reshaped(places, {n, 1}) - places, 1, 1 << 30));
}
template <class Sums>
traced by_blocks_of_keys(const traced& terms, Sums sums) {
  constexpr std::size_t block = 16;
  const std::size_t n = shape_of(terms)[keys];
  std::vector<traced> all;
  for (std::size_t last = n; last > 0;) {
    const std::size_t first = (last - 1) / block * block;
    const traced block_terms = between(terms, keys, first, last);
    const auto carry = [&] { return between(all.front(), keys, 0, 1) + between(terms, keys, last, last + 1); };
    all.insert(all.begin(), sums(block_terms, all.empty() ? traced(0.0) : carry()));
    last = first;
  }
  return all.empty() ? terms : formula::joined(all, keys);
}
traced carry_lost(const traced& terms) {
  return by_blocks_of_keys(terms, [](const traced& block, const traced&) { return segment_sums(block); });
}
traced carry_added(const traced& terms) {
  return by_blocks_of_keys(terms, [](const traced& block, const traced& carry) { return segment_sums(block) + carry; });
}

void exchange_vectors(request& call) {
  if (call.inputs.contains("u")) std::swap(call.inputs.at("u"), call.inputs.at("v"));
}

}  // namespace

std::vector<variant> mutants() {
  return all_of(
      {reported_faults({
           {"mutant/grape_wrong_sign", "meta-pytorch/attention-gym#86: (q_idx - kv_idx)",
            "grape/gated_bias/bias/negated"},
           {"mutant/grape_transposed", "triton-lang/triton#8412: axes", "grape/path_bias/bias/transposed_2_3"},
           {"mutant/grape_bias_in_bf16", "HabanaAI/vllm-fork#503: biases in bf16", "grape/gated_bias/bias/in_bf16"},
           {"mutant/grape_path_in_bf16", "HabanaAI/vllm-fork#503: biases in bf16", "grape/path_bias/bias/in_bf16"},
           {"mutant/grape_slopes_of_other_heads", "triton-lang/triton#8412: axes",
            "grape/path_bias/slopes/reversed_along_h_0"},
           {"mutant/grape_gates_of_queries_alone", "the query-gated variant taken for both",
            "grape/gated_bias/gates/always_query"},
           {"mutant/grape_gates_unscaled", "a factor 1 / sqrt(d) that is left out",
            "grape/gated_bias/scale/always_one"},
           {"mutant/grape_mask_left_out", "pytorch/pytorch#139641: masked places enter with 0 instead of -inf",
            "grape/gated_bias/future/always_zero"},
           {"mutant/grape_gradient_dropped", "pytorch/pytorch#196705: a path dropped",
            "grape/path_bias:vjp/grad_y/zeroed"},
       }),
       {
           changed("mutant/grape_distance_one_more", "vllm-project/vllm#945: token_idx - context_len",
                   "distances are counted from 1",
                   {.formula = with_distance_of([](const auto& query, const auto& key) {
                      return to_real(query - key + formula::traced_integer::constant(1));
                    }),
                    .representative = true}),
           changed("mutant/grape_softplus_overflows", "openvinotoolkit/openvino#4932, tracel-ai/burn#5373",
                   "log(1 + exp(x)) of any x", {.formula = with_softplus_of(overflowing_softplus)}),
           changed("mutant/grape_rectified", "ReLU for softplus", "the gate of a negative x is 0",
                   {.formula = with_softplus_of(rectified_gate), .representative = true}),
           changed("mutant/grape_scaled_after_softplus", "a factor that is applied to gates in place of logits",
                   "the gate is softplus(v . q) / sqrt(d)",
                   {.formula = with_gate_of_sum([](const auto& softplus, const traced& sum, const traced& factor) {
                      return factor * softplus(sum);
                    })}),
           changed("mutant/grape_gates_over_width", "the factor 1 / d of GRAPE-AP in place of its root",
                   "the gate is softplus(v . q / d)",
                   {.formula = with_gate_of_sum([](const auto& softplus, const traced& sum, const traced& factor) {
                      return softplus(factor * factor * sum);
                    })}),
           changed("mutant/grape_gates_of_the_other_token", "triton-lang/triton#8412: axes",
                   "a pair has the query's gate of the key and the key's of the query",
                   {.formula =
                        [](auto& scheme) {
                          scheme.gates_by_query = encoding::turned;
                          scheme.gates_by_key = [](const traced& gates) { return gates; };
                        },
                    .representative = true}),
           changed("mutant/grape_vectors_exchanged", "u and v exchanged in a port", "queries meet u and keys meet v",
                   {.inputs = exchange_vectors}),
           changed("mutant/grape_gate_in_base_two", "flashinfer-ai/flashinfer#2490: in which space a gate is",
                   "the gate is log2(1 + exp(x))",
                   {.formula = with_softplus_of([](const traced& x) { return softplus(x) / log(traced(2.0)); })}),
           changed("mutant/grape_gates_detached", "pytorch/pytorch#196705: a path dropped", "gates hand no gradient on",
                   {.gradient = with_softplus_of([](const traced& x) { return detach(softplus(x)); })}),
           changed("mutant/grape_path_own_key", "triton-lang/triton#8412: off by one",
                   "the sum begins with the key's own term",
                   {.formula = with_path_sums(with_own_term), .representative = true}),
           changed(
               "mutant/grape_path_later_keys", "a row whose sum is taken before it is masked",
               "log gates of keys after the query count",
               {.formula = [](auto& scheme) { scheme.counts = [](const traced_truth& seen) { return seen || !seen; }; },
                .representative = true}),
           changed("mutant/grape_path_unscaled", "a factor 1 / d that is left out", "scores are p . y",
                   {.formula = [](auto& scheme) { scheme.over_width = [](std::size_t) { return traced(1.0); }; }}),
           changed("mutant/grape_path_over_root", "1 / sqrt(d), as attention has it, for 1 / d",
                   "scores are p . y / sqrt(d)",
                   {.formula =
                        [](auto& scheme) {
                          scheme.over_width = [](std::size_t d) { return factor_of_logits("inverse_sqrt", d); };
                        },
                    .representative = true}),
           changed("mutant/grape_path_scores_transposed", "triton-lang/triton#8412: axes",
                   "scores are those of the key's p and the query's y",
                   {.formula =
                        [](auto& scheme) {
                          scheme.products = [](const traced_truth& seen, const traced& p, const traced& y) {
                            return contracted_at(seen, p, y, "bjhd,bihd->bhij");
                          };
                        }}),
           changed("mutant/grape_path_sigmoid", "a gate in place of its logarithm", "gates are added up",
                   {.formula = with_log_gate(gate_without_log), .representative = true}),
           changed("mutant/grape_path_log_of_sigmoid", "pytorch/pytorch#1835: the gate underflows",
                   "the log gate is log(sigmoid(x)): the gate may be 0, or lose its digits beside 1",
                   {.formula = with_log_gate(log_of_gate)}),
           changed("mutant/grape_path_in_base_two", "flashinfer-ai/flashinfer#2490: in which space a gate is",
                   "log gates are logarithms to the base 2", {.formula = with_log_gate(gate_in_base_two)}),
           changed("mutant/grape_path_mean", "a mean in place of a sum", "the mean of the log gates between",
                   {.formula = with_path_sums(mean_of_segment), .representative = true}),
           changed("mutant/grape_path_carry_lost", "flashinfer-ai/flashinfer#2768: sums across blocks",
                   "sums end with the block of 16 keys that the key lies in", {.formula = with_path_sums(carry_lost)}),
           changed("mutant/grape_path_prefixes_in_bf16", "half-precision prefix sums", "prefix sums are held in bf16",
                   {.formula = with_path_sums(prefixes_in_bf16)}),
       }});
}

std::vector<variant> controls() {
  return {
      changed("control/grape_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}),
      changed("control/grape_usual_stages", "model-architectures/GRAPE: products in the dtype, all else in f32",
              "f16 and bf16: each stage in its usual format",
              {.arithmetic = in_usual_stages, .declared = nothing_declared}),
      changed("control/grape_softplus_of_magnitude", "jax.nn.softplus: logaddexp(x, 0)",
              "max(x, 0) + log1p(exp(-|x|)); log gates as -softplus(-x)",
              {.formula =
                   [](auto& scheme) {
                     scheme.softplus_of = softplus_of_size;
                     scheme.log_gate = gate_by_softplus;
                   }}),
      changed("control/grape_log_of_sum", "log(1 + exp(x))", "of class linear",
              {.formula = with_softplus_of(log_of_sum)}),
      changed("control/grape_negative_log_sigmoid", "-F.logsigmoid(-x)", "softplus as the negative log sigmoid of -x",
              {.formula = with_softplus_of(softplus_by_log_sigmoid)}),
      changed("control/grape_row_less_prefixes", "model-architectures/GRAPE, model/llama-mha-grape-ap-v1.py",
              "the sum of a row less its cumulative sum, where tokens are finite",
              {.formula = with_path_sums(row_less_prefixes),
               .declared =
                   [](description& about) {
                     for (const char* operation : {"grape/path_bias", "grape/path_bias:vjp"})
                       about.domain[operation] = {{"p", {}}, {"y", {}}};
                   }}),
      changed("control/grape_path_by_blocks", "chunked scans: a carry", "sums of 16 keys, added to those behind",
              {.formula = with_path_sums(carry_added)}),
  };
}

}  // namespace assay::properties::encodings::grape
