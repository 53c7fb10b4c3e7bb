// Sinusoidal tables, frequencies and their gradients.
//
// Frequencies have two parts and their products with a position keep their digits (rotations.hpp), so an element is
// within 2^-53 of the truth at every position up to 2^31 and beyond, within 2^-52 at angles above 2^40, and is rounded
// once in f32. A sine and a cosine come from one rotation, whatever their columns. Blocks of rows share the work; the
// sums over positions in the gradient of theta are made by blocks in their order, each with the remainders of its
// additions: the same bits for any number of threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "optimized/angle_table.hpp"
#include "optimized/buffers.hpp"
#include "optimized/compensated.hpp"
#include "optimized/cosine_integral.hpp"
#include "optimized/operations.hpp"

namespace assay::optimized {
namespace {

column_places places_for(const core::attributes& settings, std::size_t leading, std::size_t trailing,
                         std::size_t width) {
  return {core::setting<std::string>(settings, "layout") == "interleaved",
          core::setting<std::string>(settings, "first") == "sine", leading, trailing, width};
}

template <class Real>
core::tensor table_of(const column_places& places, const prepared_frequencies& theta,
                      const std::vector<double>& positions) {
  std::vector<Real> table(positions.size() * places.width);
  write_table(places, theta, positions, table.data());
  return tensor_of({positions.size(), places.width}, table);
}

/// theta_i = base^(-(stride i) / steps).
struct scale {
  long stride, steps;
  [[nodiscard]] frequency at(double base, std::size_t pair) const {
    return geometric_frequency(base, stride * static_cast<long>(pair), steps);
  }
};

scale scale_of(const core::attributes& settings, std::size_t width, std::size_t count) {
  if (core::setting<std::string>(settings, "rule") == "paper") return {2, static_cast<long>(width)};
  return {1, std::max(static_cast<long>(count) - 1, 1L)};
}

core::tensors evaluate_table(const arguments& call) {
  const auto width = static_cast<std::size_t>(core::setting<std::int64_t>(call.settings, "width"));
  const auto offset = static_cast<double>(core::setting<std::int64_t>(call.settings, "offset"));
  const double base = core::setting<double>(call.settings, "base");
  const std::size_t trailing = width / 2;
  const std::size_t leading = core::setting<std::string>(call.settings, "odd") == "extra" ? width - trailing : trailing;
  const scale frequencies = scale_of(call.settings, width, leading);
  std::vector<frequency> theta(leading);
  for (std::size_t i = 0; i < leading; ++i) theta[i] = frequencies.at(base, i);
  const prepared_frequencies prepared(std::move(theta));
  std::vector<double> positions = values_of<double>(call.inputs, "position");
  for (double& m : positions) m += offset;
  const column_places places = places_for(call.settings, leading, trailing, width);
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    return {{"p", table_of<Real>(places, prepared, positions)}};
  });
}

prepared_frequencies given_frequencies(const core::tensors& inputs) {
  const std::vector<double> theta = values_of<double>(inputs, "theta");
  std::vector<frequency> all(theta.size());
  std::transform(theta.begin(), theta.end(), all.begin(), [](double x) { return frequency{x, 0.0}; });
  return prepared_frequencies(std::move(all));
}

column_places places_of_pairs(const arguments& call, std::size_t pairs) {
  return places_for(call.settings, pairs, pairs, 2 * pairs);
}

core::tensors evaluate_table_at(const arguments& call) {
  const prepared_frequencies theta = given_frequencies(call.inputs);
  const std::vector<double> positions = values_of<double>(call.inputs, "position");
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    return {{"p", table_of<Real>(places_of_pairs(call, theta.size()), theta, positions)}};
  });
}

template <class Real>
core::tensors table_at_vjp(const column_places& places, const prepared_frequencies& theta,
                           const std::vector<double>& positions, const std::vector<double>& cotangent) {
  const std::size_t n = positions.size(), pairs = theta.size(), blocks = (n + rows_of_a_task - 1) / rows_of_a_task;
  std::vector<Real> by_position(n), by_theta(pairs);
  std::vector<compensated> parts(blocks * pairs), of_theta(pairs);
  for_each_block(n, [&](std::size_t block, std::size_t begin, std::size_t end) {
    rotations found(pairs, false);
    for (std::size_t i = begin; i < end; ++i) {
      theta.find(positions[i], found);
      const double* row = cotangent.data() + i * places.width;
      compensated sum;
      for (std::size_t k = 0; k < pairs; ++k) {
        const double of_sine = row[places.sine_first ? places.first(k) : places.second(k)] * found.cosine[k];
        const double of_cosine = -row[places.sine_first ? places.second(k) : places.first(k)] * found.sine[k];
        sum.add(theta[k] * of_sine);
        sum.add(theta[k] * of_cosine);
        parts[block * pairs + k].add(positions[i] * of_sine);
        parts[block * pairs + k].add(positions[i] * of_cosine);
      }
      by_position[i] = static_cast<Real>(sum.total());
    }
  });
  for (std::size_t block = 0; block < blocks; ++block)
    for (std::size_t k = 0; k < pairs; ++k) {
      of_theta[k].add(parts[block * pairs + k].high);
      of_theta[k].low += parts[block * pairs + k].low;
    }
  for (std::size_t k = 0; k < pairs; ++k) by_theta[k] = static_cast<Real>(of_theta[k].total());
  return {{"grad_position", tensor_of({n}, by_position)}, {"grad_theta", tensor_of({pairs}, by_theta)}};
}

