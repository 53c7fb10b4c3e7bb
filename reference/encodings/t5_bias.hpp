// The relative bias of T5 (Raffel et al., "Exploring the Limits of Transfer Learning", JMLR 2020, arXiv 1910.10683): a
// learned logit bias for each head and bucket of the distance rho = j - i of key j and query i (in the source's words
// memory position less query position), B_hij = table[h, bucket(rho)].
//
// Let one direction have N buckets (all buckets, or half of them where both directions count). Let E = floor(N / 2),
// and let D be `max_distance`: all distances from D on share the last bucket, and so do some below D. n = |rho| in both
// directions, n = max(-rho, 0) in one:
//
//   bucket = base + n                                                              for n < E
//            base + min(N - 1, E + floor((N - E) log(n / E) / log(D / E)))         otherwise      (tensorflow/mesh)
//
// where base = N for rho > 0 in both directions, 0 otherwise. Bucket N is then never used. The form `clipped` is base +
// min(n, N - 1) for all n, without D: in one direction the usual text-book bias r_min(i - j, N - 1). Where one
// direction counts, keys after the query share bucket 0 with the query's own key: other code masks them.
//
// `t5_bias/contextual`: the table depends on the query, B_bhij = q_bhi . w[h, :, bucket(rho)], q [B, h, n, d], w [h, d,
// b] (tensorflow/mesh, relative_attention_type "contextual"). `t5_bias/attention`: softmax(scale q k^T + factor B) v
// for q [B, h, n, d], k [B, h, m, d], v [B, h, m, e]; key j stands at j, query i at i + m - n, or at i. T5 has scale 1
// and factor 1; GPT-NeoX and lucidrains/x-transformers multiply the bias by sqrt(d).
//
// Shapes: distance, bucket [n]; table [h, b]; positions of queries [n] and keys [m]; bias [h, n, m]. Buckets are exact:
// integers decide the floor (algorithms/log_buckets.hpp). An element of the table is copied, NaN included. Gradient: a
// bucket gets the sum of its cotangents, exactly 0 where there are none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/algorithms/log_buckets.hpp"
#include "reference/kinds/attention.hpp"
#include "reference/kinds/pair_bias.hpp"

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

  using traced = formula::traced;
  using index = formula::traced_integer;
  /// The steps that variants replace.
  struct scheme : attention_scheme, recorded_scheme<scheme> {
    std::function<std::int64_t(const bucket_map& map, double distance)> bucket = bucket_of;
  };

  static bucket_map map_of(const core::attributes& settings) {
    return {core::setting<std::int64_t>(settings, "buckets"), core::setting<std::int64_t>(settings, "max_distance"),
            core::setting<bool>(settings, "bidirectional"), core::setting<std::string>(settings, "form")};
  }

  /// `buckets_axis` is the axis whose size is the number of buckets, or empty. The values of the first two settings
  /// include pairs for which published code in f32 is wrong by one. Up to 256 bucket numbers are exact in every format.
  static core::operation declared(const char* called, std::vector<core::tensor_declaration> inputs,
                                  core::tensor_declaration output, const char* buckets_axis) {
    return {.name = called,
            .source = "Raffel et al. 2020, arXiv 1910.10683; tensorflow/mesh, _relative_position_bucket",
            .inputs = std::move(inputs),
            .outputs = {std::move(output)},
            .attributes =
                {integer("buckets", {32, 4, 8, 16, 64, 128}, {2, 256},
                         "how many buckets there are, in both directions together", buckets_axis),
                 integer("max_distance", {128, 256, 200, 400, 800, 100}, {2, furthest},
                         "from which distance on all share the last bucket"),
                 flag("bidirectional", true,
                      "whether keys after the query have half of the buckets; else they have the bucket of distance 0"),
                 choice("form", {"log", "clipped"},
                        "how distances n share the N buckets of a direction: by logarithms from N / 2 on, or as min(n, "
                        "N - 1)")},
            .independent = {"h", "n", "m"},
            .conflict = [](const core::attributes& settings, const core::axis_sizes&) {
              return map_of(settings).conflict();
            }};
  }
  static core::operation bucket_declaration() {
    const auto integers = [](const char* called, const char* meaning, core::input_role role) {
      return core::integers(called, {"n"}, meaning, {-furthest, furthest}, role);
    };
    core::operation bucket_operation =
        declared("t5_bias/bucket",
                 {integers("distance", "position of the key less that of the query", core::input_role::distance)},
                 integers("bucket", "number of the bucket, from 0", core::input_role::value), "");
    bucket_operation.grows_with = core::with_distance;
    bucket_operation.independent = {"n"};
    return bucket_operation;
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
  /// For f16 and bf16 a bias has the dtype of its table, as in T5Attention of huggingface/transformers.
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

  static std::vector<recorded_formula<scheme>> formulas() {
    return {{bucket_declaration(), bucket},
            {pair_operation(bias_declaration()), bias},
            {pair_operation(contextual_declaration()), contextual},
            {attention_declaration(), attention}};
  }

 private:
  /// Buckets of distances that are not known when the program is recorded.
  static index buckets_of(const scheme& steps, const recorded_call& in, const index& distance);
  static index buckets_of_pairs(const scheme& steps, const recorded_pairs& pairs) {
    return buckets_of(steps, pairs, pairs.key() - pairs.query());
  }
  static formula::program bucket(const scheme& steps, const formula::program_sizes& call);
  static formula::program bias(const scheme& steps, const formula::program_sizes& call);
  static formula::program contextual(const scheme& steps, const formula::program_sizes& call);
  static formula::program attention(const scheme& steps, const formula::program_sizes& call);
};

inline t5_bias::index t5_bias::buckets_of(const scheme& steps, const recorded_call& in, const index& distance) {
  const bucket_map map = map_of(in.settings());
  const auto most = static_cast<std::int64_t>(2 * furthest);
  return stepwise(distance, -most, most,
                  [&](std::int64_t apart) { return steps.bucket(map, static_cast<double>(apart)); });
}

inline formula::program t5_bias::bucket(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  return in.finish(buckets_of(steps, in, in.integers("distance")));
}

inline formula::program t5_bias::bias(const scheme& steps, const formula::program_sizes& call) {
  recorded_pairs pairs(call);
  return pairs.finish(gathered(pairs["table"], buckets_of_pairs(steps, pairs), 1));
}

/// Queries are multiplied with all buckets, and each pair reads its own.
inline formula::program t5_bias::contextual(const scheme& steps, const formula::program_sizes& call) {
  recorded_pairs pairs(call);
  const index buckets = buckets_of_pairs(steps, pairs);
  return pairs.finish(products_by_query(contracted(pairs["q"], pairs["w"], "bhid,hdr->bhir"), buckets));
}

inline formula::program t5_bias::attention(const scheme& steps, const formula::program_sizes& call) {
  recorded_call in(call);
  const bucket_map map = map_of(in.settings());
  const traced table = in["table"];
  return in.finish(attended_by_places(steps, in, [&](const recorded_places& places) {
    const index buckets = integers_of_pairs(in.size("n"), in.size("m"), [&](std::size_t i, std::size_t j) {
      return steps.bucket(map, static_cast<double>(j) - places.position(i));
    });
    return gathered(table, buckets, 1);
  }));
}

}  // namespace assay::reference::encodings
