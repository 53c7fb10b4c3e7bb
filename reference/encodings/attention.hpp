// Dot-product attention with an additive bias of the logits: what relative encodings add to, and what every later
// encoding is observed through. Formula: algorithms/attention.hpp.
//
// Shapes: q [B, h, n, d], k [B, h, m, d], v [B, h, m, e], bias [h, n, m], shared by the batch; o [B, h, n, e].
// Attribute `scale` of q . k: "inverse_sqrt", 1 / sqrt(d) (Vaswani et al. 2017, eq. 1), or "one" (T5; Raffel et al.
// 2020, section 2.1). The bias is added to the scaled product: code that scales both (Falcon's ALiBi) computes another
// function.
//
// Special values: bias = -inf is the mask. A query without a key has o = 0. A NaN reaches every query that may see it;
// an infinite logit is none of the domain.
#pragma once

#include <limits>
#include <string_view>

#include "reference/algorithms/attention.hpp"
#include "reference/derived_vjp.hpp"
#include "reference/operation_record.hpp"

namespace assay::reference::encodings {

struct attention {
  static constexpr std::string_view name = "attention";

  template <class R>
  using recipe = attention_recipe<R>;
  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records();

 private:
  template <class R>
  class heads;
  template <class R>
  static fields<R> output(const arguments<R>& call, const recipe<R>& how);
};

template <class R>
std::vector<attention::record<R>> attention::records() {
  constexpr double largest = std::numeric_limits<double>::max();
  const core::value_domain masked{.low = -largest, .high = largest, .minus_infinity = true};
  return {{.declaration = {.name = "attention/output",
                           .source = "Vaswani et al. 2017, arXiv 1706.03762, eq. (1)",
                           .inputs = {{.name = "q", .axes = {"B", "h", "n", "d"}, .meaning = "queries"},
                                      {.name = "k", .axes = {"B", "h", "m", "d"}, .meaning = "keys"},
                                      {.name = "v", .axes = {"B", "h", "m", "e"}, .meaning = "values"},
                                      {.name = "bias",
                                       .axes = {"h", "n", "m"},
                                       .meaning = "added to the logits; -inf: the mask",
                                       .domain = masked,
                                       .role = core::input_role::logit}},
                           // Linear in the values: a scale of 1 would mean nothing to it.
                           .outputs = {{.name = "o",
                                        .axes = {"B", "h", "n", "e"},
                                        .meaning = "weighted means of the values",
                                        .scale = core::error_scale::by_row}},
                           .attributes = {scale_attribute()},
                           .stages = attention_stages(),
                           .grows_with = &core::with_keys,
                           .independent = {"B", "h", "n"}},
           .algorithms = one_algorithm,
           .forward = output<R>,
           .vjp = derived_vjp<attention, R>,
           .jvp = not_offered}};
}

/// The heads of all rows of the batch.
template <class R>
class attention::heads {
 public:
  explicit heads(const arguments<R>& call)
      : q_(call["q"]),
        k_(call["k"]),
        v_(call["v"]),
        scale_(logit_scale<R>(call.template setting<std::string>("scale"), q_.shape(3))) {}

  [[nodiscard]] std::size_t count() const { return q_.shape(0) * q_.shape(1); }
  [[nodiscard]] std::size_t queries() const { return q_.shape(2); }
  [[nodiscard]] std::size_t keys() const { return k_.shape(2); }
  [[nodiscard]] std::size_t value_width() const { return v_.shape(3); }
  [[nodiscard]] attention_head<R> at(std::size_t head) const {
    const std::size_t n = queries(), m = keys(), d = q_.shape(3), e = value_width();
    return {n, m, d, e, scale_, q_.data() + head * n * d, k_.data() + head * m * d, v_.data() + head * m * e};
  }
  /// Where its bias begins, which the rows share.
  [[nodiscard]] std::size_t first_bias(std::size_t head) const { return head % q_.shape(1) * queries() * keys(); }

 private:
  const field<R>&q_, &k_, &v_;
  R scale_;
};

template <class R>
fields<R> attention::output(const arguments<R>& call, const recipe<R>& how) {
  const heads<R> all(call);
  field<R> out = make_field<R>({call["q"].shape(0), call["q"].shape(1), all.queries(), all.value_width()});
  for (std::size_t head = 0; head < all.count(); ++head)
    attend(all.at(head), call["bias"].data() + all.first_bias(head),
           out.data() + head * all.queries() * all.value_width(), how);
  return {{"o", std::move(out)}};
}

}  // namespace assay::reference::encodings
