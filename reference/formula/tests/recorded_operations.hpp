// Operations of the list, recorded in the plainest way, as a C++ author may do it.
#pragma once

#include "reference/formula/owner.hpp"
#include "reference/formula/recording.hpp"
#include "reference/oracle.hpp"

namespace assay::reference::formula::owned {

// rope/rotate: halves are rotated by m base^(-t / r), with all coordinates.
inline program recorded_rotation(const program_sizes& s) {
  enum stage { angle, table, product };
  recording recorder({"angle", "table", "product"});
  const std::size_t rows = s.size("B"), n = s.size("n"), h = s.size("h"), d = s.size("d"), r = d / 2;
  const traced x = recorder.input("x", {rows, n, h, d});
  const traced angles = in_stage<traced>(angle, [&] {
    const traced base = setting(core::setting<double>(s.settings, "base"));
    traced theta = geometric_frequencies(base, 0, r, std::max<std::size_t>(r, 1));
    if (s.for_what == purpose::law && r > 1)
      theta = covering(theta, [&] {
        const traced factor = power(base, ratio(-1, static_cast<long>(r)));
        std::vector<traced> powers{traced(1.0), factor};
        while (powers.size() < r) powers.push_back(powers.back() * factor);
        for (traced& one : powers) one = reshaped(one, {1});
        return joined(powers, 0);
      });
    return reshaped(to_real(recorder.integers("position", {rows, n})), {rows, n, 1, 1}) * theta;
  });
  const auto [c, z] = in_stage<traced>(table, [&] { return std::pair(cosine_of(angles), sine_of(angles)); });
  const bool halves = core::setting<std::string>(s.settings, "layout") == "half_split";
  const auto coordinate = [&](std::size_t k) {
    return halves
               ? between(x, 3, k * r, (k + 1) * r)
               : reshaped(between(reshaped(between(x, 3, 0, 2 * r), {rows, n, h, r, 2}), 4, k, k + 1), {rows, n, h, r});
  };
  const traced first = coordinate(0), second = coordinate(1), rest = between(x, 3, 2 * r, d);
  const auto turned = in_stage<traced>(
      product, [&, c = c, z = z] { return std::pair(first * c - second * z, first * z + second * c); });
  const auto beside = [&](const traced& y) { return reshaped(y, {rows, n, h, r, 1}); };
  const traced all = halves ? joined({turned.first, turned.second}, 3)
                            : reshaped(joined({beside(turned.first), beside(turned.second)}, 4), {rows, n, h, 2 * r});
  recorder.output("y", joined({all, rest}, 3));
  return recorder.finish();
}

// attention/output: softmax(scale q k + bias) v, where the bias is -inf for a hidden key; 0 where all keys are hidden.
inline program recorded_attention(const program_sizes& s) {
  enum stage { scores, softmax, output };
  recording recorder({"scores", "softmax", "output", std::string(core::accumulation)});
  const std::size_t b = s.size("B"), h = s.size("h"), n = s.size("n"), m = s.size("m"), d = s.size("d"),
                    e = s.size("e");
  const traced q = recorder.input("q", {b, h, n, d}), k = recorder.input("k", {b, h, m, d}),
               v = recorder.input("v", {b, h, m, e}), bias = recorder.input("bias", {1, h, n, m}),
               hidden(-std::numeric_limits<double>::infinity());
  const traced logits = in_stage<traced>(scores, [&] {
    const traced product = contracted(q, k, "bhnd,bhmd->bhnm");
    if (core::setting<std::string>(s.settings, "scale") == "one") return product + bias;
    return power(traced(static_cast<double>(d)), ratio(-1, 2)) * product + bias;
  });
  const traced masked = either(equal(bias, hidden), hidden, logits);
  const traced weights = in_stage<traced>(softmax, [&] { return softmax_along(masked, 3); });
  const traced seen = either(equal(masked, hidden), traced(0.0), weights);
  recorder.output("o", in_stage<traced>(output, [&] { return contracted(seen, v, "bhnm,bhme->bhne"); }));
  return recorder.finish();
}

inline core::operation declared_as(const char* name, const char* listed) {
  core::operation op = *find_operation(listed);
  op.name = name;
  return op;
}

}  // namespace assay::reference::formula::owned
