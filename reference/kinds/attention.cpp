#include "reference/kinds/attention.hpp"

#include <limits>

namespace assay::reference {
namespace {

using formula::traced;
using formula::traced_integer;
using formula::traced_truth;

using stage = attention_stage;

/// The shape of one column beside x: one number for each row.
core::shape beside(core::shape s) {
  s.back() = 1;
  return s;
}

struct seen_rows {
  std::int64_t axis;
  core::shape one;  ///< the shape with one number for each row
  traced_truth has_key;

  explicit seen_rows(const traced_truth& seen)
      : axis(static_cast<std::int64_t>(shape_of(seen).size()) - 1),
        one(beside(shape_of(seen))),
        has_key(reshaped(any_along(seen, axis), one)) {}
  /// The logits of seen keys, and -inf elsewhere; 0 in rows that see nothing.
  [[nodiscard]] traced logits(const traced& given_logits, const traced_truth& seen) const {
    const traced hidden(-std::numeric_limits<double>::infinity());
    return either(has_key, either(seen, given_logits, hidden), traced(0.0));
  }
};

/// Whether a key is the only one that its row sees.
traced_truth is_alone(const traced_truth& seen, const seen_rows& rows) {
  const std::size_t keys = shape_of(seen).back(), axis = static_cast<std::size_t>(rows.axis);
  const traced_integer one = traced_integer::constant(1), none = traced_integer::constant(0);
  const traced_integer counted = cumulative_sum(either(seen, one, none), axis);
  return seen && equal(between(counted, axis, keys - 1, keys), one);
}

}  // namespace

traced softmax_of_seen(const traced& logits, const traced_truth& seen) {
  const seen_rows rows(seen);
  return either(seen, softmax_along(rows.logits(logits, seen), rows.axis), traced(0.0));
}

traced log_sum_exp_of_seen(const traced& logits, const traced_truth& seen) {
  const seen_rows rows(seen);
  const traced hidden(-std::numeric_limits<double>::infinity());
  return reshaped(log_sum_exp_along(either(seen, logits, hidden), rows.axis), rows.one);
}

traced attended(const attention_scheme& steps, const recorded_call& in, const traced& logits, const traced_truth& seen,
                const reading_of_weights& read) {
  const auto into_output = [&](const traced& x) { return taken_from(static_cast<std::size_t>(stage::softmax), x); };
  const auto by_weights = [&] {
    const traced weights = in_stage<traced>(stage::softmax, [&] {
      const traced all = steps.weights(logits, seen);
      if (!in.is_truth()) return all;
      return either(is_alone(seen, seen_rows(seen)) && !is_nan(logits), traced(1.0), all);
    });
    return in_stage<traced>(stage::output, [&] { return read(into_output(weights)); });
  };
  const auto by_quotient = [&] {
    const seen_rows rows(seen);
    const traced below = in_stage<traced>(stage::softmax, [&] {
      const traced all = rows.logits(logits, seen);
      return either(seen, exp(all - reshaped(detach(largest_along(all, rows.axis)), rows.one)), traced(0.0));
    });
    const traced sum = in_stage<traced>(stage::softmax, [&] {
      return either(rows.has_key, reshaped(summed(below, {rows.axis}), rows.one), traced(1.0));
    });
    return in_stage<traced>(stage::output, [&] { return read(into_output(below)) / sum; });
  };
  if (shape_of(seen).back() == 0) return in_stage<traced>(stage::output, [&] { return read(logits); });
  return steps.mean_from_output ? by_quotient() : by_weights();
}

traced attended(const attention_scheme& steps, const recorded_call& in, const traced& logits,
                const traced_truth& seen) {
  const traced v = in["v"];
  return attended(steps, in, logits, seen,
                  [&](const traced& weights) { return contracted_where(seen, weights, v, "bhij,bhjc->bhic"); });
}

traced logits_of(const attention_scheme& steps, const recorded_call& in, const traced& bias, const traced_truth& seen) {
  const traced q = in["q"], k = in["k"];
  return in_stage<traced>(stage::scores, [&] {
    return steps.logit(contracted_at(seen, q, k, "bhid,bhjd->bhij"), bias,
                       factor_of_logits(in.setting<std::string>("scale"), in.size("d")));
  });
}

recorded_places::recorded_places(const recorded_call& in)
    : query_places(in.settings(), in.size("n"), in.size("m")), queries_(in.size("n")), keys_(in.size("m")) {}
traced_integer recorded_places::query_numbers() const {
  return reshaped(formula::counted(queries_) + traced_integer::constant(static_cast<std::int64_t>(first)),
                  {queries_, 1});
}
traced_integer recorded_places::key_numbers() const { return reshaped(formula::counted(keys_), {1, keys_}); }
traced_integer recorded_places::last_key() const {
  return traced_integer::constant(static_cast<std::int64_t>(keys_) - 1);
}
std::vector<bool> recorded_places::all_seen() const {
  std::vector<bool> all;
  all.reserve(queries_ * keys_);
  for (std::size_t i = 0; i < queries_; ++i)
    for (std::size_t j = 0; j < keys_; ++j) all.push_back(sees(i, j));
  return all;
}

traced attended_by_places(const attention_scheme& steps, const recorded_call& in,
                          const std::function<traced(const recorded_places&)>& bias) {
  const recorded_places places(in);
  const std::size_t own = attention_stages().size();
  const auto factor = in.setting<std::string>("bias_factor");
  const traced bias_of_pairs = in_stage<traced>(own, [&] {
    const traced b = bias(places);
    return factor == "one" ? b : b * factor_of_logits(factor, in.size("d"));
  });
  const traced_truth seen = seen_of(in, places.all_seen());
  return attended(steps, in, logits_of(steps, in, bias_of_pairs, seen), seen);
}

std::vector<bool> seen_by_last_queries(std::size_t n, std::size_t m, bool causal) {
  std::vector<bool> all;
  all.reserve(n * m);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) all.push_back(!causal || j + n <= i + m);
  return all;
}

traced_truth seen_of(const recorded_call& in, const std::vector<bool>& seen_pairs) {
  const std::size_t n = in.size("n"), m = in.size("m");
  return broadcast(formula::known_truths({n, m}, seen_pairs), {in.size("B"), in.size("h"), n, m});
}

}  // namespace assay::reference
