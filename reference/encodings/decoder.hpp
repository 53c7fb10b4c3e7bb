// Attention as decoders of language models call it, in one piece, with everything around the product of queries and
// keys.
//
// Queries are the last n of m tokens, n <= m, so that each query sees at least its own key.
//
// `decoder/attention`: all settings of kernels together, as models and the score and mask modifications of
// FlexAttention (Dong et al. 2024, arXiv 2412.05496) combine them. In this order:
//   1. queries and keys are divided by the root of the mean of their squares and `epsilon`, and multiplied by a weight
//      of each feature, w or 1 + w, for each head (Qwen3: huggingface/transformers, Qwen3Attention; Gemma 3: 1 + w);
//      `norm` "after": this comes after the rotation (Llama 4, without weights)
//   2. rotation by position (Su et al. 2021, arXiv 2104.09864)
//   3. queries times a temperature of p = position + 1: "log_n", log p / log L0 where p > L0, else 1 (Qwen); or
//      "floored", 1 + 0.1 log(floor(p / L0) + 1) (Llama 4; Nakanishi 2025, arXiv 2501.19399)
//   4. logits s = scale q . k, capped as c tanh(s / c)
//   5. minus slope |distance| where `alibi` is set (Press et al. 2022, arXiv 2108.12409)
//   6. hidden keys: those after the query, outside its window or chunk, or of another document
//   7. softmax, with a sink where `sinks` is set; then the sum of values
// The caller decides how positions count in a document. If they begin again in each document, only temperatures change:
// rotations and biases depend on differences. Windows and chunks count tokens as they lie. Documents are any integers;
// packed batches (cu_seqlens) have one for each sequence, and padding has its own.
//
// `decoder/latent`: multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, eqs. 10 to 19): keys and values of all
// heads are made from a latent c of each token, and all heads share the rotated part of the key:
//   s_ij = scale (q_i . U_k c_j + R(i) q'_i . R(j) k'_j),  o_i = sum_j P_ij U_v c_j
// The matrices may be multiplied into queries and outputs ("absorbed", deepseek-ai/DeepSeek-V3): the allowance is the
// larger of both.
//
// `decoder/paged`: keys and values lie in pages of s tokens; row b has the pages of its table, with `length` tokens
// (Kwon et al. 2023, vLLM, arXiv 2309.06180). Numbers in pages that no row uses reach nothing, whatever they are. A
// number after the last token of a row reaches nothing if it is finite: 0 times NaN is NaN in some programs. Rows may
// share pages: then their gradients are added up. A query before the first token gives 0. With a length above t s, a
// row has only the tokens of the table, and queries stand after them; no case is judged there.
//
// Special values: NaN reaches the queries that may see it. Errors are those of attention (kinds/attention.hpp) and of
// rotations (kinds/rotation.hpp).
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/kinds/grouped_attention.hpp"
#include "reference/kinds/normalized_rows.hpp"
#include "reference/kinds/rotation.hpp"
#include "reference/kinds/temperature.hpp"

namespace assay::reference::encodings {

struct decoder {
  static constexpr std::string_view name = "decoder";
  static core::encoding_summary summary() {
    return {.what = "attention as decoders call it: norms, rotation, temperature, packed and paged, latent keys",
            .formula = "o_i = softmax_j(tau_i scale R_i norm(q_i) . R_j norm(k_j) - slope |i - j|) v_j",
            .sources = {{"Dong et al. 2024", "https://arxiv.org/abs/2412.05496"},
                        {"DeepSeek-AI 2024", "https://arxiv.org/abs/2405.04434"},
                        {"Kwon et al. 2023", "https://arxiv.org/abs/2309.06180"}},
            .also = {{"norms of queries and keys (Qwen3, Gemma 3)", "`norm` of decoder/attention"},
                     {"packed batches, cu_seqlens", "`document` of decoder/attention"},
                     {"log-n temperature (Qwen), Llama 4's", "`temperature` of decoder/attention"},
                     {"multi-head latent attention, MLA (DeepSeek)", "decoder/latent"},
                     {"a cache of keys in pages (vLLM)", "decoder/paged"}}};
  }

