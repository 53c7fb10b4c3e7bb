#include "reference/kinds/grouped_attention.hpp"

#include <limits>

namespace assay::reference {

using formula::traced;
using formula::traced_truth;

using stage = attention_stage;

traced products_of_groups(const traced& x, const traced& y, const std::string& letters, bool by_heads,
                          const masks_of_groups& masks) {
  const std::size_t comma = letters.find(','), arrow = letters.find("->");
  const auto by = [&](const traced& a, const traced& b, const std::string& heads, const std::string& letters_of_heads) {
    const std::string all = heads + letters.substr(0, comma) + "," + letters_of_heads +
                            letters.substr(comma + 1, arrow - comma - 1) + "->" + heads + letters.substr(arrow + 2);
    if (masks.terms != nullptr) return contracted_where(reshaped(*masks.terms, shape_of(a)), a, b, all);
    if (masks.sums == nullptr) return contracted(a, b, all);
    core::shape made = shape_of(a);
    made.back() = shape_of(b)[shape_of(b).size() - 2];
    const bool is_of_places = shape_of(*masks.sums).size() == 2;
    return contracted_at(is_of_places ? broadcast(*masks.sums, made) : reshaped(*masks.sums, made), a, b, all);
  };
  const core::shape shape_of_queries = shape_of(x), shape_of_keys = shape_of(y);
  const std::size_t heads = shape_of_keys[1], group = heads == 0 ? 1 : shape_of_queries[1] / heads;
  if (group == 1) return by(x, y, "bh", "bh");
  if (by_heads) {
    const traced each = broadcast(reshaped(y, {shape_of_keys[0], heads, 1, shape_of_keys[2], shape_of_keys[3]}),
                                  {shape_of_keys[0], heads, group, shape_of_keys[2], shape_of_keys[3]});
    return by(x, reshaped(each, {shape_of_keys[0], shape_of_queries[1], shape_of_keys[2], shape_of_keys[3]}), "bh",
              "bh");
  }
  const traced made =
      by(reshaped(x, {shape_of_queries[0], heads, group, shape_of_queries[2], shape_of_queries[3]}), y, "bgu", "bg");
  const core::shape s = shape_of(made);
  return reshaped(made, {s[0], shape_of_queries[1], s[3], s[4]});
}

namespace {

traced kept_beside(const grouped_scheme& steps, const recorded_call& in, const traced& logits, const traced_truth& seen,
                   const traced& sink, const reading_of_weights& read) {
  const traced o = attended(steps, in, logits, seen, read);
  const traced share = in_stage<traced>(stage::softmax, [&] {
    const traced lse = steps.log_sum_exp(logits, seen), nothing(-std::numeric_limits<double>::infinity());
    const traced beside = either(equal(sink, nothing), traced(1.0), sigmoid(lse - sink));
    return either(equal(lse, nothing), traced(0.0), beside);
  });
  return in_stage<traced>(stage::output,
                          [&] { return o * taken_from(static_cast<std::size_t>(stage::softmax), share); });
}

}  // namespace

traced attended_beside_sink(const grouped_scheme& steps, const recorded_call& in, const traced& logits,
                            const traced_truth& seen, const traced& sinks, const reading_of_weights& read) {
  core::shape one = shape_of(logits);
  const std::size_t keys = one.back();
  one.back() = 1;
  const traced sink = reshaped(sinks, {one[1], 1, 1}), nothing(-std::numeric_limits<double>::infinity());
  if (steps.sink_apart) return kept_beside(steps, in, logits, seen, sink, read);
  const traced all = formula::joined({logits, broadcast(sink, one)}, 3);
  const traced_truth all_seen = formula::joined({seen, broadcast(!equal(sink, nothing), one)}, 3);
  const traced below = in_stage<traced>(stage::scores, [&] {
    const traced less_maximum = all - without_error(reshaped(largest_along(either(all_seen, all, nothing), 3), one));
    return steps.through_maximum || in.is_other_gradient() ? less_maximum : covering(all, [&] { return less_maximum; });
  });
  return attended(steps, in, below, all_seen,
                  [&](const traced& weights) { return read(between(weights, 3, 0, keys)); });
}

}  // namespace assay::reference
