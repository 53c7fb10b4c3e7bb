// Code that tests of encodings in the logits of attention share (reference/kinds/attention.hpp): families, sizes, laws,
// and wrong and right ways from logits to weights.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "properties/faults/scheme_variant.hpp"
#include "properties/harness/catalogue.hpp"
#include "properties/laws/relations/relations.hpp"
#include "reference/kinds/attention.hpp"

namespace assay::properties {

/// A case before rounding: numbers of the inputs by name, row-major, and the sizes of their axes.
struct drawn_inputs {
  core::axis_sizes sizes;
  std::map<std::string, std::vector<double>> numbers{};
};
/// The numbers of an input; null if there is no such input.
inline std::vector<double>* numbers_of(drawn_inputs& in, const char* name) {
  const auto found = in.numbers.find(name);
  return found == in.numbers.end() ? nullptr : &found->second;
}
/// Scales each row of d numbers to length 1; a row of zeros stays.
void make_unit_rows(std::vector<double>& rows, std::size_t d);
/// Changes inputs that have been filled with normal numbers.
using input_filler =
    std::function<void(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random)>;
/// A family of operations of this kind. Short cases have few keys and queries. If each token is both, there are up to
/// 33 tokens, and fewer in several heads. If queries have places among the keys, no query is drawn before the first
/// key.
family attention_family(std::string name, std::string summary, input_filler fill);
/// A family for the operations that have this input.
family of_input(const char* input, family f);
/// The same family, with the inputs of `with` for the operations that have this input.
family by_input(const char* input, const family& with, family without);

/// Draws keys so that their logits for queries of ones are the drawn numbers, or nearly so, whatever the scale is.
/// Normal queries and keys have logits of order 1.
void draw_logits(drawn_inputs& in, double (*logit)(core::counter_random& random), core::counter_random& random);

// Fillers of queries and keys, of values, and of a bias [h, n, m]. A mask leaves every query a key: implementations
// differ on queries without one.
void large_logits(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void equal_values(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void small_values(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void large_values(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void as_drawn(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void nan_in_queries_or_values(drawn_inputs& in, const core::operation& op, core::dtype type,
                              core::counter_random& random);
void no_bias(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void causal(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void masked_inside(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void few_keys(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void equal_logits(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void linear_bias(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void far_keys(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void rows_apart(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void one_key_wins(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);

/// Adds usual sizes; "5 9 17, 66 2 5" lists two along the axes "B h n".
void add_sizes(std::vector<usual_size>& to, const std::vector<std::string>& operations, const std::string& axes,
               const std::string& sizes, bool always = true, const std::string& family = "");

/// Whether some query has no key, if queries have places among the keys.
bool has_query_before_keys(const request& call);
/// Usual sizes and long calls of operations whose queries have places among the keys: not more queries than keys, also
/// when a size is drawn above the declared one.
void add_sizes_of_places(std::vector<usual_size>& to, const std::vector<std::string>& operations);
long_calls long_calls_of_places(const std::vector<std::string>& operations);

/// weights_sum, for every operation that is softmax(logits of q and k) v: the weights of a query add up to 1.
property law_of_weights();
/// Makes a case in which some queries have no key, and says which queries these are, by row and number.
struct queries_without_keys {
  std::function<test_case(const test_case& c)> hide;
  std::function<bool(const test_case& hidden, std::size_t row, std::size_t query)> has_none;
};
/// NAME_rows_without_keys: see rows_without_keys.cpp.
property law_of_rows_without_keys(const std::string& name, const law_scope& scope, const queries_without_keys& queries);
/// NAME_row_constants: a number added to a row of the bias changes nothing. Also NAME_rows_without_keys.
std::vector<property> laws_of_bias(const std::string& name, const std::string& operation,
                                   const std::vector<std::string>& families);
/// NAME_cached_queries, for operations whose queries have places among the keys: the last queries alone give what they
/// give among all queries. If places are counted from the first key, the first queries do.
property law_of_cached_queries(const std::string& name, const std::string& operation,
                               const std::vector<std::string>& families);
/// Whether some query of a call with windows sees no key, and its output is a matter of convention. It is not if a sink
/// makes the output 0, or if it is the logarithm of 0.
bool has_query_without_keys(const core::operation& op, const core::attributes& settings, std::size_t queries,
                            std::size_t keys);
/// Whether all keys of some query are masked.
bool has_row_without_keys(const request& call);

/// The rows of a tensor: slices along the last axis.
inline std::vector<std::span<double>> rows_of(core::tensor& t) {
  std::vector<std::span<double>> rows;
  for (std::size_t first = 0, keys = t.shape().back(); first < t.size(); first += keys)
    rows.emplace_back(t.values.data() + first, keys);
  return rows;
}

/// Ways from the logits of all rows of a program to their weights.
namespace weights {
using reference::formula::traced, reference::formula::traced_truth;
using rows_of_program = traced (*)(const traced& logits, const traced_truth& seen);
traced without_shift(const traced& logits, const traced_truth& seen);
/// Blocks of four keys; keys with logit 0 and value 0 fill the last block.
traced with_padded_keys(const traced& logits, const traced_truth& seen);
traced masked_after_softmax(const traced& logits, const traced_truth& seen);
/// Online softmax that does not rescale its sum when a larger logit comes.
traced never_rescaled(const traced& logits, const traced_truth& seen);
/// A guard against positive exponents that also cuts 0.
traced cut_at_zero(const traced& logits, const traced_truth& seen);

// Right ways.
/// Two passes. The first one goes key by key and rescales its sum whenever the maximum grows, as fused kernels do
/// (Milakov and Gimelshein 2018, arXiv 1805.02867). The second one divides the weights before they multiply the values.
traced online_softmax(const traced& logits, const traced_truth& seen);
/// exp(S - LSE), where LSE is the shift plus the logarithm of the sum.
traced by_log_sum_exp(const traced& logits, const traced_truth& seen);
traced masked_before_sum(const traced& logits, const traced_truth& seen);
traced guarded_softmax(const traced& logits, const traced_truth& seen);
/// f(S) divided by the sum of f(S) over the keys that are seen.
traced over_sum(const traced& all, const traced_truth& seen);
/// S minus a number for each row; this number has no derivative.
traced less_largest(const traced& logits, const traced_truth& seen);
/// Sums or maxima of rows (the last axis) as columns; the maximum has no derivative.
traced sum_of_rows(const traced& x);
traced largest_of_rows(const traced& x);
/// The logits with x where they are hidden, and the weights with 0 there.
traced hidden_as(double x, const traced& logits, const traced_truth& seen);
traced masked(const traced& logits, const traced_truth& seen);  ///< hidden as -inf
traced seen_alone(const traced& all, const traced_truth& seen);
/// Calls f(S_j, whether it is seen) for blocks of so many keys in turn; the last block may have fewer.
void block_by_block(const traced& logits, const traced_truth& seen, std::size_t block,
                    const std::function<void(const traced& s, const traced_truth& is_seen)>& f);

/// A change of the step in the formula and in its gradient.
inline auto steps(rows_of_program rows) {
  return [rows](auto& scheme) { scheme.weights = rows; };
}
}  // namespace weights

/// Replaces the step scale q . k + bias, in the gradient too.
template <class Logit>
auto with_logit(Logit logit) {
  return [logit](auto& scheme) { scheme.logit = logit; };
}

/// Faults of every encoding of this kind: mutant/NAME_no_shift and _bias_scaled; `bias` is what the encoding adds.
template <class Encoding>
std::vector<variant> faults_of_attention(const std::string& name, const std::string& bias) {
  return {make_variant<Encoding>("mutant/" + name + "_no_shift", "pytorch/pytorch#1835: overflow",
                                 "exp without a shift", {.formula = weights::steps(weights::without_shift)}),
          make_variant<Encoding>("mutant/" + name + "_bias_scaled",
                                 "NVIDIA/TensorRT-Model-Connect#32: a bias scaled with the logits",
                                 bias + " is scaled with q . k",
                                 {.formula = with_logit([](const auto& product, const auto& b, const auto& scale) {
                                    return scale * (product + b);
                                  }),
                                  .representative = true})};
}

/// Faults of weights and masks, whatever the bias is: the archetype has them.
template <class Encoding>
std::vector<variant> faults_of_weights(const std::string& name) {
  return {
      make_variant<Encoding>("mutant/" + name + "_padded_keys_count",
                             "pytorch/pytorch#139641: padding enters with 0 instead of -inf",
                             "blocks of four keys are filled up with keys of logit 0",
                             {.formula = weights::steps(weights::with_padded_keys), .representative = true}),
      make_variant<Encoding>("mutant/" + name + "_mask_after_softmax", "jax-ml/jax#23842: masked after the exponential",
                             "masked keys take their share of the weight",
                             {.formula = weights::steps(weights::masked_after_softmax)}),
      make_variant<Encoding>("mutant/" + name + "_no_rescaling",
                             "llvm/torch-mlir#4748: a running maximum without rescaling",
                             "an online softmax keeps its sum when the maximum grows",
                             {.formula = weights::steps(weights::never_rescaled)}),
      make_variant<Encoding>("mutant/" + name + "_guard_cuts_zero", "fla-org/flash-linear-attention#461",
                             "a guard against positive exponents also cuts 0: the largest logit",
                             {.formula = weights::steps(weights::cut_at_zero)}),
  };
}

/// Controls: what published kernels compute another way. Every encoding of this kind may use them.
template <class Encoding>
std::vector<variant> controls_of_kernels(const std::string& name) {
  return {
      make_variant<Encoding>("control/" + name + "_guarded_exp", "fla-org/flash-linear-attention#463: a guard",
                             "no exponent above 0 reaches exp, and that of 0 is 1",
                             {.formula = weights::steps(weights::guarded_softmax)}),
      make_variant<Encoding>("control/" + name + "_mean_from_output", "FlashAttention, Algorithm 4 (arXiv 2205.14135)",
                             "the mean of the gradient is g . o of the stored output, in f16 and bf16 stage by stage",
                             {.formula = [](auto& scheme) { scheme.mean_from_output = true; },
                              .arithmetic = in_usual_stages,
                              .declared = nothing_declared}),
  };
}
/// The same controls, and the usual stages.
template <class Encoding>
std::vector<variant> controls_of_attention(const std::string& name) {
  std::vector<variant> all = controls_of_kernels<Encoding>(name);
  all.push_back(make_variant<Encoding>("control/" + name + "_usual_stages",
                                       "LlamaAttention of huggingface/transformers",
                                       "f16 and bf16: sums and softmax in f32, scores, weights and output in the dtype",
                                       {.arithmetic = in_usual_stages, .declared = nothing_declared}));
  return all;
}

/// Controls: other ways from logits to weights; the archetype has them.
template <class Encoding>
std::vector<variant> controls_of_weights(const std::string& name) {
  return {
      make_variant<Encoding>("control/" + name + "_online_softmax", "a running maximum with rescaling",
                             "the sum is rescaled whenever the maximum grows",
                             {.formula = weights::steps(weights::online_softmax)}),
      make_variant<Encoding>("control/" + name + "_log_sum_exp", "weights as exp(S - LSE)",
                             "the sum is divided by in the exponent",
                             {.formula = weights::steps(weights::by_log_sum_exp)}),
      make_variant<Encoding>("control/" + name + "_masked_before_sum", "state-spaces/mamba#520: masked later",
                             "exponentials of masked keys are formed, and then set to 0",
                             {.formula = weights::steps(weights::masked_before_sum)}),
      make_variant<Encoding>("control/" + name + "_bias_first", "the sum in the other order", "bias + scale q . k",
                             {.formula = with_logit([](const auto& product, const auto& bias, const auto& scale) {
                                return bias + product * scale;
                              })}),
  };
}

}  // namespace assay::properties
