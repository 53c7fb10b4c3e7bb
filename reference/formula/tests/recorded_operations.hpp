// Operations of compiled encodings as C++ authors record them, for tests and benchmarks.
#pragma once

#include "reference/formula/owner.hpp"
#include "reference/formula/recording.hpp"
#include "reference/oracle.hpp"

namespace assay::reference::formula::owned {

// kerple/log: -r1 log(1 + r2 |i - j|), keys after the query masked. Class linear loses r2 |i - j| beside 1.
inline program recorded_kernel(const program_sizes& s) {
  recording of({"distance", "function", "product"});
  const std::size_t h = s.of("h"), n = s.of("n"), m = s.of("m");
  const traced_integer query = reshaped(of.integers("query_position", {n}), {1, n, 1}),
                       key = reshaped(of.integers("key_position", {m}), {1, 1, m});
  const traced t = in_stage<traced>(0, [&] { return to_real(magnitude_of(query - key)); });
  const traced x = in_stage<traced>(0, [&] { return of.input("r2", {h, 1, 1}) * t; });
  const traced logarithm =
      in_stage<traced>(1, [&] { return s.algorithm == accuracy_class::linear ? log(traced(1.0) + x) : log1p(x); });
  const traced bias = in_stage<traced>(2, [&] { return -(of.input("r1", {h, 1, 1}) * logarithm); });
  of.output("bias", either(less(query, key), traced(-std::numeric_limits<double>::infinity()), bias));
  return of.finish();
}

// attention/output: softmax(scale q k + bias) v, bias -inf where a key is hidden, 0 where all are.
inline program recorded_attention(const program_sizes& s) {
  enum stage { scores, softmax, output };
  recording of({"scores", "softmax", "output", std::string(core::accumulation)});
  const std::size_t b = s.of("B"), h = s.of("h"), n = s.of("n"), m = s.of("m"), d = s.of("d"), e = s.of("e");
  const traced q = of.input("q", {b, h, n, d}), k = of.input("k", {b, h, m, d}), v = of.input("v", {b, h, m, e}),
               bias = of.input("bias", {1, h, n, m}), hidden(-std::numeric_limits<double>::infinity());
  const traced logits = in_stage<traced>(scores, [&] {
    const traced product = contracted(q, k, "bhnd,bhmd->bhnm");
    if (core::setting<std::string>(s.settings, "scale") == "one") return product + bias;
    return power(traced(static_cast<double>(d)), ratio(-1, 2)) * product + bias;
  });
  const traced masked = either(equal(bias, hidden), hidden, logits);
  const traced weights = in_stage<traced>(softmax, [&] { return softmax_along(masked, 3); });
  const traced seen = either(equal(masked, hidden), traced(0.0), weights);
  of.output("o", in_stage<traced>(output, [&] { return contracted(seen, v, "bhnm,bhme->bhne"); }));
  return of.finish();
}

inline core::operation declared_as(const char* name, const char* compiled) {
  core::operation op = *find_operation(compiled);
  op.name = name;
  return op;
}

}  // namespace assay::reference::formula::owned
