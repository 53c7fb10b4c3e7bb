// The relative bias of T5 (Raffel et al., "Exploring the Limits of Transfer Learning", JMLR 2020, arXiv 1910.10683): a
// learned logit bias for each head and bucket of the distance rho = j - i of key j and query i (in the source's words
// memory position less query position), B_hij = table[h, bucket(rho)].
//
// With N buckets for one direction (all, or half of them where both directions count), E = floor(N / 2), D the largest
// distance told apart, and n = |rho| in both directions, n = max(-rho, 0) in one:
//
//   bucket = base + n                                                              for n < E
//            base + min(N - 1, E + floor((N - E) log(n / E) / log(D / E)))         otherwise      (tensorflow/mesh)
//
// where base = N for rho > 0 in both directions, 0 otherwise. Bucket N is never used then. The form `clipped` is base +
// min(n, N - 1) for all n, without D: in one direction the usual text-book bias r_min(i - j, N - 1). Keys after the
// query share bucket 0 with the query's own where one direction counts: they are masked elsewhere.
//
// `t5_bias/contextual`: the table depends on the query, B_bhij = q_bhi . w[h, :, bucket(rho)], q [B, h, n, d], w [h, d,
// b] (tensorflow/mesh, relative_attention_type "contextual"). `t5_bias/attention`: softmax(scale q k^T + factor B) v
// for q [B, h, n, d], k [B, h, m, d], v [B, h, m, e]; key j stands at j, query i at i + m - n, or at i. T5 has scale 1
// and factor 1; GPT-NeoX and lucidrains/x-transformers multiply the bias by sqrt(d).
//
// Shapes: distance, bucket [n]; table [h, b]; positions of queries [n] and keys [m]; bias [h, n, m]. Buckets are exact:
// the floor is decided by integers (algorithms/log_buckets.hpp). An element of the table is copied, NaN included.
// Gradient: that of a bucket is the sum of its cotangents, exactly 0 where there are none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/algorithms/log_buckets.hpp"
#include "reference/kinds/attention_of_places.hpp"
#include "reference/kinds/pair_bias.hpp"
#include "reference/kinds/table.hpp"

namespace assay::reference::encodings {

struct t5_bias {
  static constexpr std::string_view name = "t5_bias";
  static core::encoding_summary summary() {
    return {.what = "learned biases by bucket of distance",
            .formula = "B_ij = table[h, bucket(j - i)]",
            .sources = {{"Raffel et al. 2020", "https://arxiv.org/abs/1910.10683"}},
            .also = {{"a bias for each clipped distance", "`form` of t5_bias/bias"},
                     {"a bias that depends on the query", "t5_bias/contextual"}}};
  }
  static constexpr double furthest = 0x1p31;

  /// What algorithms and mutants replace.
  template <class R>
  struct recipe : attention_steps<R>, differentiable_recipe<recipe, R> {
    recipe_step<R, std::int64_t(const bucket_map& map, double distance)> bucket = bucket_of;
  };

  static bucket_map map_of(const core::attributes& settings) {
    return {core::setting<std::int64_t>(settings, "buckets"), core::setting<std::int64_t>(settings, "max_distance"),
            core::setting<bool>(settings, "bidirectional"), core::setting<std::string>(settings, "form")};
  }

  /// `buckets_axis`: the axis whose size the number of buckets is, or empty. Pairs of the first two settings on which
  /// published code in f32 goes wrong by one are among them. Up to 256 bucket numbers are exact in every format.
  static core::operation declared(const char* called, std::vector<core::tensor_declaration> inputs,
                                  core::tensor_declaration output, const char* buckets_axis) {
    return {
        .name = called,
        .source = "Raffel et al. 2020, arXiv 1910.10683; tensorflow/mesh, _relative_position_bucket",
        .inputs = std::move(inputs),
        .outputs = {std::move(output)},
        .attributes = {integer("buckets", {32, 4, 8, 16, 64, 128}, {2, 256},
                               "number of buckets, those of both directions", buckets_axis),
                       integer("max_distance", {128, 256, 200, 400, 800, 100}, {2, furthest},
                               "from here on all distances share the last bucket"),
                       flag("bidirectional", true,
                            "keys after the query have half of the buckets; else they count as 0"),
                       choice("form", {"log", "clipped"}, "logarithmic beyond half of the buckets, or min(n, N - 1)")},
        .independent = {"h", "n", "m"},
        .conflict = [](const core::attributes& settings, const core::axis_sizes&) {
          return map_of(settings).conflict();
        }};
  }
  static core::operation bucket_declaration() {
    const auto integers = [](const char* called, const char* meaning, core::input_role role) {
      return core::integers(called, {"n"}, meaning, {-furthest, furthest}, role);
    };
    core::operation of_distance =
        declared("t5_bias/bucket",
                 {integers("distance", "position of the key less that of the query", core::input_role::distance)},
                 integers("bucket", "number of the bucket, from 0", core::input_role::value), "");
    of_distance.grows_with = core::with_distance;
    return of_distance;
  }
  static core::operation bias_declaration() {
    return declared("t5_bias/bias",
                    with_pair_positions({core::parameter("table", {"h", "b"}, "bias of each head and bucket")}),
                    pair_bias_output(core::error_scale::relative), "b");  // an element of the table, copied
  }

