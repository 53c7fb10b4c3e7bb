// Code that tests of biases of pairs share (reference/kinds/pair_bias.hpp): families, sizes, laws and faults.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/scheme_variant.hpp"
#include "properties/generators/pair_positions.hpp"
#include "properties/harness/catalogue.hpp"
#include "properties/laws/relations/relations.hpp"

namespace assay::properties {

/// Draws a number of an input, given the input's name.
using parameter_source = double (*)(std::string_view input, core::dtype type, core::counter_random& random);

/// Positions of queries and keys, as many as a case of that size has.
using position_source =
    std::function<pair_positions(const core::operation& op, core::dtype type, const core::attributes& settings,
                                 core::counter_random& random, extent size)>;

/// A family of operations of this kind: parameters are drawn one by one, and positions of queries and keys are drawn.
/// There are few heads and hidden units, now and then none. Cases of operations without inputs differ in their
/// settings.
family pair_bias_family(std::string name, std::string summary, parameter_source number, position_source positions);
family pair_bias_family(std::string name, std::string summary, parameter_source number, position_filler positions);

/// Sizes for operations whose bias is cheap: many heads, tokens by tokens, long rows of keys and of queries; some of
/// them get inputs of every family.
std::vector<usual_size> pair_bias_sizes(const std::vector<std::string>& operations);

/// NAME_shift: if the bias depends only on distances, a shift of all tokens to later positions keeps the bias.
/// NAME_neutral_keys: keys before and after change no key's bias.
std::vector<property> laws_of_distance(const std::string& name, const std::vector<std::string>& operations,
                                       const std::vector<std::string>& families,
                                       std::function<bool(const test_case&)> depends_on_distances = has_elements);

/// Counts keys as they lie in memory, and queries as the last keys, whatever the positions of their tokens are.
void count_as_last(request& call);
/// Takes queries as the first keys: with a cached sequence these are the wrong rows.
void count_from_first_key(request& call);

/// Faults that encodings of distances share: mutant/NAME_first_rows, _indices_for_positions, _distances_in_bf16.
template <class Encoding>
std::vector<variant> faults_of_distance(const std::string& name) {
  return {
      make_variant<Encoding>("mutant/" + name + "_first_rows", "NVIDIA/NeMo, kerple_relative_position_embedding.py",
                             "queries behind a cache have the first rows of the distances",
                             {.inputs = count_from_first_key}),
      make_variant<Encoding>("mutant/" + name + "_indices_for_positions", "lucidrains/x-transformers#242",
                             "keys and queries are counted, wherever they stand",
                             {.inputs = count_as_last, .representative = true}),
      make_variant<Encoding>(
          "mutant/" + name + "_distances_in_bf16", "chijames/KERPLE: distances in the dtype of the scores",
          "distances are rounded to bf16",
          {.inputs = [](request& call) { round_positions(call, core::dtype::bf16); }, .representative = true}),
  };
}

/// Controls: everything in another precision.
template <class Encoding>
std::vector<variant> controls_of_precision(const std::string& name) {
  return {make_variant<Encoding>("control/" + name + "_in_f64", "all in f64, rounded once", "another precision",
                                 {.arithmetic = in_f64}),
          make_variant<Encoding>("control/" + name + "_usual_stages", "eager code",
                                 "f16 and bf16: each stage in its usual format",
                                 {.arithmetic = in_usual_stages, .declared = nothing_declared})};
}

/// Controls: the other ways in which code computes a logarithm of 1 + x, or everything.
template <class Encoding>
std::vector<variant> controls_of_arithmetic(const std::string& name) {
  std::vector<variant> all = controls_of_precision<Encoding>(name);
  all.insert(all.begin(),
             make_variant<Encoding>(
                 "control/" + name + "_log_of_sum", "chijames/KERPLE and chuanyang-Zheng/DAPE: torch.log(1 + x)",
                 "the logarithm of 1 + x, which loses x beside 1",
                 {.formula = [](auto& scheme) { scheme = Encoding::algorithm(reference::accuracy_class::linear); }}));
  return all;
}

/// The bias of one head for a test: positions and parameters as given, in f64.
core::tensor bias_by_hand(const char* operation, const std::map<std::string, std::vector<double>>& parameters,
                          const std::vector<double>& queries, const std::vector<double>& keys,
                          core::attributes settings = {});

}  // namespace assay::properties
