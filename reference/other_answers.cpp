#include "reference/other_answers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace assay::reference {
namespace {

using flags = std::vector<std::uint8_t>;

bool any(const flags& f) { return std::find(f.begin(), f.end(), 1) != f.end(); }

// Whether the operation is attention that averages values by weights: queries q [B, h, n, d], values v [B, g, m, e].
// Linear attention is left out: its tokens stand before its heads, none of its weights is a quotient, and what chunks
// do with a NaN of a later token is a convention (encoding_tests::rests_on_convention).
bool attends(const core::operation& op) {
  const auto *q = op.input("q"), *k = op.input("k"), *v = op.input("v");
  return q && k && v && op.output("o") && q->axes.size() == 4 && v->axes.size() == 4 && v->axes.back() == "e" &&
         core::role_of(op, q->axes[2]) == core::axis_role::token;
}
// Weights that are no softmax, or a softmax with a sink, add up to 0 where there is no key.
bool defines_no_keys(const core::operation& op) { return op.input("sink") != nullptr || op.outputs.size() > 1; }

core::request forward_call(const core::request& call) {
  core::request forward{&forward_of(*call.operation), call.type, {}, call.attributes};
  for (const auto& d : forward.operation->inputs) forward.inputs.emplace(d.name, call.inputs.at(d.name));
  return forward;
}

// Finds what is not a number in a call and in its gradient, and where.
class attention_call {
 public:
  attention_call(const core::request& call, const certified_outputs& truth)
      : call_(call), truth_(truth), forward_(forward_call(call)) {
    const core::shape q = call.inputs.at("q").shape(), v = call.inputs.at("v").shape();
    heads_ = q[1], queries_ = q[2], key_heads_ = v[1], keys_ = v[2], width_ = v[3];
    components_.assign(v[0] * key_heads_ * width_, 0);
    spoiled_keys_.assign(v[0] * key_heads_, 0);
    rows_.assign(q[0] * heads_ * queries_, 0);
    empty_.assign(rows_.size(), 0);
    spread(forward_.inputs.at("k"), [&](std::size_t i, std::size_t per) { spoiled_keys_[i / (keys_ * per)] = 1; });
    spread(forward_.inputs.at("v"),
           [&](std::size_t i, std::size_t) { components_[i / (keys_ * width_) * width_ + i % width_] = 1; });
    spread(forward_.inputs.at("q"), [&](std::size_t i, std::size_t per) { rows_[i / per] = 1; });
    if (call.operation->is_vjp())
      spread(call.inputs.at("grad_o"), [&](std::size_t i, std::size_t per) { rows_[i / per] = 1; });
    find_empty_rows();
  }

  [[nodiscard]] std::map<std::string, other_answers> all() const {
    std::map<std::string, other_answers> found;
    const auto keep = [&](const std::string& output, other_answers answers) {
      if (any(answers.nan)) found.emplace(output, std::move(answers));
    };
    if (call_.operation->is_forward()) keep("o", answers_of_output());
    if (call_.operation->is_vjp())
      for (const auto& d : forward_.operation->inputs)
        if (d.differentiable && call_.operation->output("grad_" + d.name) != nullptr)
          keep("grad_" + d.name, answers_of_gradient(d));
    return found;
  }

 private:
  template <class F>
  static void spread(const core::tensor& t, F put) {
    for (std::size_t i = 0; i < t.size(); ++i)
      if (!std::isfinite(t.values.storage()[i])) put(i, t.shape().back());
  }
  [[nodiscard]] std::size_t head_of_keys(std::size_t head) const {
    return key_heads_ == 0 ? 0 : head / (heads_ / key_heads_);
  }

  // Checks rows whose truth is 0: with ones as values the mean is 0 too, if and only if no key is seen.
  void find_empty_rows() {
    const certified& y = truth_.at(call_.operation->is_forward() ? "o" : "grad_q");
    const std::size_t per = y.rounded.size() == 0 ? 0 : y.rounded.shape().back();
    if (defines_no_keys(*forward_.operation) || per == 0 || width_ == 0) return;
    for (std::size_t row = 0; row < empty_.size(); ++row) {
      empty_[row] = 1;
      for (std::size_t i = row * per; i < (row + 1) * per; ++i)
        empty_[row] = empty_[row] != 0 && y.truth(i) == 0.0 ? 1 : 0;
    }
    if (!any(empty_)) return;
    core::request ones = forward_;
    std::fill(ones.inputs.at("v").values.begin(), ones.inputs.at("v").values.end(), 1.0);
    if (const auto values_of_pairs = ones.inputs.find("table_v"); values_of_pairs != ones.inputs.end())
      std::fill(values_of_pairs->second.values.begin(), values_of_pairs->second.values.end(), 0.0);
    const auto sums = evaluate(ones, accuracy_class::sequential);
    const auto& o = sums.at("o").values.storage();
    for (std::size_t row = 0; row < empty_.size(); ++row)
      empty_[row] = empty_[row] != 0 && o[row * width_] == 0.0 ? 1 : 0;
  }

