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

column_places places_for(const core::attributes& settings, std::size_t leading, std::size_t trailing,
                         std::size_t width) {
  return {core::setting<std::string>(settings, "layout") == "interleaved",
          core::setting<std::string>(settings, "first") == "sine", leading, trailing, width};
}
column_places places_of_pairs(const arguments& call, std::size_t pairs) {
  return places_for(call.settings, pairs, pairs, 2 * pairs);
}

sinusoidal::scale scale_of(const core::attributes& settings, std::size_t width, std::size_t count) {
  if (core::setting<std::string>(settings, "rule") == "paper") return {2, static_cast<long>(width)};
  return {1, std::max(static_cast<long>(count) - 1, 1L)};
}

core::tensors evaluate_table(const arguments& call) {
  const auto width = static_cast<std::size_t>(core::setting<std::int64_t>(call.settings, "width"));
  const auto offset = static_cast<double>(core::setting<std::int64_t>(call.settings, "offset"));
  const auto& odd = core::setting<std::string>(call.settings, "odd");
  const std::size_t trailing = width / 2, leading = odd == "extra" ? width - trailing : trailing;
  const prepared_frequencies theta =
      sinusoidal::geometric_frequencies(scale_of(call.settings, odd == "padded" ? 2 * trailing : width, leading),
                                        core::setting<double>(call.settings, "base"), leading);
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto position = arrays.template positions<1>("position");
    const auto p = arrays.template output<2>("p", {position.shape[0], width});
    if (leading + trailing < width)  // the column of no pair
      for_each_element(p, [](Real& x) { x = 0; });
    sinusoidal::table(call.on, places_for(call.settings, leading, trailing, width), theta, position, offset, p);
  });
}

core::tensors evaluate_table_at(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const prepared_frequencies theta = given_frequencies(arrays.template input<1>("theta"));
    const column_places places = places_of_pairs(call, theta.size());
    const auto position = arrays.template positions<1>("position");
    sinusoidal::table(call.on, places, theta, position, 0.0,
                      arrays.template output<2>("p", {position.shape[0], places.width}));
  });
}

core::tensors evaluate_table_at_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const prepared_frequencies theta = given_frequencies(arrays.template input<1>("theta"));
    const auto position = arrays.template positions<1>("position");
    sinusoidal::table_vjp(call.on, places_of_pairs(call, theta.size()), theta, position,
                          arrays.template input<2>("grad_p"),
                          arrays.template output<1>("grad_position", position.shape),
                          arrays.template output<1>("grad_theta", {theta.size()}));
  });
}

core::tensors evaluate_frequencies(const arguments& call) {
  const auto pairs = static_cast<std::size_t>(core::setting<std::int64_t>(call.settings, "pairs"));
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto base = arrays.template input<1>("base");
    sinusoidal::frequencies(call.on, scale_of(call.settings, 2 * pairs, pairs), base,
                            arrays.template output<2>("theta", {base.shape[0], pairs}));
  });
}

core::tensors evaluate_frequencies_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto base = arrays.template input<1>("base");
    const auto grad_theta = arrays.template input<2>("grad_theta");
    const std::size_t pairs = grad_theta.shape[1];
    sinusoidal::frequencies_vjp(call.on, scale_of(call.settings, 2 * pairs, pairs), base, grad_theta,
                                arrays.template output<1>("grad_base", base.shape));
  });
}

core::tensors evaluate_decay(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto s = arrays.template input<1>("s");
    sinusoidal::decay(call.on, core::setting<double>(call.settings, "base"), s,
                      arrays.template output<1>("g", s.shape));
  });
}

core::tensors evaluate_decay_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto s = arrays.template input<1>("s");
    sinusoidal::decay_vjp(call.on, core::setting<double>(call.settings, "base"), s, arrays.template input<1>("grad_g"),
                          arrays.template output<1>("grad_s", s.shape));
  });
}

}  // namespace
}  // namespace sinusoidal

std::vector<routine> sinusoidal_routines() {
  using namespace sinusoidal;
  return {{"sinusoidal/table", evaluate_table},
          {"sinusoidal/table_at", evaluate_table_at},
          {"sinusoidal/table_at:vjp", evaluate_table_at_vjp},
          {"sinusoidal/frequencies", evaluate_frequencies},
          {"sinusoidal/frequencies:vjp", evaluate_frequencies_vjp},
          {"sinusoidal/decay", evaluate_decay},
          {"sinusoidal/decay:vjp", evaluate_decay_vjp}};
}

}  // namespace assay::optimized