core::tensors evaluate_table_at_vjp(const arguments& call) {
  const prepared_frequencies theta = given_frequencies(call.inputs);
  const std::vector<double> positions = values_of<double>(call.inputs, "position");
  const std::vector<double> cotangent = values_of<double>(call.inputs, "grad_p");
  return with_number_type(call.type, [&]<class Real>(Real) {
    return table_at_vjp<Real>(places_of_pairs(call, theta.size()), theta, positions, cotangent);
  });
}

core::tensors evaluate_frequencies(const arguments& call) {
  const auto pairs = static_cast<std::size_t>(core::setting<std::int64_t>(call.settings, "pairs"));
  const scale frequencies = scale_of(call.settings, 2 * pairs, pairs);
  const std::vector<double> bases = values_of<double>(call.inputs, "base");
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    std::vector<Real> theta(bases.size() * pairs);
    for_each_task(bases.size(), [&](std::size_t k) {
      for (std::size_t i = 0; i < pairs; ++i)
        theta[k * pairs + i] = static_cast<Real>(frequencies.at(bases[k], i).high);
    });
    return {{"theta", tensor_of({bases.size(), pairs}, theta)}};
  });
}

core::tensors evaluate_frequencies_vjp(const arguments& call) {
  const auto pairs = static_cast<std::size_t>(core::setting<std::int64_t>(call.settings, "pairs"));
  const scale frequencies = scale_of(call.settings, 2 * pairs, pairs);
  const std::vector<double> bases = values_of<double>(call.inputs, "base");
  const std::vector<double> cotangent = values_of<double>(call.inputs, "grad_theta");
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    std::vector<Real> grad(bases.size());
    for_each_task(bases.size(), [&](std::size_t k) {
      compensated sum;
      for (std::size_t i = 0; i < pairs; ++i) {
        const double exponent =
            -static_cast<double>(frequencies.stride * static_cast<long>(i)) / static_cast<double>(frequencies.steps);
        sum.add(cotangent[k * pairs + i] * (exponent * frequencies.at(bases[k], i).high / bases[k]));
      }
      grad[k] = static_cast<Real>(sum.total());
    });
    return {{"grad_base", tensor_of({bases.size()}, grad)}};
  });
}

core::tensors evaluate_decay(const arguments& call) {
  const double base = core::setting<double>(call.settings, "base");
  const std::vector<double> s = values_of<double>(call.inputs, "s");
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    std::vector<Real> g(s.size());
    for_each_block(s.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) g[i] = static_cast<Real>(decay_at(s[i], base));
    });
    return {{"g", tensor_of({s.size()}, g)}};
  });
}

core::tensors evaluate_decay_vjp(const arguments& call) {
  const double base = core::setting<double>(call.settings, "base");
  const std::vector<double> s = values_of<double>(call.inputs, "s"), g = values_of<double>(call.inputs, "grad_g");
  return with_number_type(call.type, [&]<class Real>(Real) -> core::tensors {
    std::vector<Real> grad(s.size());
    for_each_block(s.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) grad[i] = static_cast<Real>(g[i] * decay_slope_at(s[i], base));
    });
    return {{"grad_s", tensor_of({s.size()}, grad)}};
  });
}

}  // namespace

std::vector<routine> sinusoidal_routines() {
  return {{"sinusoidal/table", evaluate_table},
          {"sinusoidal/table_at", evaluate_table_at},
          {"sinusoidal/table_at:vjp", evaluate_table_at_vjp},
          {"sinusoidal/frequencies", evaluate_frequencies},
          {"sinusoidal/frequencies:vjp", evaluate_frequencies_vjp},
          {"sinusoidal/decay", evaluate_decay},
          {"sinusoidal/decay:vjp", evaluate_decay_vjp}};
}

}  // namespace assay::optimized
