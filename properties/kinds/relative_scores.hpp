// Code that tests of scores with relative positions share (reference/kinds/relative_scores.hpp).
#pragma once

#include <string>
#include <vector>

#include "properties/faults/scheme_variant.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/kinds/relative_scores.hpp"

namespace assay::properties {

/// Sizes of scores of queries by keys, and of tokens by tokens: usual sizes of models, without expensive ones.
std::vector<usual_size> sizes_of_scores(const std::string& operation);
std::vector<usual_size> sizes_of_square_scores(const std::string& operation);

/// Fillers of inputs: each number of the named inputs becomes 16 times as large, or 0; or one NaN stands in one of the
/// named inputs that the operation has.
input_filler far_larger(std::vector<std::string> inputs);
input_filler nan_in(std::vector<std::string> inputs);
/// Whether some query of attention, which has values, sees no key: there are none, or queries are the last of the keys
/// and outnumber them. The output of such a query is 0 or NaN.
bool has_query_without_any_key(const request& call);

/// mutant/NAME_scale_of_heads.
template <class Encoding>
std::vector<variant> faults_of_scores(const std::string& name) {
  return {make_variant<Encoding>("mutant/" + name + "_scale_of_heads",
                                 "upskyy/Squeezeformer#1: the width of all heads for that of one",
                                 "scores are scaled by the width of all heads", {.formula = [](auto& scheme) {
                                   scheme.factor = [](std::size_t width, std::size_t heads, std::size_t terms) {
                                     return reference::inverse_root(width * heads * terms);
                                   };
                                 }})};
}

/// Controls: published ways of computing.
template <class Encoding>
std::vector<variant> controls_of_scores(const std::string& name) {
  return {
      make_variant<Encoding>("control/" + name + "_each_scaled",
                             "microsoft/DeBERTa, disentangled_attention.py: factors within the products",
                             "each product is scaled, the last one first",
                             {.formula =
                                  [](auto& scheme) {
                                    scheme.score = [](const auto& factor, const auto& products) {
                                      auto sum = factor * products.back();
                                      for (std::size_t k = products.size() - 1; k-- > 0;)
                                        sum = sum + factor * products[k];
                                      return sum;
                                    };
                                  }}),
      make_variant<Encoding>("control/" + name + "_usual_stages", "kimiyoung/transformer-xl, mem_transformer.py",
                             "f16 and bf16: products of matrices added up in f32 and cast, sums in the dtype",
                             {.arithmetic = in_usual_stages, .declared = nothing_declared}),
      make_variant<Encoding>("control/" + name + "_in_f64", "all in f64, rounded once", "another precision",
                             {.arithmetic = in_f64}),
  };
}

/// The common part of the tests of all such encodings.
template <class Encoding>
encoding_tests tests_of_scores(const std::string& name, std::vector<family> families) {
  encoding_tests tests;
  tests.name = Encoding::name;
  tests.families = std::move(families);
  tests.controls = controls_of_scores<Encoding>(name);
  return tests;
}

}  // namespace assay::properties
