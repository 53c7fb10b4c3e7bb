// The laws of linear biases among tokens that are queries and keys: a diagonal of 0, additive paths, symmetry.
#include <algorithm>

#include "properties/encodings/alibi/laws/cases.hpp"
#include "properties/encodings/alibi/laws/laws.hpp"

namespace assay::properties::encodings::alibi {
namespace {

// Says something of the biases of every head among the first keys of a case, in ascending order, in a form of the
// distance.
template <class Says>
statement among_tokens(Says says) {
  return {1, [says](experiment& e) {
            const auto& form = setting<std::string>(e.c, "form");
            e.needs(has_elements(e.c) && (form == "distance" || form == "absolute"));
            std::vector<double> tokens(key_positions(e.c).begin(), key_positions(e.c).end());
            tokens.resize(std::min<std::size_t>(tokens.size(), 12));
            std::sort(tokens.begin(), tokens.end());
            says(e, among(e.c, tokens), tokens.size(), e.c.call.inputs.at("slopes").size());
          }};
}

void check_diagonal(experiment& e, const test_case& square, std::size_t tokens, std::size_t heads) {
  const numbers bias(e.call(square), "bias");
  for (std::size_t head = 0; head < heads; ++head)
    for (std::size_t i = 0; i < tokens; ++i)
      e.equal(exactly(0), exactly(bias(head, i, i).value), "head {}: the bias of token {} to itself", head, i);
}

void check_path(experiment& e, const test_case& square, std::size_t tokens, std::size_t heads) {
  const numbers bias(e.call(square), "bias");
  for (std::size_t head = 0; head < heads; ++head)
    for (std::size_t i = 0; i < tokens; ++i)
      for (std::size_t k = 0; k <= i; ++k) {
        const std::size_t j = (i + k) / 2;
        e.equal(bias(head, i, j) + bias(head, j, k), bias(head, i, k),
                "head {}: from token {} to {} by way of {}, and at once", head, k, i, j);
      }
}

// Both directions alike: the bias of two tokens does not depend on which of them asks.
void check_symmetry(experiment& e, const test_case& square, std::size_t tokens, std::size_t heads) {
  const numbers bias(e.call(in_form(square, "absolute", false)), "bias");
  for (std::size_t head = 0; head < heads; ++head)
    for (std::size_t i = 0; i < tokens; ++i)
      for (std::size_t j = 0; j < i; ++j)
        e.equal(bias(head, i, j), bias(head, j, i), "head {}: from token {} to {}, and back", head, j, i);
}

}  // namespace

std::vector<property> square_laws() {
  const law_scope bias = of("alibi/bias");
  return {law("alibi_diagonal", "no token is biased against itself", bias, among_tokens(check_diagonal)),
          law("alibi_path", "the bias is additive along paths", bias, among_tokens(check_path)),
          law("alibi_symmetry", "in both directions the bias is symmetric", bias, among_tokens(check_symmetry))};
}

}  // namespace assay::properties::encodings::alibi
