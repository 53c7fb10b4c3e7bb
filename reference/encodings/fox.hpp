// The decay of forgetting attention (Lin et al., "Forgetting Transformer: Softmax Attention with a Forget Gate",
// ICLR 2025, arXiv 2503.02130): a logit bias from forget gates f_t in (0, 1),
//
//   D_ij = log f_{j+1} + ... + log f_i for j <= i, and -inf for j > i (the causal mask)              section 3
//
// Shapes: log_f, g [B, n, h], one gate a head and token; D [B, h, n, n], queries by keys. Tokens count from 1.
// f_1 stands in no D. `fox/decay` takes log f, `fox/gated_decay` the gate logits g, log f = log_sigmoid(g).
// `fox/attention` is what the decay is for: o = softmax(scale q k^T + D) v for q, k [B, h, n, d], v [B, h, n, e].
//
// Special values: log f = -inf (f = 0) makes D = -inf for the pairs that it separates and leaves all others alone:
// a reset. NaN reaches the pairs that it separates. Gradients: D is linear in log f, so a cotangent counts wherever
// it stands at j <= i; those above the diagonal belong to a constant.
#pragma once

#include <functional>
#include <limits>
#include <string_view>

#include "reference/algorithms/attention.hpp"
#include "reference/algorithms/segment_sums.hpp"
#include "reference/derived_vjp.hpp"
#include "reference/operation_record.hpp"

namespace assay::reference::encodings {

struct fox {
  static constexpr std::string_view name = "fox";

  /// How one head of one row is computed: what algorithms, accuracy classes and mutants replace. The blocks are
  /// n x n; sums leaves above the diagonal what stands there.
  template <class R>
  struct recipe : differentiable_recipe<recipe, R> {
    std::function<void(const_lane<R> a, R* decay)> sums = segment_sums<R>;
    std::function<R(const R& g)> gate = [](const R& g) { return log_sigmoid(g); };
    attention_recipe<R> heads{};
  };

  /// Sums of segments have no shorter tree of their own.
  template <class R>
  static recipe<R> algorithm(accuracy_class c);
  template <class R>
  static recipe<R> law(accuracy_class c) {
    recipe<R> how;
    if (c == accuracy_class::cumsum) how.sums = law_of_prefix_sums<R>;
    return how;
  }

  /// That of `fox/attention` has a format of its own, beside the stages of attention: the last one of stages().
  enum class stage { decay = 4 };
  static std::vector<core::stage_declaration> stages();

  /// What the decay is made of: log_f itself, or the logits g.
  enum class gates { log_f, logits };

  template <class R>
  using record = operation_record<R, recipe<R>>;
  template <class R>
  static std::vector<record<R>> records();

