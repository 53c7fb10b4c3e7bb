// Attention as kernels provide it (attention/grouped_query, sinks and lse): families, sizes, laws, and variants.
#pragma once

#include "properties/kinds/attention.hpp"
#include "reference/encodings/attention.hpp"

namespace assay::properties::encodings::attention {

using kernel_encoding = reference::encodings::attention;
using reference::formula::traced, reference::formula::traced_truth;
using rows_to_rows = traced (*)(const traced& logits, const traced_truth& seen);

/// Changes steps of the formula and of its gradient: the ways to the weights and to the logarithm of the sum, as a
/// column.
inline auto as_weights_and_lse(rows_to_rows weights, rows_to_rows lse) {
  return [=](auto& scheme) {
    scheme.weights = weights;
    scheme.log_sum_exp = lse;
  };
}
inline auto as_lse(rows_to_rows lse) {
  return [lse](auto& scheme) { scheme.log_sum_exp = lse; };
}

/// A family for operations with a bias, and for those without a bias that have q and k; only for one of the two if the
/// other filler is missing.
family bias_or_keys(std::string name, std::string summary, input_filler bias_filler, input_filler key_filler);

// Fillers of q, k and sinks.
void few_keys_weigh(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void equal_keys(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void keys_far_below(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void nan_in_a_query(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);
void one_key_above(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random);

/// Adds the families, sizes, laws and variants of these operations.
void add_kernels(encoding_tests& tests);
std::vector<variant> kernel_mutants();
std::vector<variant> kernel_controls();

}  // namespace assay::properties::encodings::attention
