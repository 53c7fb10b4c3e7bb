// Attention with linear biases. A bias is one product of a slope and an exact integer, rounded once in f64 and, by way
// of f64, in f32; the results are written once and never read, so memory is the limit and heads share the work. Slopes
// come from 120 bits: half a unit of the last place, correctly rounded for all heads up to 128 (tests).
#include <cmath>
#include <limits>

#include "optimized/angles.hpp"
#include "optimized/buffers.hpp"
#include "optimized/dispatch.hpp"
#include "optimized/operations.hpp"

namespace assay::optimized {
namespace {

/// The slope is 2^(-p / q).
struct exponent {
  long p, q;
};

// alpha_max is a multiple of 1 / parts.
constexpr long parts = 16;

exponent official_exponent(long head, long heads) {
  long power = 1;
  while (2 * power <= heads) power *= 2;
  return head <= power ? exponent{8 * head, power} : exponent{4 * (2 * (head - power) - 1), power};
}

// The slopes of the next power of two, those of even number first.
exponent mpt_exponent(long head, long heads, long alpha) {
  long power = 1;
  while (power < heads) power *= 2;
  if (power == heads) return {alpha * head, parts * power};
  return {alpha * (head <= power / 2 ? 2 * head : 2 * (head - power / 2) - 1), parts * power};
}

core::tensors evaluate_slopes(const arguments& call) {
  const auto heads = static_cast<long>(core::setting<std::int64_t>(call.settings, "heads"));
  const long alpha = std::lround(core::setting<double>(call.settings, "alpha_max") * parts);
  const auto& rule = core::setting<std::string>(call.settings, "rule");
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    std::vector<Real> slopes;
    for (long head = 1; head <= heads; ++head) {
      const exponent e = rule == "official" ? official_exponent(head, heads)
                         : rule == "mpt"    ? mpt_exponent(head, heads, alpha)
                                            : exponent{alpha * head, parts * heads};
      slopes.push_back(static_cast<Real>(geometric_frequency(2.0, e.p, e.q).high));
    }
    return {{"slopes", tensor_of({slopes.size()}, slopes)}};
  });
}

/// What a slope is multiplied by, and which pairs are masked.
struct form {
  explicit form(const core::attributes& settings)
      : name(core::setting<std::string>(settings, "form")),
        causal(core::setting<bool>(settings, "causal")),
        last(static_cast<double>(core::setting<std::int64_t>(settings, "last_position"))) {}

  /// Of one query and every key.
  void coefficients(double query, const std::vector<double>& keys, std::vector<double>& out) const {
    const bool of_key = name == "key" || name == "key_from_last";
    const double origin = !of_key ? query : name == "key" ? 0.0 : last;
    for (std::size_t j = 0; j < keys.size(); ++j) out[j] = keys[j] - origin;
    if (name == "absolute")
      for (double& c : out) c = -std::fabs(c);
  }
  [[nodiscard]] bool hides(double query, double key) const { return causal && key > query; }

  std::string name;
  bool causal;
  double last;
};

core::tensors evaluate_bias(const arguments& call) {
  const form f(call.settings);
  const std::vector<double> slopes = values_of<double>(call.inputs, "slopes");
  const std::vector<double> queries = values_of<double>(call.inputs, "query_position");
  const std::vector<double> keys = values_of<double>(call.inputs, "key_position");
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    std::vector<Real> out(slopes.size() * queries.size() * keys.size());
    for_each_task(queries.size(), [&](std::size_t i) {
      std::vector<double> c(keys.size());
      f.coefficients(queries[i], keys, c);
      for (std::size_t k = 0; k < slopes.size(); ++k) {
        Real* row = out.data() + (k * queries.size() + i) * keys.size();
        for (std::size_t j = 0; j < keys.size(); ++j)
          row[j] = f.hides(queries[i], keys[j]) ? -std::numeric_limits<Real>::infinity()
                                                : static_cast<Real>(slopes[k] * c[j]);
      }
    });
    return {{"bias", tensor_of({slopes.size(), queries.size(), keys.size()}, out)}};
  });
}

// The sum of one head by rows: the same bits for any number of threads.
core::tensors evaluate_bias_vjp(const arguments& call) {
  const form f(call.settings);
  const std::vector<double> queries = values_of<double>(call.inputs, "query_position");
  const std::vector<double> keys = values_of<double>(call.inputs, "key_position");
  const std::vector<double> cotangents = values_of<double>(call.inputs, "grad_bias");
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    std::vector<Real> gradient(call.inputs.at("slopes").size());
    for_each_task(gradient.size(), [&](std::size_t k) {
      std::vector<double> c(keys.size());
      double total = 0;
      for (std::size_t i = 0; i < queries.size(); ++i) {
        const double* row = cotangents.data() + (k * queries.size() + i) * keys.size();
        f.coefficients(queries[i], keys, c);
        double sum = 0;
        for (std::size_t j = 0; j < keys.size(); ++j) sum += f.hides(queries[i], keys[j]) ? 0.0 : row[j] * c[j];
        total += sum;
      }
      gradient[k] = static_cast<Real>(total);
    });
    return {{"grad_slopes", tensor_of({gradient.size()}, gradient)}};
  });
}

}  // namespace

std::vector<routine> alibi_routines() {
  return {{"alibi/slopes", evaluate_slopes}, {"alibi/bias", evaluate_bias}, {"alibi/bias:vjp", evaluate_bias_vjp}};
}

}  // namespace assay::optimized
