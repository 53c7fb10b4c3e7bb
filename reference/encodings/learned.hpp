// Learned absolute positions: a table row for each position, added to the token or multiplied with it (ConvS2S: Gehring
// et al. 2017, "Convolutional Sequence to Sequence Learning", arXiv 1705.03122, section 3.1: e = w + p; Devlin et al.
// 2019, BERT, arXiv 1810.04805, section 3.2; Radford et al. 2019, GPT-2).
//
//   learned/positions  the ids of tokens: past + i + offset as they lie; counted, past + c_i - 1 + offset where c_i is
//                      the number of tokens up to token i and itself among them, and one id for all padding
//   learned/embed      y = factor x + table[position], factor 1 or sqrt(d)
//   learned/multiply   y = x table[position], element by element
//
// Shapes: mask, position [B, n], integers; x, y [B, n, d]; table [N, d]. `offset` is the id of the first token: 0 in
// BERT and GPT-2, 2 in OPT, padding_idx + 1 in fairseq and RoBERTa, whose rule is (cumsum(mask) + past) mask +
// padding_idx. `masked`: padding has the id before the first (fairseq, RoBERTa, OPT), 0 or 1 (GPT-2 as
// huggingface/transformers generates with it). Ids are exact.
//
// Special values: a position outside the table is refused: no row is taken for another. A NaN in a row reaches the
// tokens at its position alone. Gradient of the table: the sum over the tokens at each position, exactly 0 where there
// are none. Errors: of the sum against max(1, |y|), of the product against |y|.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "reference/kinds/attention.hpp"

namespace assay::reference::encodings {

/// How tokens get their ids.
struct position_rule {
  bool counted;
  double past, offset, masked;  ///< masked: the id of padding

  explicit position_rule(const core::attributes& settings)
      : counted(core::chosen<bool>(settings, "rule", {{"counted", true}, {"as_they_lie", false}})),
        past(number(settings, "past")),
        offset(number(settings, "offset")),
        masked(core::chosen<double>(settings, "masked", {{"before_first", offset - 1}, {"zero", 0}, {"one", 1}})) {}
  /// Of the token at a place, so many tokens being there up to it.
  [[nodiscard]] double of(std::size_t place, std::size_t tokens, bool visible) const {
    if (!counted) return past + static_cast<double>(place) + offset;
    return visible ? past + static_cast<double>(tokens) - 1 + offset : masked;
  }

 private:
  static double number(const core::attributes& settings, const char* name) {
    return static_cast<double>(core::setting<std::int64_t>(settings, name));
  }
};

struct learned {
  static constexpr std::string_view name = "learned";
  static core::encoding_summary summary() {
    return {.what = "ids of positions, and a learned row for each",
            .formula = "y_m = x_m + table[position_m]",
            .sources = {{"Devlin et al. 2019", "https://arxiv.org/abs/1810.04805"},
                        {"Gehring et al. 2017", "https://arxiv.org/abs/1705.03122"}},
            .also = {{"ConvS2S", "learned/embed"},
                     {"multiplication in place of the sum", "learned/multiply"},
                     {"ids of BERT, GPT-2, RoBERTa, OPT", "`rule` of learned/positions"}}};
  }

  /// What of a row has a format of its own, in the order of stages().
  enum class stage { output, accumulation };

  /// The steps that variants replace.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    recipe_step<R, double(const position_rule& rule, std::size_t place, std::size_t tokens, bool visible)> position =
        [](const position_rule& rule, std::size_t place, std::size_t tokens, bool visible) {
          return rule.of(place, tokens, visible);
        };
    recipe_step<R, R(const R& token, const R& row)> sum = [](const R& token, const R& row) { return token + row; };
  };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records() {
    return {{.declaration = positions_declaration(),
             .algorithms = one_algorithm,
             .forward = positions<R>,
             .vjp = not_differentiable,
             .jvp = not_offered},
            record_of_rows<R>(embed_declaration(), embed<false, R>),
            record_of_rows<R>(multiply_declaration(), embed<true, R>)};
  }

 private:
  static constexpr double furthest = 0x1p31;
  static core::operation positions_declaration();
  static core::operation embed_declaration();
  static core::operation multiply_declaration();
  template <class R>
  static record<R> record_of_rows(core::operation declaration,
                                  fields<R> (*forward)(const arguments<R>&, const recipe<R>&)) {
    return {.declaration = std::move(declaration),
            .algorithms = one_algorithm,
            .forward = forward,
            .vjp = derived_vjp<learned, R>,
            .jvp = not_offered};
  }
  template <class R>
  static fields<R> positions(const arguments<R>& call, const recipe<R>& how);
  template <bool multiplied, class R>
  static fields<R> embed(const arguments<R>& call, const recipe<R>& how);
};