 private:
  template <gates Gates, class R>
  static record<R> decay_record();
  template <class R>
  static record<R> attention_record();
  template <gates Gates, class R>
  static fields<R> decay(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  static fields<R> attention(const arguments<R>& call, const recipe<R>& how);
  template <class R>
  class heads;
  template <class R>
  static void law_of_prefix_sums(const_lane<R> a, R* out);

  static core::tensor_declaration log_f();
  static algorithm_list algorithms() { return {accuracy_class::sequential, accuracy_class::cumsum}; }
  static constexpr core::value_domain decays{-std::numeric_limits<double>::infinity(), 0.0, true};
  static constexpr const char* source = "Lin et al. 2025, arXiv 2503.02130, section 3";
};

inline core::tensor_declaration fox::log_f() {
  return {.name = "log_f",
          .axes = {"B", "n", "h"},
          .meaning = "log forget gates",
          .domain = decays,
          .summed_over_time = true,
          .role = core::input_role::logit};
}

/// The decay in f32, whatever the dtype, as zhixuan-lin/forgetting-transformer has it
/// (src/forgetting_transformer/ops/forgetting_attention.py: log_fgate.float() before torch.cumsum).
inline std::vector<core::stage_declaration> fox::stages() {
  std::vector<core::stage_declaration> all = attention_stages();
  all.push_back({.name = "decay", .meaning = "sums of log f"});
  return all;
}

template <class R>
std::vector<fox::record<R>> fox::records() {
  return {decay_record<gates::log_f, R>(), decay_record<gates::logits, R>(), attention_record<R>()};
}

template <fox::gates Gates, class R>
fox::record<R> fox::decay_record() {
  constexpr bool logits = Gates == gates::logits;
  const core::tensor_declaration g{.name = "g",
                                   .axes = {"B", "n", "h"},
                                   .meaning = "gate logits, log f = log sigmoid(g)",
                                   .summed_over_time = true,
                                   .role = core::input_role::logit};
  return {.declaration = {.name = logits ? "fox/gated_decay" : "fox/decay",
                          .source = source,
                          .inputs = {logits ? g : log_f()},
                          // A sum of logarithms that are all at most 0: nothing cancels.
                          .outputs = {{.name = "D",
                                       .axes = {"B", "h", "n", "n"},
                                       .meaning = "logit bias, queries by keys",
                                       .domain = decays,
                                       .scale = core::error_scale::relative}},
                          .grows_with = &core::with_tokens,
                          .independent = {"B", "h"}},
          .algorithms = algorithms(),
          .forward = decay<Gates, R>,
          .vjp = derived_vjp<fox, R>,
          .jvp = not_offered};
}

template <class R>
fox::record<R> fox::attention_record() {
  return {.declaration = {.name = "fox/attention",
                          .source = source,
                          .inputs = {{.name = "q", .axes = {"B", "h", "n", "d"}, .meaning = "queries"},
                                     {.name = "k", .axes = {"B", "h", "n", "d"}, .meaning = "keys"},
                                     {.name = "v", .axes = {"B", "h", "n", "e"}, .meaning = "values"},
                                     log_f()},
                          // Linear in the values: a scale of 1 would mean nothing to it.
                          .outputs = {{.name = "o",
                                       .axes = {"B", "h", "n", "e"},
                                       .meaning = "weighted means of the values",
                                       .scale = core::error_scale::by_row}},
                          .attributes = {scale_attribute()},
                          .stages = stages(),
                          .grows_with = &core::with_tokens,
                          .independent = {"B", "h"}},
          .algorithms = algorithms(),
          .forward = attention<R>,
          .vjp = derived_vjp<fox, R>,
          .jvp = not_offered};
}

template <class R>
fox::recipe<R> fox::algorithm(accuracy_class c) {
  recipe<R> how;
  if (c == accuracy_class::cumsum) how.sums = segment_sums_by_prefix<R>;
  return how;
}

/// Prefix sums have no answer behind a gate of 0, but their adjoint, which is linear, may stand beside sums that have.
template <class R>
void fox::law_of_prefix_sums(const_lane<R> a, R* out) {
  if constexpr (is_adjoint<R>) {
    using number = typename R::underlying;
    taped_segment_sums<number>(a, out, law_of_prefix_sums<number>, segment_sums_adjoint_by_suffix<number>);
  } else {
    bool resets = false;
    for (std::size_t i = 0; i < a.size(); ++i) resets = resets || is_minus_infinity(a[i]);
    (resets ? segment_sums<R> : segment_sums_by_prefix<R>)(a, out);
  }
}

/// Calls visit(offset of the lane in [B, n, h], offset of the block in [B, h, n, n]) for every head.
template <class Visit>
void for_each_fox_head(std::size_t batch, std::size_t n, std::size_t heads, Visit visit) {
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t k = 0; k < heads; ++k) visit(b * n * heads + k, (b * heads + k) * n * n);
}

template <fox::gates Gates, class R>
fields<R> fox::decay(const arguments<R>& call, const recipe<R>& how) {
  field<R> a = call[Gates == gates::logits ? "g" : "log_f"];
  const std::size_t batch = a.shape(0), n = a.shape(1), heads = a.shape(2);
  if constexpr (Gates == gates::logits)
    for (R& x : a.storage()) x = how.gate(x);
  field<R> decay = make_field<R>({batch, heads, n, n});
  for (R& x : decay.storage()) x = R(-std::numeric_limits<double>::infinity());
  for_each_fox_head(batch, n, heads, [&](std::size_t lane, std::size_t block) {
    how.sums({a.data() + lane, heads, n}, decay.data() + block);
  });
  return {{"D", std::move(decay)}};
}

/// The heads of all rows of the batch, each with its decay.
template <class R>
class fox::heads {
 public:
  explicit heads(const arguments<R>& call)
      : q_(call["q"]),
        k_(call["k"]),
        v_(call["v"]),
        gates_(call["log_f"]),
        scale_(logit_scale<R>(call.template setting<std::string>("scale"), q_.shape(3))) {}

  [[nodiscard]] std::size_t count() const { return q_.shape(0) * q_.shape(1); }
  [[nodiscard]] std::size_t tokens() const { return q_.shape(2); }
  [[nodiscard]] std::size_t value_width() const { return v_.shape(3); }
  [[nodiscard]] attention_head<R> at(std::size_t head) const {
    const std::size_t n = tokens(), d = q_.shape(3), e = value_width();
    return {n, n, d, e, scale_, q_.data() + head * n * d, k_.data() + head * n * d, v_.data() + head * n * e};
  }
  [[nodiscard]] std::vector<R> decay(std::size_t head, const recipe<R>& how) const {
    return in_stage<R>(stage::decay, [&] {
      std::vector<R> decay(tokens() * tokens(), R(-std::numeric_limits<double>::infinity()));
      how.sums({gates_.data() + first_gate(head), stride(), tokens()}, decay.data());  // of the gates, which are exact
      return decay;
    });
  }
  /// The lane of its gates in [B, n, h].
  [[nodiscard]] std::size_t first_gate(std::size_t head) const {
    return head / stride() * tokens() * stride() + head % stride();
  }
  [[nodiscard]] std::size_t stride() const { return q_.shape(1); }

 private:
  const field<R>&q_, &k_, &v_, &gates_;
  R scale_;
};

template <class R>
fields<R> fox::attention(const arguments<R>& call, const recipe<R>& how) {
  const heads<R> all(call);
  field<R> out = call["v"];
  for (std::size_t head = 0; head < all.count(); ++head)
    attend(all.at(head), all.decay(head, how).data(), out.data() + head * all.tokens() * all.value_width(), how.heads);
  return {{"o", std::move(out)}};
}

}  // namespace assay::reference::encodings
