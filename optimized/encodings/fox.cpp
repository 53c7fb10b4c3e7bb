// The decay of forgetting attention: sums of log forget gates over all segments that end in a token. And the attention.
//
// Every column is a running sum of its own that starts at the diagonal, so its error grows with the distance of the
// two tokens and not with their positions, and log f = -inf stays among the pairs that it separates. f32 is summed in
// f64, f64 with a second number for what the additions leave (Knuth 1998, section 4.2.2, theorem B): each D is rounded
// about once. The n^2 results are written once and never read: memory is the limit, so blocks of columns, which fit
// the first cache, share the work, and the compiler's vectors of the baseline suffice.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "optimized/attention.hpp"
#include "optimized/buffers.hpp"
#include "optimized/dispatch.hpp"
#include "optimized/operations.hpp"

namespace assay::optimized {
namespace {

constexpr std::size_t block_columns = 256;

/// Running sums of a block of columns, all given the same terms.
template <class Real>
class column_sums {
 public:
  /// Starts a column at 0.
  void start(std::size_t j) { high_[j] = low_[j] = 0.0; }
  /// Adds `a` to the first `count` columns and stores their sums.
  void add(double a, std::size_t count, Real* out) {
    for (std::size_t j = 0; j < count; ++j) {
      if constexpr (sizeof(Real) == sizeof(double)) {
        const double sum = high_[j] + a, added = sum - high_[j];
        low_[j] += (high_[j] - (sum - added)) + (a - added);
        high_[j] = sum;
        const double corrected = sum + low_[j];
        out[j] = sum - sum == 0.0 ? corrected : sum;  // an infinite sum has no remainder
      } else {
        high_[j] += a;
        out[j] = static_cast<Real>(high_[j]);
      }
    }
  }

 private:
  std::array<double, block_columns> high_{}, low_{};
};

struct fox_shape {
  std::size_t batch, tokens, heads;
  [[nodiscard]] std::size_t lanes() const { return batch * heads; }
  [[nodiscard]] std::size_t blocks() const { return (tokens + block_columns - 1) / block_columns; }
  /// Of token 0 in [B, n, h]; the next one stands `heads` further on.
  [[nodiscard]] std::size_t first_gate(std::size_t lane) const { return lane / heads * tokens * heads + lane % heads; }
  [[nodiscard]] std::size_t first_pair(std::size_t lane) const { return lane * tokens * tokens; }
};

fox_shape shape_of_gates(const core::shape& s) { return {s[0], s[1], s[2]}; }

/// The columns [first, last) of one head.
template <class Real>
void decay_columns(const fox_shape& shape, const double* log_f, std::size_t first, std::size_t last, Real* out) {
  const std::size_t n = shape.tokens;
  column_sums<Real> sums;
  for (std::size_t i = 0; i < n; ++i) {
    Real* row = out + i * n + first;
    const std::size_t begun = i <= first ? 0 : std::min(i, last) - first;
    sums.add(log_f[i * shape.heads], begun, row);
    std::fill(row + begun, out + i * n + last, -std::numeric_limits<Real>::infinity());
    if (i < first || i >= last) continue;
    sums.start(i - first);
    row[i - first] = Real(0);
  }
}

template <class Real>
void decay(const fox_shape& shape, const std::vector<double>& log_f, std::vector<Real>& out) {
  for_each_task(shape.lanes() * shape.blocks(), [&](std::size_t task) {
    const std::size_t lane = task / shape.blocks(), first = task % shape.blocks() * block_columns;
    decay_columns(shape, log_f.data() + shape.first_gate(lane), first, std::min(first + block_columns, shape.tokens),
                  out.data() + shape.first_pair(lane));
  });
}

/// What the columns [first, last) of one head's cotangents add to its gradient: below each diagonal the sums of
/// the columns from the end on, added up over the columns before the token.
template <class Real>
void decay_columns_vjp(std::size_t n, const Real* cotangent, std::size_t first, std::size_t last, double* gradient) {
  std::array<double, block_columns> below{};
  for (std::size_t l = n; l-- > first + 1;) {
    const std::size_t before = std::min(l, last) - first;
    const Real* row = cotangent + l * n + first;
    double sum = 0;
    for (std::size_t j = 0; j < before; ++j) below[j] += static_cast<double>(row[j]);
    for (std::size_t j = 0; j < before; ++j) sum += below[j];
    gradient[l] = sum;
  }
}

/// By blocks in their order: the same bits for any number of threads.
template <class Real>
std::vector<double> decay_vjp(const fox_shape& shape, const std::vector<Real>& cotangent) {
  const std::size_t n = shape.tokens, blocks = shape.blocks();
  std::vector<double> parts(shape.lanes() * blocks * n), gradient(shape.lanes() * n);
  for_each_task(shape.lanes() * blocks, [&](std::size_t task) {
    const std::size_t lane = task / blocks, first = task % blocks * block_columns;
    decay_columns_vjp(n, cotangent.data() + shape.first_pair(lane), first, std::min(first + block_columns, n),
                      parts.data() + task * n);
  });
  for (std::size_t lane = 0; lane < shape.lanes(); ++lane)
    for (std::size_t block = 0; block < blocks; ++block)
      for (std::size_t l = 0; l < n; ++l)
        gradient[shape.first_gate(lane) + l * shape.heads] += parts[(lane * blocks + block) * n + l];
  return gradient;
}

/// How log f is given: as it is, or as the logit of a gate.
struct log_gate {
  static constexpr const char* input = "log_f";
  static double value(double x) { return x; }
  static double slope(double) { return 1.0; }
};
struct gate_logit {
  static constexpr const char* input = "g";
  static double value(double g) { return std::min(g, 0.0) - std::log1p(std::exp(-std::fabs(g))); }
  static double slope(double g) { return g >= 0 ? std::exp(-g) / (1.0 + std::exp(-g)) : 1.0 / (1.0 + std::exp(g)); }
};

template <class Gate>
core::tensors evaluate_decay(const arguments& call) {
  const core::tensors& in = call.inputs;
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const fox_shape shape = shape_of_gates(in.at(Gate::input).shape());
    std::vector<double> log_f = values_of<double>(in, Gate::input);
    std::transform(log_f.begin(), log_f.end(), log_f.begin(), Gate::value);
    std::vector<Real> out(shape.lanes() * shape.tokens * shape.tokens);
    decay(shape, log_f, out);
    return {{"D", tensor_of({shape.batch, shape.heads, shape.tokens, shape.tokens}, out)}};
  });
}