  // The output without the causal mask, where an input other than q, k and v (tables, slopes) holds a NaN.
  [[nodiscard]] std::optional<core::tensor> without_mask() const {
    const bool is_nan = std::any_of(forward_.inputs.begin(), forward_.inputs.end(), [](const auto& in) {
      const auto& x = in.second.values.storage();
      return in.first != "q" && in.first != "k" && in.first != "v" &&
             std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
    });
    core::request seen = forward_;
    seen.attributes = core::completed(*forward_.operation, forward_.attributes);
    const auto causal = seen.attributes.find("causal");
    if (!is_nan || causal == seen.attributes.end() || causal->second != core::attribute(true)) return std::nullopt;
    causal->second = false;
    return evaluate(seen, accuracy_class::sequential).at("o");
  }

  [[nodiscard]] other_answers answers_of_output() const {
    const certified& o = truth_.at("o");
    other_answers all{flags(o.rounded.size(), 0), {}, {}};
    const bool spoils_values = any(components_) || any(spoiled_keys_) || any(empty_);
    const auto seen = without_mask();
    if (!spoils_values && !seen) return all;
    for (std::size_t i = 0; i < all.nan.size(); ++i) {
      const std::size_t row = i / width_, head = row / queries_ % heads_, batch = row / queries_ / heads_;
      const std::size_t key_head = batch * key_heads_ + head_of_keys(head);
      const bool spoiled = key_heads_ > 0 && (components_[key_head * width_ + i % width_] || spoiled_keys_[key_head]);
      const bool is_nan = spoiled || empty_[row] || (seen && std::isnan(seen->values.storage()[i]));
      all.nan[i] = is_nan && std::isfinite(o.truth(i)) ? 1 : 0;  // an infinity that is seen is a term of the sum
    }
    if (any(empty_) && keys_ > 0) put_means(all);
    return all;
  }

  // Adds the mean of all values, and of the values that pairs have: equal scores give all keys the same weight.
  void put_means(other_answers& all) const {
    const auto mean = mean_of_all(false), magnitude = mean_of_all(true);
    all.number.assign(all.nan.size(), std::numeric_limits<double>::quiet_NaN());
    all.k.assign(all.nan.size(), 0.0);
    for (std::size_t i = 0; i < all.nan.size(); ++i) {
      if (!empty_[i / width_]) continue;
      all.number[i] = mean[i];
      all.k[i] = (static_cast<double>(keys_) + 4.0) * magnitude[i];  // a quotient, a product and a sum for each key
    }
  }
  [[nodiscard]] std::vector<double> mean_of_all(bool magnitudes) const {
    if (forward_.inputs.contains("table_v")) return mean_with_pairs(magnitudes);
    const auto& v = forward_.inputs.at("v").values.storage();
    std::vector<double> sums(components_.size(), 0.0), all(empty_.size() * width_);
    for (std::size_t i = 0; i < v.size(); ++i)
      sums[i / (keys_ * width_) * width_ + i % width_] +=
          (magnitudes ? std::fabs(v[i]) : v[i]) / static_cast<double>(keys_);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t row = i / width_,
                        key_head = row / queries_ / heads_ * key_heads_ + head_of_keys(row / queries_ % heads_);
      all[i] = sums[key_head * width_ + i % width_];
    }
    return all;
  }
  // The mean from the operation itself. Without features all scores are 0, and without a mask all keys are seen.
  [[nodiscard]] std::vector<double> mean_with_pairs(bool magnitudes) const {
    core::request equal = forward_;
    equal.type = core::dtype::f64;
    for (auto& [name, t] : equal.inputs) {
      if (!forward_.operation->input(name)->own_type) t.type = core::dtype::f64;
      for (double& x : t.values.storage()) x = name == "v" || name == "table_v" ? (magnitudes ? std::fabs(x) : x) : 0.0;
    }
    equal.attributes["causal"] = false;
    const core::tensor o = evaluate(equal, accuracy_class::sequential).at("o");
    return {o.values.storage().begin(), o.values.storage().end()};
  }

