// The relative scores of TENER (Yan, Deng, Li and Qiu, "TENER: Adapting Transformer Encoder for Named Entity
// Recognition", 2019, arXiv 1911.04474): those of Transformer-XL (transformer_xl.hpp) in both directions, with
// sinusoids for keys of distances, which are not projected, and without a factor,
//
//   s_ij = (q_i + u) . k_j + (q_i + v) . R_{i - j}
//   R_t = [sin(t theta_0), ..., sin(t theta_{r-1}), cos(t theta_0), ..., cos(t theta_{r-1})]
//
// in the order of the program; eq. (11) has sines and cosines by turns. `terms`: "paper" as above; "code",
// RelativeMultiHeadAttn of fastnlp/TENER (modules/relative_transformer.py), has R_{j - i} for queries, and k_j . R_{i -
// j} besides. Shapes: q, k [B, h, n, d]; u, v [h, d] (r_r_bias and r_w_bias there); s [B, h, n, n]; r = floor(d / 2), a
// last column of odd d is 0. `rule` of the frequencies: 10000^(-t / (r - 1)), the program's, or the paper's 10000^(-t /
// r). `scale`: 1, or 1 / sqrt(d), which the program has as an option.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/algorithms/frequencies.hpp"
#include "reference/algorithms/sinusoidal_columns.hpp"
#include "reference/kinds/relative_scores.hpp"

namespace assay::reference::encodings {

struct tener {
  static constexpr std::string_view name = "tener";
  static core::encoding_summary summary() {
    return {.what = "scores with sinusoids for keys of distances",
            .formula = "s_ij = (q_i + u) . k_j + (q_i + v) . R_{i-j}",
            .sources = {{"Yan et al. 2019", "https://arxiv.org/abs/1911.04474"}}};
  }

  /// Its stages: those of scores, and the table.
  enum class stage { scores, accumulation, table };

  /// The steps that variants replace.
  template <class R>
  struct recipe : score_steps<R>, differentiable_recipe<recipe, R> {
    /// The distance of the row of R that query i has with key j.
    recipe_step<R, std::int64_t(std::int64_t i, std::int64_t j)> distance = [](std::int64_t i, std::int64_t j) {
      return i - j;
    };
    recipe_step<R, R(const R& base, std::size_t t, std::size_t steps)> frequency = geometric_frequency<R>;
  };

  template <class R>
  static std::vector<operation_record<R, recipe<R>>> records() {
    return {query_rows_record<score_rows, R>(declaration())};
  }

 private:
  static core::operation declaration();
  template <class R>
  struct score_rows;
};

inline core::operation tener::declaration() {
  core::operation scores = relative_scores("tener/scores", "n");
  scores.source = "Yan et al. 2019, arXiv 1911.04474";
  add_vectors_of_heads(scores,
                       {{"u", "added to queries that meet keys"}, {"v", "added to queries that meet distances"}});
  scores.attributes = {choice("terms", {"code", "paper"}, "R_{j - i} for queries and R_{i - j} for keys, or R_{i - j}"),
                       choice("rule", {"tensor2tensor", "paper"}, "exponents -t / (r - 1) or -t / r"),
                       choice("scale", {"one", "inverse_sqrt"}, "factor of all")};
  scores.stages.push_back({.name = "table", .meaning = "frequencies, angles, sines and cosines"});
  return scores;
}

template <class R>
struct tener::score_rows {
  using recipe = tener::recipe<R>;
  const field<R>&q, &k, &u, &v;
  const recipe& how;
  bool scaled, as_in_code;
  std::size_t n, heads, width;
  std::vector<R> table{};  ///< rows of the distances 1 - n to n - 1

  score_rows(const arguments<R>& call, const recipe& steps)
      : q(call["q"]),
        k(call["k"]),
        u(call["u"]),
        v(call["v"]),
        how(steps),
        scaled(core::chosen<bool>(call.settings, "scale", {{"one", false}, {"inverse_sqrt", true}})),
        as_in_code(core::chosen<bool>(call.settings, "terms", {{"code", true}, {"paper", false}})),
        n(q.shape(2)),
        heads(q.shape(1)),
        width(q.shape(3)) {
    const std::size_t pairs = width / 2;
    const frequency_scale by = scale_of(call.template setting<std::string>("rule"), 2 * pairs, pairs);
    std::vector<R> theta;
    for (std::size_t t = 0; t < pairs; ++t)
      theta.push_back(in_stage<R>(stage::table, [&] { return how.frequency(R(10000.0), by.stride * t, by.steps); }));
    const auto at = [](bool sine, const R& distance, const R& frequency) {
      return sine ? sine_of(distance * frequency) : cosine_of(distance * frequency);
    };
    for (std::size_t row = 1; row < 2 * n; ++row) {
      const R distance(static_cast<double>(row) - static_cast<double>(n));
      for (const bool sine : {true, false})
        for (const R& frequency : theta)
          table.push_back(
              taken_by(stage::scores, stage::table,
                       in_stage<R>(
                           stage::table, [&](const R& m, const R& f) { return at(sine, m, f); }, distance, frequency)));
      table.resize(row * width, R(0.0));
    }
  }
  std::vector<std::vector<R>> operator()(std::size_t block, std::size_t i) const {
    const std::size_t head = block % heads;
    const R* query = q.data() + (block * n + i) * width;
    const auto scores = [&](const std::vector<R>& rows) {
      const R factor = scaled ? how.factor(width, heads, 1) : R(1.0);
      const auto of_distance = [&](std::int64_t t) {
        return rows.data() + static_cast<std::size_t>(t + static_cast<std::int64_t>(n) - 1) * width;
      };
      const std::vector<R> to_key = sum_of_vectors(query, u.data() + head * width, width);
      std::vector<R> s;
      for (std::size_t j = 0; j < n; ++j) {
        const R* key = k.data() + (block * n + j) * width;
        const std::int64_t t = how.distance(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
        const R* row = of_distance(as_in_code ? -t : t);
        // q . R and v . R apart, as the program has them.
        std::vector<R> products{how.product(to_key.data(), key, width), how.product(query, row, width),
                                how.product(v.data() + head * width, row, width)};
        if (as_in_code) products.push_back(how.product(key, of_distance(t), width));
        s.push_back(how.score(factor, products));
      }
      return s;
    };
    return {in_stage<R>(stage::scores, scores, table)};
  }
};

}  // namespace assay::reference::encodings