  using traced = formula::traced;
  using traced_truth = formula::traced_truth;
  using index = formula::traced_integer;
  /// The stages after those of attention, in their order: roots of means of squares, weights of norms, angles, tables
  /// of cosines, and products with them.
  enum class stage { root = 4, norm, angle, table, turned };
  /// The steps that variants replace.
  struct scheme : grouped_scheme, rotation_scheme, recorded_scheme<scheme> {
    std::function<traced(const traced& x, const traced& epsilon, bool is_of_gradient)> root =
        [](const traced& x, const traced& epsilon, bool is_of_gradient) {
          return over_root(square_norm::mean, x, epsilon, is_of_gradient);
        };
    /// The temperature of queries at the places p = position + 1.
    std::function<traced(const index& places, const std::string& rule, std::int64_t trained)> temperature =
        temperature_of;
    std::function<traced(const traced& slope, const index& distance)> bias =
        [](const traced& slope, const index& distance) { return -(slope * index_number(magnitude_of(distance))); };
    std::function<traced_truth(const index& query_documents, const index& key_documents)> same_document =
        [](const index& query_documents, const index& key_documents) { return equal(query_documents, key_documents); };
    /// Whether queries are multiplied into the space of latents, or keys and values are made from latents. The other
    /// gradient uses the former.
    bool absorbed = false;
    /// Whether a token exists, by its place and the length of its row.
    std::function<traced_truth(const index& places, const index& length)> is_there =
        [](const index& places, const index& length) { return less(places, length); };
  };
  static std::vector<recorded_formula<scheme>> formulas() {
    return {{attention_declaration(), attention, {accuracy_class::sequential}, 1},
            {latent_declaration(), latent, {accuracy_class::sequential}, 1},
            {paged_declaration(), paged, {accuracy_class::sequential}, 1}};
  }
  static traced temperature_of(const index& places, const std::string& rule, std::int64_t trained);

