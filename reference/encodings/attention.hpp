// Dot-product attention with an additive bias of the logits: what relative encodings add to, and what every later
// encoding is observed through (kinds/attention.hpp).
//
// bias [h, n, m], shared by the rows of the batch; -inf is the mask. It is added to the scaled product: code that
// scales both (Falcon's ALiBi) computes another function.
#pragma once

#include <limits>
#include <string_view>

#include "reference/kinds/attention.hpp"

namespace assay::reference::encodings {

struct attention {
  static constexpr std::string_view name = "attention";

  template <class R>
  struct recipe : attention_steps<R>, differentiable_recipe<recipe, R> {};
  template <class R>
  using record = operation_record<R, recipe<R>>;
  static core::operation declaration() {
    constexpr double largest = std::numeric_limits<double>::max();
    core::operation output = attention_operation("attention/output", "m",
                                                 {.name = "bias",
                                                  .axes = {"h", "n", "m"},
                                                  .meaning = "added to the logits; -inf: the mask",
                                                  .domain = {.low = -largest, .high = largest, .minus_infinity = true},
                                                  .role = core::input_role::logit});
    output.source = "Vaswani et al. 2017, arXiv 1706.03762, eq. (1)";
    output.grows_with = &core::with_keys;
    output.independent = {"B", "h", "n"};
    return output;
  }
  template <class R>
  static std::vector<record<R>> records() {
    return {attention_record<heads, R>(declaration())};
  }

 private:
  template <class R>
  struct heads {
    using recipe = attention::recipe<R>;
    const field<R>& given;

    heads(const arguments<R>& call, const recipe&) : given(call["bias"]) {}
    [[nodiscard]] std::vector<R> bias(std::size_t, std::size_t head) const {
      const std::size_t pairs = given.shape(1) * given.shape(2);
      return {given.data() + head * pairs, given.data() + (head + 1) * pairs};
    }
  };
};

}  // namespace assay::reference::encodings
