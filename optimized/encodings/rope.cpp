// Rotary position embedding.
//
// The rotations of a token, one a pair, are found once and serve all its heads; they are exact enough at every position
// (token_rotations.hpp). Tokens are shared out to threads in fixed blocks, and the sums of the gradients are
// compensated and joined in the order of the blocks: the same bits for any number of threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "optimized/angles.hpp"
#include "optimized/buffers.hpp"
#include "optimized/compensated.hpp"
#include "optimized/dispatch.hpp"
#include "optimized/operations.hpp"
#include "optimized/token_rotations.hpp"

namespace assay::optimized {
namespace {

/// Positions of the tokens and frequencies of the pairs.
struct rope_angles {
  std::vector<double> positions;
  prepared_frequencies frequencies;
};

template <class Real>
std::vector<Real> turned(const rotary_shape& shape, const rope_angles& angles, const std::vector<Real>& x, bool back) {
  std::vector<Real> y(x.size());
  turn_tokens(shape, angles.positions, angles.frequencies, back, x.data(), y.data());
  return y;
}

template <class Real>
struct angle_gradients {
  std::vector<Real> theta, position;
};

// The torques y_first g_second - y_second g_first, times the position for theta-bar and theta for the position's.
template <class Real>
angle_gradients<Real> gradients_of_angles(const rotary_shape& shape, const rope_angles& angles,
                                          const std::vector<Real>& y, const std::vector<Real>& g) {
  std::vector<compensated> parts(shape.blocks() * shape.pairs), all(shape.pairs);
  angle_gradients<Real> gradients{std::vector<Real>(shape.pairs), std::vector<Real>(shape.tokens)};
  for_each_task(shape.blocks(), [&](std::size_t block) {
    compensated* of_theta = parts.data() + block * shape.pairs;
    for (std::size_t i = block * rotary_shape::block_tokens;
         i < std::min((block + 1) * rotary_shape::block_tokens, shape.tokens); ++i) {
      compensated of_position;
      for (std::size_t head = i * shape.heads; head < (i + 1) * shape.heads; ++head)
        for (std::size_t t = 0; t < shape.pairs; ++t) {
          const std::size_t first = head * shape.features + shape.first(t),
                            second = head * shape.features + shape.second(t);
          const double torque = static_cast<double>(y[first]) * static_cast<double>(g[second]) -
                                static_cast<double>(y[second]) * static_cast<double>(g[first]);
          of_theta[t].add(angles.positions[i] * torque);
          of_position.add(angles.frequencies[t] * torque);
        }
      gradients.position[i] = static_cast<Real>(of_position.total());
    }
  });
  for (std::size_t k = 0; k < parts.size(); ++k) {
    all[k % shape.pairs].add(parts[k].high);
    all[k % shape.pairs].low += parts[k].low;
  }
  for (std::size_t t = 0; t < shape.pairs; ++t) gradients.theta[t] = static_cast<Real>(all[t].total());
  return gradients;
}

rotary_shape shape_of_call(const arguments& call, std::size_t pairs) {
  const core::shape s = call.inputs.at("x").shape();
  return {s[0] * s[1], s[2], s[3], pairs, core::setting<std::string>(call.settings, "layout") == "half_split"};
}

// x * y and x / y, to about 105 bits.
frequency times(frequency x, frequency y) {
  const double r = x.high * y.high;
  return {r, std::fma(x.high, y.high, -r) + (x.high * y.low + x.low * y.high)};
}
frequency divided(frequency x, double y) {
  const double r = x.high / y;
  return {r, (std::fma(-r, y, x.high) + x.low) / y};
}

rotary_shape shape_of_rotate(const arguments& call) {
  const auto rotary = core::setting<std::int64_t>(call.settings, "rotary");
  const std::size_t features = call.inputs.at("x").shape()[3];
  return shape_of_call(call, rotary == 0 ? features / 2 : static_cast<std::size_t>(rotary));
}

rope_angles angles_of_rotate(const arguments& call, std::size_t pairs) {
  std::vector<frequency> theta;
  const auto base = core::setting<double>(call.settings, "base");
  const auto scale = core::setting<double>(call.settings, "position_scale");
  for (std::size_t t = 0; t < pairs; ++t)
    theta.push_back(divided(geometric_frequency(base, static_cast<long>(t), static_cast<long>(pairs)), scale));
  return {values_of<double>(call.inputs, "position"), prepared_frequencies(std::move(theta))};
}

core::tensors evaluate_rotate(const arguments& call, const char* input, const char* output, bool back) {
  const rotary_shape shape = shape_of_rotate(call);
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const auto y = turned(shape, angles_of_rotate(call, shape.pairs), values_of<Real>(call.inputs, input), back);
    return {{output, tensor_of(call.inputs.at("x").shape(), y)}};
  });
}
core::tensors rotate(const arguments& call) { return evaluate_rotate(call, "x", "y", false); }
core::tensors rotate_vjp(const arguments& call) { return evaluate_rotate(call, "grad_y", "grad_x", true); }

