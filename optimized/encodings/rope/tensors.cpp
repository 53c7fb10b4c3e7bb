// The operations of rotary position embedding on tensors.
#include <array>
#include <cstdint>
#include <vector>

#include "optimized/encodings/rope.hpp"
#include "optimized/tensor_arrays.hpp"

namespace assay::optimized {
namespace rope {
namespace {

/// The settings of a rotation, except those of pairs and frequencies.
struct convention {
  bool clockwise = false, proportional = false, at_end = false;
  double magnitude = 1.0;
  explicit convention(const arguments& call) {
    if (!call.settings.contains("direction")) return;  // rotate_by has no direction
    const auto is = [&](const char* name, const char* value) {
      return core::setting<std::string>(call.settings, name) == value;
    };
    clockwise = is("direction", "clockwise");
    proportional = is("partial", "proportional");
    at_end = is("at", "end");
    magnitude = core::setting<double>(call.settings, "magnitude");
  }
};

/// Returns the given frequencies, or those of a base.
template <class Real>
prepared_frequencies frequencies_of(const arguments& call, tensor_arrays<Real>& arrays, std::size_t features) {
  if (call.inputs.contains("theta")) return given_frequencies(arrays.template input<1>("theta"));
  const auto rotary = static_cast<std::size_t>(core::setting<std::int64_t>(call.settings, "rotary"));
  const std::size_t pairs = rotary == 0 ? features / 2 : rotary;
  return rope::geometric_frequencies(core::setting<double>(call.settings, "base"), pairs,
                                     core::setting<double>(call.settings, "position_scale"),
                                     convention(call).proportional ? features / 2 : pairs);
}
rotary_pairs pairs_of(const arguments& call, const prepared_frequencies& theta) {
  return {theta.size(), core::setting<std::string>(call.settings, "layout") == "half_split"};
}

/// rope::rotate for coordinates that do not stand at the beginning, or that are multiplied. It gathers the coordinates,
/// turns them and puts them back.
template <class Real>
void rotate_gathered(const execution& on, const convention& by, const rotary_pairs& pairs,
                     const prepared_frequencies& theta, const view<const double, 2>& position, bool back,
                     const view<const Real, 4>& x, const view<Real, 4>& y) {
  const auto [rows, tokens, heads, features] = x.shape;
  const std::size_t start = by.at_end ? features - 2 * pairs.count : 0,
                    apart = by.proportional && pairs.half_split ? features / 2 : pairs.second(0) - pairs.first(0);
  std::vector<std::size_t> turning;  // the two coordinates of each pair, one pair after the other
  for (std::size_t t = 0; t < pairs.count; ++t)
    for (const std::size_t k : {std::size_t{0}, apart}) turning.push_back(start + pairs.first(t) + k);
  const std::array<std::size_t, 4> shape{rows, tokens, heads, turning.size()};
  std::vector<Real> memory(2 * rows * tokens * heads * turning.size());
  const view<Real, 4> gathered = dense<Real, 4>(memory.data(), shape),
                      turned = dense<Real, 4>(memory.data() + memory.size() / 2, shape);
  const auto each_vector = [rows = rows, tokens = tokens, heads = heads](auto visit) {
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t token = 0; token < tokens; ++token)
        for (std::size_t head = 0; head < heads; ++head) visit(row, token, head);
  };
  each_vector([&, features = features](auto... vector) {
    for (std::size_t c = 0; c < features; ++c) *y.at(vector..., c) = *x.at(vector..., c);
    for (std::size_t k = 0; k < turning.size(); ++k) *gathered.at(vector..., k) = *x.at(vector..., turning[k]);
  });
  rope::rotate<Real>(on, {pairs.count, false}, theta, position, back, gathered, turned);
  each_vector([&](auto... vector) {
    for (std::size_t k = 0; k < turning.size(); ++k)
      *y.at(vector..., turning[k]) = static_cast<Real>(by.magnitude * static_cast<double>(*turned.at(vector..., k)));
  });
}

core::tensors turned(const arguments& call, const char* input, const char* output, bool back) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto x = arrays.template input<4>(input);
    const prepared_frequencies theta = frequencies_of(call, arrays, x.shape[3]);
    const convention by(call);
    const auto position = arrays.template positions<2>("position");
    const auto y = arrays.template output<4>(output, x.shape);
    if (by.proportional || by.at_end || by.magnitude != 1.0)
      rotate_gathered<Real>(call.on, by, pairs_of(call, theta), theta, position, back != by.clockwise, x, y);
    else
      rope::rotate(call.on, pairs_of(call, theta), theta, position, back != by.clockwise, x, y);
  });
}
core::tensors rotate(const arguments& call) { return turned(call, "x", "y", false); }
core::tensors rotate_vjp(const arguments& call) { return turned(call, "grad_y", "grad_x", true); }

core::tensors rotate_by_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto x = arrays.template input<4>("x"), grad_y = arrays.template input<4>("grad_y");
    const prepared_frequencies theta = frequencies_of(call, arrays, x.shape[3]);
    const rotary_pairs pairs = pairs_of(call, theta);
    const auto position = arrays.template positions<2>("position");
    rope::rotate(call.on, pairs, theta, position, true, grad_y, arrays.template output<4>("grad_x", x.shape));
    rope::rotate_angles_vjp(call.on, pairs, theta, position, x, grad_y,
                            arrays.template output<1>("grad_theta", {theta.size()}),
                            arrays.template output<2>("grad_position", position.shape));
  });
}

rope::scale scale_of(const arguments& call) {
  const auto& name = core::setting<std::string>(call.settings, "scaling");
  return {name == "interpolation" ? rope::scaling::interpolation
          : name == "ntk"         ? rope::scaling::ntk
                                  : rope::scaling::none,
          core::setting<double>(call.settings, "factor")};
}

core::tensors frequencies(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto base = arrays.template input<1>("base");
    const auto pairs = static_cast<std::size_t>(core::setting<std::int64_t>(call.settings, "pairs"));
    rope::frequencies(call.on, scale_of(call), base, arrays.template output<2>("theta", {base.shape[0], pairs}));
  });
}
core::tensors frequencies_vjp(const arguments& call) {
  return with_arrays(call, [&]<class Real>(tensor_arrays<Real>& arrays) {
    const auto base = arrays.template input<1>("base");
    rope::frequencies_vjp(call.on, scale_of(call), base, arrays.template input<2>("grad_theta"),
                          arrays.template output<1>("grad_base", base.shape));
  });
}

}  // namespace
}  // namespace rope

std::vector<routine> rope_routines() {
  using namespace rope;
  return {{"rope/frequencies", frequencies}, {"rope/frequencies:vjp", frequencies_vjp},
          {"rope/rotate", rotate},           {"rope/rotate:vjp", rotate_vjp},
          {"rope/rotate_by", rotate},        {"rope/rotate_by:vjp", rotate_by_vjp}};
}

}  // namespace assay::optimized