  static core::operation contextual_declaration() {
    core::tensor_declaration bias = pair_bias_output(core::error_scale::absolute);
    bias.axes.insert(bias.axes.begin(), "B");
    core::operation op = declared(
        "t5_bias/contextual",
        with_pair_positions({{.name = "q", .axes = {"B", "h", "n", "d"}, .meaning = "queries"},
                             core::parameter("w", {"h", "d", "b"}, "what a query is multiplied by for each bucket")}),
        std::move(bias), "b");
    op.independent.insert(op.independent.begin(), "B");
    return op;
  }
  /// In f16 and bf16 a bias has the dtype of its table, as T5Attention of huggingface/transformers has it.
  static core::operation attention_declaration() {
    const core::operation bias = bias_declaration();
    core::operation op =
        attention_of_places("t5_bias/attention", bias.inputs.front(), false,
                            {.name = "bias", .meaning = "elements of the table times their factor", .narrow = true});
    op.source = bias.source;
    op.attributes.front() = choice("scale", {"one", "inverse_sqrt"}, op.attributes.front().meaning);
    op.attributes.insert(op.attributes.end(), bias.attributes.begin(), bias.attributes.end());
    op.conflict = bias.conflict;
    return op;
  }

  template <class R>
  static std::vector<operation_record<R, recipe<R>>> records() {
    return {table_record<t5_bias, R, bucket<R>>(bucket_declaration()), pair_bias_record<pairs, R>(bias_declaration()),
            pair_bias_record<contextual_pairs, R>(contextual_declaration()),
            attention_record<fused_heads, R>(attention_declaration())};
  }

 private:
  template <class R>
  static rows<R> bucket(const arguments<R>& call, const recipe<R>& how) {
    return {1, [&how, &distance = call.integers.at("distance").values.storage(), map = map_of(call.settings)](
                   std::size_t i, R* row) { *row = R(static_cast<double>(how.bucket(map, distance[i]))); }};
  }
  template <class R>
  struct bucketed {
    using recipe = t5_bias::recipe<R>;
    const recipe& how;
    bucket_map map;

    bucketed(const arguments<R>& c, const recipe& steps) : how(steps), map(map_of(c.settings)) {}
    [[nodiscard]] std::optional<double> distance(double query, double key) const { return key - query; }
    [[nodiscard]] std::size_t bucket(double distance) const {
      return static_cast<std::size_t>(how.bucket(map, distance));
    }
  };
  template <class R>
  struct pairs : bucketed<R> {
    const field<R>& table;

    pairs(const arguments<R>& c, const recipe<R>& steps) : bucketed<R>(c, steps), table(c["table"]) {}
    [[nodiscard]] std::vector<std::size_t> lanes() const { return {table.shape(0)}; }
    void operator()(const key_of_query& at, R* bias) const {
      const std::size_t bucket = this->bucket(at.distance);
      for (std::size_t k = 0; k < table.shape(0); ++k) bias[k] = table(k, bucket);
    }
    /// Of tokens that are counted as they lie.
    R operator()(std::size_t head, double query, double key) const { return table(head, this->bucket(key - query)); }
  };
  template <class R>
  using fused_heads = heads_of_places<pairs, R>;
  template <class R>
  struct contextual_pairs : bucketed<R> {
    const field<R>&q, &w;

    contextual_pairs(const arguments<R>& c, const recipe<R>& steps) : bucketed<R>(c, steps), q(c["q"]), w(c["w"]) {}
    [[nodiscard]] std::vector<std::size_t> lanes() const { return {q.shape(0), q.shape(1)}; }
    void operator()(const key_of_query& at, R* bias) const {
      const std::size_t bucket = this->bucket(at.distance);
      for (std::size_t b = 0; b < q.shape(0); ++b)
        for (std::size_t h = 0; h < q.shape(1); ++h) {
          accumulator<R> sum;
          for (std::size_t c = 0; c < q.shape(3); ++c) sum.add_product(q(b, h, at.i, c), w(h, c, bucket));
          *bias++ = sum.total();
        }
    }
  };
};

}  // namespace assay::reference::encodings