rope_angles angles_of_rotate_by(const arguments& call) {
  std::vector<frequency> theta;
  for (const double x : values_of<double>(call.inputs, "theta")) theta.push_back({x, 0.0});
  return {values_of<double>(call.inputs, "position"), prepared_frequencies(std::move(theta))};
}

core::tensors rotate_by(const arguments& call) {
  const rope_angles angles = angles_of_rotate_by(call);
  const rotary_shape shape = shape_of_call(call, angles.frequencies.size());
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const auto y = turned(shape, angles, values_of<Real>(call.inputs, "x"), false);
    return {{"y", tensor_of(call.inputs.at("x").shape(), y)}};
  });
}

core::tensors rotate_by_vjp(const arguments& call) {
  const core::tensors& in = call.inputs;
  const rope_angles angles = angles_of_rotate_by(call);
  const rotary_shape shape = shape_of_call(call, angles.frequencies.size());
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const std::vector<Real> g = values_of<Real>(in, "grad_y");
    const auto grad_x = turned(shape, angles, g, true);
    const auto y = turned(shape, angles, values_of<Real>(in, "x"), false);
    const angle_gradients<Real> of_angles = gradients_of_angles(shape, angles, y, g);
    return {{"grad_x", tensor_of(in.at("x").shape(), grad_x)},
            {"grad_theta", tensor_of(in.at("theta").shape(), of_angles.theta)},
            {"grad_position", tensor_of(in.at("position").shape(), of_angles.position)}};
  });
}

// base^(-t / pairs), scaled as the call says.
frequency scaled_frequency(const arguments& call, double base, long t, long pairs) {
  const auto& scaling = core::setting<std::string>(call.settings, "scaling");
  const auto factor = core::setting<double>(call.settings, "factor");
  const frequency theta = geometric_frequency(base, t, pairs);
  if (scaling == "interpolation") return divided(theta, factor);
  return scaling == "ntk" && pairs > 1 ? times(theta, geometric_frequency(factor, t, pairs - 1)) : theta;
}

struct frequency_problem {
  std::vector<double> bases;
  std::size_t pairs;
};
frequency_problem problem_of(const arguments& call) {
  return {values_of<double>(call.inputs, "base"),
          static_cast<std::size_t>(core::setting<std::int64_t>(call.settings, "pairs"))};
}

// visit(k, t, theta) for all frequencies, those of one base after another.
template <class Visit>
void for_frequencies(const arguments& call, const frequency_problem& problem, Visit visit) {
  for_each_task(problem.bases.size(), [&](std::size_t k) {
    for (std::size_t t = 0; t < problem.pairs; ++t)
      visit(k, t, scaled_frequency(call, problem.bases[k], static_cast<long>(t), static_cast<long>(problem.pairs)));
  });
}

core::tensors frequencies(const arguments& call) {
  const frequency_problem problem = problem_of(call);
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    std::vector<Real> theta(problem.bases.size() * problem.pairs);
    for_frequencies(call, problem, [&](std::size_t k, std::size_t t, frequency f) {
      theta[k * problem.pairs + t] = static_cast<Real>(f.high);
    });
    return {{"theta", tensor_of({problem.bases.size(), problem.pairs}, theta)}};
  });
}

core::tensors frequencies_vjp(const arguments& call) {
  const frequency_problem problem = problem_of(call);
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    const std::vector<Real> g = values_of<Real>(call.inputs, "grad_theta");
    std::vector<compensated> sums(problem.bases.size());
    for_frequencies(call, problem, [&](std::size_t k, std::size_t t, frequency f) {
      const double share = static_cast<double>(t) / static_cast<double>(problem.pairs);
      sums[k].add(-static_cast<double>(g[k * problem.pairs + t]) * share * f.high / problem.bases[k]);
    });
    std::vector<Real> grad(sums.size());
    std::transform(sums.begin(), sums.end(), grad.begin(),
                   [](const compensated& s) { return static_cast<Real>(s.total()); });
    return {{"grad_base", tensor_of({problem.bases.size()}, grad)}};
  });
}

}  // namespace

std::vector<routine> rope_routines() {
  return {{"rope/frequencies", frequencies}, {"rope/frequencies:vjp", frequencies_vjp},
          {"rope/rotate", rotate},           {"rope/rotate:vjp", rotate_vjp},
          {"rope/rotate_by", rotate_by},     {"rope/rotate_by:vjp", rotate_by_vjp}};
}

}  // namespace assay::optimized
