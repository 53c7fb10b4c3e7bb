// Learned absolute positions: a table row for each position, added to the token or multiplied by it (ConvS2S: Gehring
// et al. 2017, "Convolutional Sequence to Sequence Learning", arXiv 1705.03122, section 3.1: e = w + p; Devlin et al.
// 2019, BERT, arXiv 1810.04805, section 3.2; Radford et al. 2019, GPT-2).
//
//   learned/positions  the ids of tokens. As they lie: past + i + offset. Counted: past + c_i - 1 + offset, where c_i
//                      is the number of tokens up to and including token i, and one id for all padding
//   learned/embed      y = factor x + table[position], factor 1 or sqrt(d)
//   learned/multiply   y = x table[position], element by element
//
// Shapes: mask, position [B, n], integers; x, y [B, n, d]; table [N, d]. `offset` is the id of the first token: 0 in
// BERT and GPT-2, 2 in OPT, padding_idx + 1 in fairseq and RoBERTa, whose rule is (cumsum(mask) + past) mask +
// padding_idx. `masked`: padding has the id before the first one (fairseq, RoBERTa, OPT), or 0, or 1 (GPT-2 in
// generation by huggingface/transformers). Ids are exact.
//
// Special values: a position outside the table is refused: no row is taken for another. A NaN in a row reaches only the
// tokens at its position. Gradient of the table: the sum over the tokens at each position, exactly 0 where there are
// none. Errors: those of the sum are measured against max(1, |y|), those of the product against |y|.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "reference/kinds/recorded_call.hpp"

namespace assay::reference::encodings {

/// The rule that gives tokens their ids.
struct position_rule {
  using index = formula::traced_integer;
  bool counted;
  std::int64_t past, offset, masked;  ///< `masked` is the id of padding

  explicit position_rule(const core::attributes& settings)
      : counted(core::chosen<bool>(settings, "rule", {{"counted", true}, {"as_they_lie", false}})),
        past(core::setting<std::int64_t>(settings, "past")),
        offset(core::setting<std::int64_t>(settings, "offset")),
        masked(
            core::chosen<std::int64_t>(settings, "masked", {{"before_first", offset - 1}, {"zero", 0}, {"one", 1}})) {}
  /// The ids of tokens at these places; `tokens` is the number of tokens up to each place.
  [[nodiscard]] index ids(const index& places, const index& tokens, const formula::traced_truth& visible) const {
    if (!counted) return places + index::constant(past + offset);
    return either(visible, tokens + index::constant(past - 1 + offset), index::constant(masked));
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

  /// The parts of a row that have a format of their own, in the order of stages().
  enum class stage { output, accumulation };

  using traced = formula::traced;
  using index = formula::traced_integer;
  /// The steps that variants replace.
  struct scheme : recorded_scheme<scheme> {
    std::function<index(const position_rule& rule, const index& places, const index& tokens,
                        const formula::traced_truth& visible)>
        position = [](const position_rule& rule, const index& places, const index& tokens,
                      const formula::traced_truth& visible) { return rule.ids(places, tokens, visible); };
    std::function<traced(const traced& token, const traced& row)> sum = [](const traced& token, const traced& row) {
      return token + row;
    };
  };
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{positions_declaration(), positions}, {embed_declaration(), embed}, {multiply_declaration(), multiply}};
  }

 private:
  static constexpr double furthest = 0x1p31;
  static core::operation positions_declaration();
  static core::operation embed_declaration();
  static core::operation multiply_declaration();
  static formula::program positions(const scheme& steps, const formula::program_sizes& call);
  static formula::program embed(const scheme& steps, const formula::program_sizes& call);
  static formula::program multiply(const scheme& steps, const formula::program_sizes& call);
  static traced row_of_each_token(const recorded_call& in);
};

inline core::operation learned::positions_declaration() {
  return {.name = "learned/positions",
          .source = "facebookresearch/fairseq, make_positions; huggingface/transformers, OPTLearnedPositionalEmbedding",
          .inputs = {core::integers("mask", {"B", "n"}, "1: a token, 0: padding", {0.0, 1.0}, core::input_role::value)},
          .outputs = {core::integers("position", {"B", "n"}, "the id of each token", {-1.0, 0x1p33},
                                     core::input_role::value)},
          .attributes = {
              choice("rule", {"counted", "as_they_lie"}, "what is counted: tokens without padding, or all places"),
              integer("offset", {2, 0, 1, 5}, {0, furthest}, "id of the first token"),
              choice("masked", {"before_first", "zero", "one"},
                     "id of padding where tokens are counted: offset - 1, 0, or 1"),
              integer("past", {0, 3, 1000}, {0, furthest}, "how many tokens came before the first one")}};
}

/// On a CPU, the backward pass of torch.nn.Embedding adds up in the dtype of the table.
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

inline formula::program learned::positions(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const index none = index::constant(0);
  const formula::traced_truth visible = !equal(in.integers("mask"), none);
  const index tokens = cumulative_sum(either(visible, index::constant(1), none), 1);
  return in.finish(steps.position(position_rule(call.settings), formula::counted(in.size("n")), tokens, visible));
}

/// The row of each token, [B, n, d]. A request with a position outside the table is refused; a call that a mutant makes
/// from it stays inside the table.
inline learned::traced learned::row_of_each_token(const recorded_call& in) {
  const traced table = in["table"];
  const index position = in.integers("position");
  const std::size_t rows = in.size("N");
  if (rows == 0) return broadcast(traced(0.0), {in.size("B"), in.size("n"), in.size("d")});  // there is no token
  return gathered(table, clamp(position, 0, static_cast<std::int64_t>(rows) - 1), 0);
}

inline formula::program learned::embed(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const auto width = static_cast<double>(in.size("d")), root = std::round(std::sqrt(width));
  const bool is_scaled = core::chosen<bool>(call.settings, "input_factor", {{"one", false}, {"sqrt", true}});
  const traced x = in["x"], row = row_of_each_token(in);
  return in.finish(in_stage<traced>(stage::output, [&] {
    if (!is_scaled || width == 0) return steps.sum(x, row);
    // If the width is a square, its root is an integer, and a sum may lie halfway between two numbers: no interval
    // decides that.
    return steps.sum(x * (root * root == width ? traced::from_integer(root) : power(traced(width), ratio(1, 2))), row);
  }));
}

inline formula::program learned::multiply(const scheme&, const formula::program_sizes& call) {
  recorded_call in(call);
  const traced x = in["x"], row = row_of_each_token(in);
  return in.finish(in_stage<traced>(stage::output, [&] { return x * row; }));
}

}  // namespace assay::reference::encodings