 private:
  static core::operation attention_declaration();
  static core::operation latent_declaration();
  static core::operation paged_declaration();
  static traced normalized(const scheme& steps, const recorded_call& in, const traced& x, const traced& weights);
  /// x rotated by positions [B, 1, ., 1].
  static traced turned_by(const scheme& steps, const recorded_call& in, const traced& x, const index& positions);
  /// Queries or keys as they enter the product, at their positions [B, .].
  static traced prepared(const scheme& steps, const recorded_call& in, const traced& rows, const traced& weights,
                         const index& positions);
  /// The part of numbers of tokens [B, m] that belongs to the queries, the last n tokens: [B, n].
  static index part_of_queries(const recorded_call& in, const index& numbers_of_tokens) {
    return between(numbers_of_tokens, 1, in.size("m") - in.size("n"), in.size("m"));
  }
  static formula::program attention(const scheme& steps, const formula::program_sizes& call);
  static formula::program latent(const scheme& steps, const formula::program_sizes& call);
  static formula::program paged(const scheme& steps, const formula::program_sizes& call);
};

namespace decoder_declarations {

inline core::tensor_declaration tokens(const char* called, const char* meaning, core::value_domain within,
                                       core::input_role role) {
  return core::integers(called, {"B", "m"}, meaning, within, role);
}
inline core::tensor_declaration positions() {
  return tokens("position", "positions of all tokens; queries are the last of them", {0.0, 0x1p31},
                core::input_role::position);
}
inline std::string conflict_of_queries(const core::axis_sizes& sizes) {
  if (sizes.at("n") <= sizes.at("m")) return {};
  return "n = " + std::to_string(sizes.at("n")) + " queries are more than the m = " + std::to_string(sizes.at("m")) +
         " tokens; queries are the last of these tokens";
}
inline core::attribute_declaration causal() { return query_places::declared(true).front(); }
inline core::attribute_declaration base() {
  return real("base", {10000.0, 1e6}, {1.0, 0x1p60}, "b of the frequencies b^(-t/r)");
}
inline std::vector<core::stage_declaration> stages() {
  std::vector<core::stage_declaration> all = attention_stages();
  for (const core::stage_declaration& s : std::vector<core::stage_declaration>{
           {.name = "root", .meaning = "means of squares, their roots, and what is divided by them"},
           {.name = "norm", .meaning = "the same times weights", .narrow = true},
           {.name = "angle", .meaning = "frequencies, m theta, and temperatures"},
           {.name = "table", .meaning = "cosines and sines of the angles", .narrow = true},
           {.name = "turned", .meaning = "what is turned, and times a temperature", .narrow = true}})
    all.push_back(s);
  return all;
}

}  // namespace decoder_declarations

inline core::operation decoder::attention_declaration() {
  constexpr double largest = std::numeric_limits<double>::max();
  core::operation op = attention_operation("decoder/attention", "m");
  op.source = "Dong et al. 2024, FlexAttention, arXiv 2412.05496; huggingface/transformers";
  op.inputs.front().axes[1] = op.outputs.front().axes[1] = "h*u";
  for (core::tensor_declaration& d : std::vector<core::tensor_declaration>{
           core::parameter("query_norm", {"d"}, "weights of normalised queries"),
           core::parameter("key_norm", {"d"}, "weights of normalised keys"),
           core::parameter("slope", {"h*u"}, "what a token of distance takes from a logit, where `alibi`"),
           core::parameter("sink", {"h*u"}, "logits of a key without a value, where `sinks`; -inf: there is none",
                           {.low = -largest, .high = largest, .minus_infinity = true}),
           decoder_declarations::positions(),
           decoder_declarations::tokens("document",
                                        "the document of each token; a query sees only tokens of its own document",
                                        {-0x1p31, 0x1p31}, core::input_role::value)})
    op.inputs.push_back(std::move(d));
  const std::vector<core::attribute_declaration> own{
      choice("norm", {"before", "after", "none"},
             "where queries and keys are normalised: before they are turned, after that, or nowhere"),
      choice("norm_weight", {"given", "one_plus", "none"}, "what normalised rows are multiplied by: w, 1 + w, or 1"),
      real("epsilon", {1e-6, 1e-5}, {0x1p-60, 1.0}, "what is added to the mean of squares"),
      choice("layout", {"half_split", "interleaved", "none"},
             "which coordinates of r pairs turn together: t and t + r, or 2t and 2t + 1; none: nothing turns"),
      decoder_declarations::base(),
      rotary_setting(),
      choice("temperature", {"none", "log_n", "floored"},
             "what queries are multiplied by at p = position + 1: 1; log p / log L0 where p is above L0, else 1; or "
             "1 + 0.1 log(floor(p / L0) + 1)"),
      integer("trained_length", {8192, 3}, {2.0, 0x1p31}, "L0 of the temperature, in tokens"),
      group_setting(),
      decoder_declarations::causal(),
      softcap_setting(),
      flag("alibi", false, "whether slope |distance of positions| is subtracted from the logits"),
      flag("sinks", false, "whether the softmax has one more logit, of no value")};
  op.attributes.insert(op.attributes.end(), own.begin(), own.end());
  for (const core::attribute_declaration& a : query_places::windows_declared()) op.attributes.push_back(a);
  op.axis_roles = {{"u", core::axis_role::parameter}};
  op.stages = decoder_declarations::stages();
  op.conflict = [](const core::attributes& settings, const core::axis_sizes& sizes) {
    const std::string conflict = decoder_declarations::conflict_of_queries(sizes);
    return conflict.empty() ? conflict_of_pairs(turning_pairs(sizes.at("d"), settings), "rotary = ", sizes) : conflict;
  };
  op.grows_with = core::with_keys;
  op.independent = {"B"};
  op.named_only = true;
  return op;
}

inline core::operation decoder::latent_declaration() {
  core::operation op = attention_operation("decoder/latent", "m");
  op.source = "DeepSeek-AI 2024, arXiv 2405.04434, eqs. (10) to (19); deepseek-ai/DeepSeek-V3, inference/model.py";
  op.inputs = {{.name = "q", .axes = {"B", "h", "n", "d"}, .meaning = "parts of queries without positions"},
               {.name = "q_turned", .axes = {"B", "h", "n", "2r"}, .meaning = "parts of queries that turn"},
               {.name = "latent", .axes = {"B", "m", "l"}, .meaning = "what keys and values are made of"},
               {.name = "k_turned", .axes = {"B", "m", "2r"}, .meaning = "parts of keys that turn, of all heads"},
               core::parameter("key_up", {"h", "d", "l"}, "latents to keys"),
               core::parameter("value_up", {"h", "e", "l"}, "latents to values"),
               decoder_declarations::positions()};
  op.attributes.front().meaning = "what logits are multiplied by: 1 / sqrt(d + 2r), or 1";
  for (const core::attribute_declaration& a :
       {rotary_layout::declared(), decoder_declarations::base(), decoder_declarations::causal(),
        real("logit_factor", {1.0, 1.8738542070926265}, {0x1p-20, 0x1p20},
             "one more factor of all logits: mscale^2, where DeepSeek extends the context")})
    op.attributes.push_back(a);
  op.axis_roles = {{"l", core::axis_role::width}};
  op.stages = decoder_declarations::stages();
  op.conflict = [](const core::attributes&, const core::axis_sizes& sizes) {
    return decoder_declarations::conflict_of_queries(sizes);
  };
  op.grows_with = core::with_keys;
  op.independent = {"B"};
  return op;
}

inline core::operation decoder::paged_declaration() {
  core::operation op = attention_operation("decoder/paged", "m");
  op.source = "Kwon et al. 2023, arXiv 2309.06180, section 4.1; vllm-project/vllm, Dao-AILab/flash-attention";
  const auto pages = [](const char* called, const char* width, const char* meaning) {
    return core::parameter(called, {"P", "s", "h", width}, meaning);
  };
  core::tensor_declaration table =
      core::integers("table", {"B", "t"}, "which page has the tokens s t, s t + 1, ... of a row", {0.0, 0x1p31},
                     core::input_role::value);
  table.index_into = "P";
  op.inputs = {op.inputs.front(), pages("key_pages", "d", "keys, by page and place"),
               pages("value_pages", "e", "values, by page and place"), std::move(table),
               core::integers("length", {"B"}, "how many tokens a row has; queries are the last of them", {0.0, 0x1p31},
                              core::input_role::value)};
  op.inputs.front().axes[1] = op.outputs.front().axes[1] = "h*u";
  for (const core::attribute_declaration& a :
       {integer("page_size", {2, 1, 16}, {1.0, 0x1p20}, "how many tokens a page has", "s"), group_setting(),
        decoder_declarations::causal(), query_places::windows_declared().front()})
    op.attributes.push_back(a);
  op.axis_roles = {{"u", core::axis_role::parameter},
                   {"P", core::axis_role::parameter},
                   {"s", core::axis_role::parameter},
                   {"t", core::axis_role::key}};
  op.grows_with = core::with_keys;
  return op;
}

inline decoder::traced decoder::temperature_of(const index& places, const std::string& rule, std::int64_t trained) {
  const index length = index::constant(trained);
  if (rule == "log_n") return logarithmic_temperature(places, length);
  return temperature_of_step(floor_divide(places, length), formula::setting(0.1));
}

inline decoder::traced decoder::normalized(const scheme& steps, const recorded_call& in, const traced& x,
                                           const traced& w) {
  const auto by = in.setting<std::string>("norm_weight");
  const traced made =
      in_stage<traced>(stage::root, [&] { return steps.root(x, in.number("epsilon"), in.is_of_gradient()); });
  if (by == "none") return made;
  return in_stage<traced>(stage::norm, [&] {
    return taken_from(static_cast<std::size_t>(stage::root), made) * (by == "one_plus" ? traced(1.0) + w : w);
  });
}

inline decoder::traced decoder::turned_by(const scheme& steps, const recorded_call& in, const traced& x,
                                          const index& positions) {
  const std::size_t width = shape_of(x)[3];
  const rotary_layout layout(in.settings(), width, turning_pairs(width, in.settings()));
  if (layout.pairs == 0) return x;
  const traced angle = in_stage<traced>(stage::angle, [&] {
    const traced base = in.number("base"), theta = geometric_frequencies(base, layout.pairs, layout.pairs);
    return to_real(positions) * or_products_of_factors(theta, base, layout.pairs);
  });
  const traced_rotation by = in_stage<traced>(stage::table, [&] { return traced_rotation(angle); });
  return in_stage<traced>(stage::turned, [&] { return turned_features(steps, x, layout, by); });
}

inline decoder::traced decoder::prepared(const scheme& steps, const recorded_call& in, const traced& rows,
                                         const traced& weights, const index& positions) {
  const auto norm = in.setting<std::string>("norm");
  traced x = rows;
  if (norm == "before") x = normalized(steps, in, x, weights);
  if (in.setting<std::string>("layout") != "none") {
    const core::shape s = shape_of(positions);
    x = turned_by(steps, in, x, reshaped(positions, {s[0], 1, s[1], 1}));
  }
  return norm == "after" ? normalized(steps, in, x, weights) : x;
}

inline formula::program decoder::attention(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  // Settings can switch parts off; the inputs of these parts still exist, and have gradients of 0.
  const traced query_norm = in["query_norm"], key_norm = in["key_norm"], slope = in["slope"], sink = in["sink"];
  const std::size_t rows = in.size("B"), heads = in.size("h") * in.size("u"), n = in.size("n"), m = in.size("m");
  const index positions = in.integers("position"), documents = in.integers("document"),
              own = reshaped(part_of_queries(in, positions), {rows, 1, n, 1});
  traced q = prepared(steps, in, in["q"], query_norm, part_of_queries(in, positions));
  const traced k = prepared(steps, in, in["k"], key_norm, positions), v = in["v"];
  if (const auto rule = in.setting<std::string>("temperature"); rule != "none") {
    const traced by = in_stage<traced>(stage::angle, [&] {
      return steps.temperature(own + index::constant(1), rule, in.setting<std::int64_t>("trained_length"));
    });
    q = in_stage<traced>(stage::turned, [&] { return q * by; });
  }
  const core::shape shape_of_pairs{rows, heads, n, m};
  const traced_truth seen = broadcast(formula::known_truths({n, m}, recorded_places(in).all_seen()), shape_of_pairs) &&
                            broadcast(steps.same_document(reshaped(part_of_queries(in, documents), {rows, 1, n, 1}),
                                                          reshaped(documents, {rows, 1, 1, m})),
                                      shape_of_pairs);
  const traced logits = in_stage<traced>(attention_stage::scores, [&] {
    const traced s = steps.logit(products_of_groups(q, k, "id,jd->ij", steps.adds_by_heads(in), {.sums = &seen}),
                                 traced(0.0), factor_of_logits(in.setting<std::string>("scale"), in.size("d")));
    const double cap = in.setting<double>("softcap");
    const traced capped = cap == 0.0 ? s : soft_capped(s, formula::setting(cap));
    if (!in.setting<bool>("alibi")) return capped;
    return capped + steps.bias(reshaped(slope, {heads, 1, 1}), reshaped(positions, {rows, 1, 1, m}) - own);
  });
  const reading_of_weights read = [&](const traced& weights) {
    return products_of_groups(weights, v, "ij,jc->ic", steps.adds_by_heads(in), {.terms = &seen});
  };
  return in.finish(in.setting<bool>("sinks") ? attended_beside_sink(steps, in, logits, seen, sink, read)
                                             : attended(steps, in, logits, seen, read));
}

inline formula::program decoder::latent(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const std::size_t rows = in.size("B"), n = in.size("n"), m = in.size("m");
  const index positions = in.integers("position");
  const traced latents = in["latent"], key_up = in["key_up"], value_up = in["value_up"], q = in["q"];
  const bool absorbed = steps.absorbed || in.is_other_gradient();
  const traced_truth seen = seen_of(in, seen_by_last_queries(n, m, in.setting<bool>("causal")));
  const traced q_turned =
                   turned_by(steps, in, in["q_turned"], reshaped(part_of_queries(in, positions), {rows, 1, n, 1})),
               k_turned = turned_by(steps, in, reshaped(in["k_turned"], {rows, 1, m, 2 * in.size("r")}),
                                    reshaped(positions, {rows, 1, m, 1}));
  const auto products_by_keys = [&] {
    return contracted_at(seen, q, contracted(latents, key_up, "bjl,hdl->bhjd"), "bhid,bhjd->bhij");
  };
  const auto products_by_latents = [&] {
    return contracted_at(seen, contracted(q, key_up, "bhid,hdl->bhil"), latents, "bhil,bjl->bhij");
  };
  const traced logits = in_stage<traced>(attention_stage::scores, [&] {
    const traced products = absorbed              ? products_by_latents()
                            : in.is_of_gradient() ? products_by_keys()
                                                  : covering(products_by_keys(), products_by_latents);
    const traced turned_ones =
        contracted_at(seen, q_turned, reshaped(k_turned, {rows, m, 2 * in.size("r")}), "bhid,bjd->bhij");
    const traced scale =
        factor_of_logits(in.setting<std::string>("scale"), in.size("d") + 2 * in.size("r")) * in.number("logit_factor");
    return steps.logit(products + turned_ones, traced(0.0), scale);
  });
  const reading_of_weights read = [&](const traced& weights) {
    const auto by_values = [&] {
      return contracted_where(seen, weights, contracted(latents, value_up, "bjl,hel->bhje"), "bhij,bhje->bhie");
    };
    const auto by_latents = [&] {
      return contracted(contracted_where(seen, weights, latents, "bhij,bjl->bhil"), value_up, "bhil,hel->bhie");
    };
    return absorbed ? by_latents() : in.is_of_gradient() ? by_values() : covering(by_values(), by_latents);
  };
  return in.finish(attended(steps, in, logits, seen, read));
}

inline formula::program decoder::paged(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const std::size_t rows = in.size("B"), heads = in.size("h"), n = in.size("n"), pages = in.size("P"),
                    m = in.size("t") * in.size("s");
  const traced q = in["q"], key_pages = in["key_pages"], value_pages = in["value_pages"];
  const index given = in.integers("table"), length = reshaped(in.integers("length"), {rows, 1, 1, 1});
  if (pages == 0 || m == 0) return in.finish(traced(0.0));  // no row has a token
  const index table = clamp(given, 0, static_cast<std::int64_t>(pages) - 1),
              places = reshaped(formula::counted(m), {1, 1, 1, m}),
              own =
                  reshaped(formula::counted(n), {1, 1, n, 1}) + length - index::constant(static_cast<std::int64_t>(n));
  const auto rows_in_pages = [&](const traced& in_pages, std::size_t width) {
    return transposed(reshaped(gathered(in_pages, table, 0), {rows, m, heads, width}), {0, 2, 1, 3});
  };
  const traced k = rows_in_pages(key_pages, in.size("d")), v = rows_in_pages(value_pages, in.size("e"));
  const core::shape shape_of_pairs{rows, heads * in.size("u"), n, m};
  traced_truth seen = broadcast(steps.is_there(places, length), shape_of_pairs) &&
                      broadcast(!less(own, index::constant(0)), shape_of_pairs);
  if (in.setting<bool>("causal")) seen = seen && broadcast(!less(own, places), shape_of_pairs);
  if (const auto left = in.setting<std::int64_t>("window_left"); left >= 0)
    seen = seen && broadcast(!less(places, own - index::constant(left)), shape_of_pairs);
  const traced logits = in_stage<traced>(attention_stage::scores, [&] {
    return steps.logit(products_of_groups(q, k, "id,jd->ij", steps.adds_by_heads(in), {.sums = &seen}), traced(0.0),
                       factor_of_logits(in.setting<std::string>("scale"), in.size("d")));
  });
  return in.finish(attended(steps, in, logits, seen, [&](const traced& weights) {
    return products_of_groups(weights, v, "ij,jc->ic", steps.adds_by_heads(in), {.terms = &seen});
  }));
}

}  // namespace assay::reference::encodings