template <class Gate>
core::tensors evaluate_decay_vjp(const arguments& call) {
  const core::tensors& in = call.inputs;
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const core::shape gates = in.at(Gate::input).shape();
    const std::vector<double> gradient = decay_vjp(shape_of_gates(gates), values_of<Real>(in, "grad_D"));
    const std::vector<double> x = values_of<double>(in, Gate::input);
    std::vector<Real> out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = static_cast<Real>(gradient[i] * Gate::slope(x[i]));
    return {{std::string("grad_") + Gate::input, tensor_of(gates, out)}};
  });
}

// The inputs of attention as arrays, with the decay as the bias of each head.
struct decayed_attention {
  core::shape q_shape, v_shape;
  std::vector<double> q, k, v, bias;
  double scale;

  explicit decayed_attention(const arguments& call)
      : q_shape(call.inputs.at("q").shape()),
        v_shape(call.inputs.at("v").shape()),
        q(values_of<double>(call.inputs, "q")),
        k(values_of<double>(call.inputs, "k")),
        v(values_of<double>(call.inputs, "v")),
        bias(gates().lanes() * gates().tokens * gates().tokens),
        scale(logit_scale(core::setting<std::string>(call.settings, "scale") == "inverse_sqrt", q_shape[3])) {
    decay(gates(), values_of<double>(call.inputs, "log_f"), bias);
  }

  [[nodiscard]] fox_shape gates() const { return {q_shape[0], q_shape[2], q_shape[1]}; }
  [[nodiscard]] attention_head head(std::size_t index) const {
    const std::size_t n = q_shape[2], d = q_shape[3], e = v_shape[3];
    return {n,
            n,
            d,
            e,
            scale,
            q.data() + index * n * d,
            k.data() + index * n * d,
            v.data() + index * n * e,
            bias.data() + index * n * n};
  }
};

core::tensors evaluate_attention(const arguments& call) {
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const decayed_attention in(call);
    std::vector<double> out(in.v.size());
    for_each_task(in.gates().lanes(),
                  [&](std::size_t h) { attend(in.head(h), out.data() + h * in.v_shape[2] * in.v_shape[3]); });
    return {{"o", tensor_of(in.v_shape, std::vector<Real>(out.begin(), out.end()))}};
  });
}

core::tensors evaluate_attention_vjp(const arguments& call) {
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const decayed_attention in(call);
    const std::vector<double> cotangents = values_of<double>(call.inputs, "grad_o");
    std::vector<double> q(in.q.size()), k(in.k.size()), v(in.v.size()), logits(in.bias.size());
    for_each_task(in.gates().lanes(), [&](std::size_t h) {
      const attention_gradients g = attend_vjp(in.head(h), cotangents.data() + h * in.v_shape[2] * in.v_shape[3]);
      g.store_head(h, q, k, v, logits);
    });
    const std::vector<double> gates = decay_vjp(in.gates(), logits);
    const auto gradient = [&](const char* name, const std::vector<double>& x) {
      return tensor_of(call.inputs.at(name).shape(), std::vector<Real>(x.begin(), x.end()));
    };
    return {{"grad_q", gradient("q", q)},
            {"grad_k", gradient("k", k)},
            {"grad_v", gradient("v", v)},
            {"grad_log_f", gradient("log_f", gates)}};
  });
}

}  // namespace

std::vector<routine> fox_routines() {
  return {{"fox/decay", evaluate_decay<log_gate>},         {"fox/decay:vjp", evaluate_decay_vjp<log_gate>},
          {"fox/gated_decay", evaluate_decay<gate_logit>}, {"fox/gated_decay:vjp", evaluate_decay_vjp<gate_logit>},
          {"fox/attention", evaluate_attention},           {"fox/attention:vjp", evaluate_attention_vjp}};
}

}  // namespace assay::optimized
