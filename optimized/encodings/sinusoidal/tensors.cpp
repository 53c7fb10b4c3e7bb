// The operations of sinusoidal encodings on tensors.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "optimized/encodings/sinusoidal.hpp"
#include "optimized/tensor_arrays.hpp"

namespace assay::optimized {
namespace sinusoidal {
namespace {

column_places places_for(const arguments& call, std::size_t leading, std::size_t trailing, std::size_t width) {
  return {call.setting<std::string>("layout") == "interleaved", call.setting<std::string>("first") == "sine", leading,
          trailing, width};
}
column_places places_of(const arguments& call, const prepared_frequencies& theta) {
  return places_for(call, theta.size(), theta.size(), 2 * theta.size());
}
sinusoidal::scale scale_of(const arguments& call, std::size_t width, std::size_t count) {
  const auto& rule = call.setting<std::string>("rule");
  if (rule == "tensor2tensor") return {1, std::max(static_cast<long>(count) - 1, 1L)};
  return {2, static_cast<long>(width), rule == "power"};
}

core::tensors evaluate_table(const arguments& call) {
  const auto width = static_cast<std::size_t>(call.setting<std::int64_t>("width"));
  const auto& odd = call.setting<std::string>("odd");
  const std::size_t trailing = width / 2, leading = odd == "extra" ? width - trailing : trailing;
  const scale scaled = scale_of(call, odd == "padded" ? 2 * trailing : width, leading);
  const prepared_frequencies theta =
      scaled_frequencies(scaled, call.setting<double>(scaled.is_power ? "alpha" : "base"), leading);
  return with_arrays(call, [&](auto& arrays) {
    const auto position = arrays.positions("position");
    const auto p = arrays.output("p", {position.shape[0], width});
    if (leading + trailing < width)  // the column that belongs to no pair
      for_each_element(p, [](auto& x) { x = 0; });
    table(call.on, places_for(call, leading, trailing, width), theta, position,
          static_cast<double>(call.setting<std::int64_t>("offset")), p);
  });
}

}  // namespace
}  // namespace sinusoidal

std::vector<routine> sinusoidal_routines() {
  using namespace sinusoidal;
  return {
      {"sinusoidal/table", evaluate_table},
      {"sinusoidal/table_at", on_arrays<[](const arguments& call, auto& arrays) {
         const prepared_frequencies theta = given_frequencies(arrays.vector("theta"));
         const auto position = arrays.positions("position");
         table(call.on, places_of(call, theta), theta, position, 0.0,
               arrays.output("p", {position.shape[0], 2 * theta.size()}));
       }>},
      {"sinusoidal/table_at:vjp", on_arrays<[](const arguments& call, auto& arrays) {
         const prepared_frequencies theta = given_frequencies(arrays.vector("theta"));
         const auto position = arrays.positions("position");
         table_vjp(call.on, places_of(call, theta), theta, position, arrays.matrix("grad_p"),
                   arrays.output("grad_position", position.shape), arrays.output("grad_theta", {theta.size()}));
       }>},
      {"sinusoidal/frequencies", on_arrays<[](const arguments& call, auto& arrays) {
         const auto pairs = static_cast<std::size_t>(call.setting<std::int64_t>("pairs"));
         const auto base = arrays.vector("base");
         frequencies(call.on, scale_of(call, 2 * pairs, pairs), base, arrays.output("theta", {base.shape[0], pairs}));
       }>},
      {"sinusoidal/frequencies:vjp", on_arrays<[](const arguments& call, auto& arrays) {
         const auto base = arrays.vector("base");
         const auto grad_theta = arrays.matrix("grad_theta");
         const std::size_t pairs = grad_theta.shape[1];
         frequencies_vjp(call.on, scale_of(call, 2 * pairs, pairs), base, grad_theta,
                         arrays.output("grad_base", base.shape));
       }>},
      {"sinusoidal/decay", on_arrays<[](const arguments& call, auto& arrays) {
         const auto s = arrays.vector("s");
         decay(call.on, call.setting<double>("base"), s, arrays.output("g", s.shape));
       }>},
      {"sinusoidal/decay:vjp", on_arrays<[](const arguments& call, auto& arrays) {
         const auto s = arrays.vector("s");
         decay_vjp(call.on, call.setting<double>("base"), s, arrays.vector("grad_g"), arrays.output("grad_s", s.shape));
       }>}};
}

}  // namespace assay::optimized