  // Whether a NaN may reach a gradient through a row of [B, h, n]. The gradient of the values does not depend on the
  // values themselves.
  [[nodiscard]] bool is_spoiled(std::size_t row, bool is_gradient_of_values) const {
    const std::size_t head = row / queries_ % heads_, batch = row / queries_ / heads_;
    if (rows_[row] || empty_[row]) return true;
    if (key_heads_ == 0) return false;
    const std::size_t key_head = batch * key_heads_ + head_of_keys(head);
    const auto first = components_.begin() + static_cast<std::ptrdiff_t>(key_head * width_);
    return spoiled_keys_[key_head] ||
           (!is_gradient_of_values && std::find(first, first + static_cast<std::ptrdiff_t>(width_), 1) !=
                                          first + static_cast<std::ptrdiff_t>(width_));
  }

  // A NaN in a row reaches the elements in the same place of the batch and in the same head, or the head of its keys.
  // In the gradient of queries it reaches the same row only.
  [[nodiscard]] other_answers answers_of_gradient(const core::tensor_declaration& d) const {
    const certified& y = truth_.at("grad_" + d.name);
    const core::shape shape = y.rounded.shape();
    const auto axis = [&](const std::string& symbol) { return core::axis_of(d, symbol); };
    const auto batch = axis("B");
    const bool is_key = d.name == "k" || d.name == "v";
    std::optional<std::size_t> head = axis("h");
    if (!is_key)
      for (std::size_t a = 0; a < d.axes.size(); ++a)
        if (d.axes[a].substr(0, 1) == "h") head = a;
    const std::size_t heads = is_key ? key_heads_ : heads_, share = heads == 0 ? 1 : heads_ / heads;
    const std::size_t rows_of_query = d.name == "q" ? queries_ : 1, batches = batch ? shape[*batch] : 1;
    flags reached(batches * (head ? heads : 1) * rows_of_query, 0);
    const auto place = [&](std::size_t b, std::size_t h, std::size_t i) {
      return ((batch ? b : 0) * (head ? heads : 1) + (head ? h : 0)) * rows_of_query + (rows_of_query > 1 ? i : 0);
    };
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (is_spoiled(row, d.name == "v"))
        reached[place(row / queries_ / heads_, row / queries_ % heads_ / share, row % queries_)] = 1;
    other_answers all{flags(y.rounded.size(), 0), {}, {}};
    const auto along = [&](std::size_t i, std::size_t a) { return i / core::stride_of(shape, a) % shape[a]; };
    for (std::size_t i = 0; i < all.nan.size(); ++i)
      all.nan[i] = reached[place(batch ? along(i, *batch) : 0, head ? along(i, *head) : 0,
                                 rows_of_query > 1 ? along(i, 2) : 0)] &&
                           std::isfinite(y.truth(i))
                       ? 1
                       : 0;
    return all;
  }

  const core::request& call_;
  const certified_outputs& truth_;
  core::request forward_;
  std::size_t heads_ = 0, queries_ = 0, key_heads_ = 0, keys_ = 0, width_ = 0;
  flags components_,
      spoiled_keys_;    ///< whether NaN or an infinity is in [B, g, e] of the values, in [B, g] of the keys
  flags rows_, empty_;  ///< whether NaN or an infinity is in [B, h, n] of queries or cotangents; whether no key is seen
};

// A part without keys has the weight 0, and some kernels leave NaN in it. In merged attention the NaN reaches o and the
// gradients of the logarithms of its query.
std::map<std::string, other_answers> answers_of_merged(const core::request& call, const certified_outputs& truth) {
  const core::tensor& parts = call.inputs.at("parts");
  const std::size_t count = parts.shape()[3], width = parts.shape()[4];
  flags spoiled_components(parts.size() / std::max<std::size_t>(count, 1), 0),
      spoiled_queries(spoiled_components.size(), 0);
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!std::isfinite(parts.values.storage()[i])) {
      spoiled_components[i / (count * width) * width + i % width] = 1;
      spoiled_queries[i / (count * width)] = 1;
    }
  std::map<std::string, other_answers> found;
  const auto put = [&](const std::string& output, const flags& reached, std::size_t each) {
    const auto y = truth.find(output);
    if (y == truth.end() || !any(reached)) return;
    other_answers all{flags(y->second.rounded.size(), 0), {}, {}};
    for (std::size_t i = 0; i < all.nan.size(); ++i)
      all.nan[i] = reached[i / each] && std::isfinite(y->second.truth(i)) ? 1 : 0;
    if (any(all.nan)) found.emplace(output, std::move(all));
  };
  put("o", spoiled_components, 1);
  put("grad_lses", spoiled_queries, count);
  return found;
}

}  // namespace

std::map<std::string, other_answers> other_answers_of(const core::request& call, const certified_outputs& truth) {
  const core::operation& op = *call.operation;
  if (!op.is_forward() && !op.is_vjp()) return {};
  if (op.input("parts") != nullptr && op.input("lses") != nullptr) return answers_of_merged(call, truth);
  if (!attends(forward_of(op))) return {};
  return attention_call(call, truth).all();
}

}  // namespace assay::reference