inline core::operation learned::positions_declaration() {
  return {
      .name = "learned/positions",
      .source = "facebookresearch/fairseq, make_positions; huggingface/transformers, OPTLearnedPositionalEmbedding",
      .inputs = {core::integers("mask", {"B", "n"}, "1: a token, 0: padding", {0.0, 1.0}, core::input_role::value)},
      .outputs = {core::integers("position", {"B", "n"}, "the id of each token", {-1.0, 0x1p33},
                                 core::input_role::value)},
      .attributes = {choice("rule", {"counted", "as_they_lie"}, "tokens are counted, or places, padding among them"),
                     integer("offset", {2, 0, 1, 5}, {0, furthest}, "the id of the first token"),
                     choice("masked", {"before_first", "zero", "one"}, "the id of padding where tokens are counted"),
                     integer("past", {0, 3, 1000}, {0, furthest}, "tokens before the first one")}};
}

/// The backward of torch.nn.Embedding adds up in the dtype of the table on a CPU.
inline core::operation learned::embed_declaration() {
  core::tensor_declaration position =
      core::integers("position", {"B", "n"}, "the row of each token", {0.0, furthest}, core::input_role::value);
  position.index_into = "N";
  return {
      .name = "learned/embed",
      .source = "Devlin et al. 2019, arXiv 1810.04805, section 3.2; Gehring et al. 2017, arXiv 1705.03122, section 3.1",
      .inputs = {{.name = "x", .axes = {"B", "n", "d"}, .meaning = "tokens"},
                 core::parameter("table", {"N", "d"}, "a row for each position"),
                 std::move(position)},
      .outputs = {{.name = "y", .axes = {"B", "n", "d"}, .meaning = "tokens with their positions"}},
      .attributes = {choice("input_factor", {"one", "sqrt"},
                            "what tokens are multiplied by: 1, or sqrt(d) (Vaswani et al. 2017, section 3.4)")},
      .stages = {{.name = "output", .meaning = "the token times its factor, and y", .narrow = true},
                 {.name = std::string(core::accumulation),
                  .meaning = "the sums in the gradient of the table",
                  .narrow = true}},
      .axis_roles = {{"N", core::axis_role::parameter}}};
}

inline core::operation learned::multiply_declaration() {
  core::operation multiply = embed_declaration();
  multiply.name = "learned/multiply";
  multiply.source = "Su 2021, kexue.fm/archives/8130: x_k times p_k";
  multiply.attributes.clear();
  multiply.outputs.front().meaning = "tokens times their positions";
  multiply.outputs.front().scale = core::error_scale::relative;
  multiply.named_only = true;
  return multiply;
}

template <class R>
fields<R> learned::positions(const arguments<R>& call, const recipe<R>& how) {
  const auto& mask = call.integers.at("mask").values;
  const position_rule rule(call.settings);
  field<R> position = make_field<R>({mask.shape(0), mask.shape(1)});
  for (std::size_t b = 0; b < mask.shape(0); ++b)
    for (std::size_t i = 0, tokens = 0; i < mask.shape(1); ++i) {
      const bool visible = mask(b, i) != 0.0;
      tokens += visible ? 1 : 0;
      position(b, i) = index_number<R>(how.position(rule, i, tokens, visible));
    }
  return {{"position", std::move(position)}};
}

template <bool multiplied, class R>
fields<R> learned::embed(const arguments<R>& call, const recipe<R>& how) {
  const field<R>&x = call["x"], &table = call["table"];
  const auto& position = call.integers.at("position").values.storage();
  const std::size_t d = x.shape(2);
  const double last = static_cast<double>(table.shape(0)) - 1;
  field<R> y = make_field<R>({x.shape(0), x.shape(1), d});
  if (y.size() == 0 || last < 0) return {{"y", std::move(y)}};
  const auto times = [](const R& u, const R& v) { return u * v; };
  std::string factor = "one";
  if constexpr (!multiplied) factor = call.template setting<std::string>("input_factor");
  const double root = std::round(std::sqrt(static_cast<double>(d)));
  // The root of a square is an integer, and a sum may then lie halfway between two numbers: no interval decides that.
  const R by = factor == "sqrt" && root * root == static_cast<double>(d) ? from_integer<R>(root)
                                                                         : factor_in<R>(stage::output, factor, d);
  for (std::size_t k = 0; k < position.size(); ++k) {
    // A request with another position is refused; what a mutant makes of one stays inside the table.
    const R* row = table.data() + static_cast<std::size_t>(std::clamp(position[k], 0.0, last)) * d;
    for (std::size_t c = k * d; c < (k + 1) * d; ++c, ++row) {
      R& out = y.data()[c];
      if constexpr (multiplied) {
        out = in_stage<R>(stage::output, times, x.data()[c], *row);
      } else {
        out = factor == "one" ? x.data()[c] : in_stage<R>(stage::output, times, x.data()[c], by);
        out = in_stage<R>(stage::output, how.sum, out, *row);
      }
    }
  }
  return {{"y", std::move(y)}};
}

}  // namespace assay::reference::encodings
