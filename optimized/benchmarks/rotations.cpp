// Measures the time of angle tables and rotary encodings on one thread and on every instruction set. It compares them
// with plain loops over cos and sin of the C library.
//
//   optimized_benchmark [small]
//
// A time is the least processor time of several runs. The variants take turns, so that a busy machine slows all of
// them. `speed` is the time of the first line divided by the time of the line. `error` is the largest error over
// sampled rows against MPFR. For tables its unit is u = 2^-24 (f32) or 2^-53 (f64); for rotations its unit is u times
// the larger coordinate of the pair. The f64 loops are the common way; they lose digits where an angle m theta is
// rounded. In f32, "libm in f64" rounds once, as this code does; "libm in f32" is what a program does that computes in
// f32 alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/angle_table.hpp"
#include "optimized/tests/exact_rotation.hpp"
#include "optimized/token_rotations.hpp"

namespace assay::optimized::benchmarks {
namespace {

using tests::exact_number, tests::exact_rotation, tests::rotary_shape;

struct sizes {
  std::size_t table_rows, table_width, tokens, heads, features;
  int runs;
};

template <class Real>
constexpr double unit = std::numeric_limits<Real>::epsilon() / 2;
template <class Real>
constexpr const char* type_name = sizeof(Real) == sizeof(float) ? "f32" : "f64";

struct variant {
  std::string name;
  std::function<void()> run;
  double seconds = std::numeric_limits<double>::infinity(), error = 0;
};

// Each variant writes to the same result; `error` measures this result.
void compare(const std::string& title, double pairs, int runs, std::vector<variant> all,
             const std::function<double()>& error) {
  for (int k = 0; k < runs; ++k)
    for (variant& v : all) {
      const std::clock_t start = std::clock();
      v.run();
      v.seconds = std::min(v.seconds, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
      if (k == 0) v.error = error();
    }
  fmt::print("{}\n  {:<22} {:>10} {:>13} {:>8} {:>12}\n", title, "", "ms", "ns per pair", "speed", "error");
  for (const variant& v : all)
    fmt::print("  {:<22} {:>10.2f} {:>13.2f} {:>8.2f} {:>12.4g}\n", v.name, 1e3 * v.seconds, 1e9 * v.seconds / pairs,
               all.front().seconds / v.seconds, v.error);
}

// Adds this code on every instruction set behind the plain loops.
void add_targets(std::vector<variant>& all, const std::function<void()>& run) {
  for (const std::string_view target : supported_targets())
    all.push_back({fmt::format("this code, {}", target), [target, run] {
                     force_target(target);
                     run();
                   }});
}

std::vector<frequency> frequencies_of(std::size_t pairs) {
  std::vector<frequency> theta;
  for (std::size_t t = 0; t < pairs; ++t)
    theta.push_back(geometric_frequency(10000, static_cast<long>(t), static_cast<long>(pairs)));
  return theta;
}

std::vector<double> counted(std::size_t count) {
  std::vector<double> positions(count);
  for (std::size_t i = 0; i < count; ++i) positions[i] = static_cast<double>(i);
  return positions;
}

// Computes angles, cosines and sines in the arithmetic of `Angle`.
template <class Angle, class Real>
void plain_table(const std::vector<frequency>& theta, std::size_t rows, Real* table) {
  std::vector<Angle> rounded(theta.size());
  std::transform(theta.begin(), theta.end(), rounded.begin(), [](frequency f) { return static_cast<Angle>(f.high); });
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t t = 0; t < theta.size(); ++t) {
      const Angle angle = static_cast<Angle>(i) * rounded[t];
      *table++ = static_cast<Real>(std::sin(angle));
      *table++ = static_cast<Real>(std::cos(angle));
    }
}

template <class Real>
void measure_table(const sizes& s) {
  const std::vector<frequency> theta = frequencies_of(s.table_width / 2);
  const std::vector<double> positions = counted(s.table_rows);
  std::vector<Real> table(s.table_rows * s.table_width);
  const auto error = [&] {
    double worst = 0;
    exact_rotation exact;
    for (std::size_t i = 0; i < s.table_rows; i += 257)
      for (std::size_t t = 0; t < theta.size(); ++t) {
        exact.find(positions[i], theta[t]);
        const Real* pair = table.data() + i * s.table_width + 2 * t;
        worst = std::max({worst, exact.sine.distance(static_cast<double>(pair[0])),
                          exact.cosine.distance(static_cast<double>(pair[1]))});
      }
    return worst / unit<Real>;
  };
  std::vector<variant> all{{"libm in f64", [&] { plain_table<double>(theta, s.table_rows, table.data()); }}};
  if (sizeof(Real) == sizeof(float))
    all.push_back({"libm in f32", [&] { plain_table<float>(theta, s.table_rows, table.data()); }});
  const column_places places{true, true, theta.size(), theta.size(), s.table_width};
  add_targets(all, [&] {
    write_table(process_execution(), places, prepared_frequencies(theta),
                dense<const double, 1>(positions.data(), {positions.size()}), 0.0,
                dense<Real, 2>(table.data(), {s.table_rows, s.table_width}));
  });
  compare(fmt::format("sinusoidal table [{}, {}] {}, interleaved", s.table_rows, s.table_width, type_name<Real>),
          static_cast<double>(s.table_rows * theta.size()), s.runs, std::move(all), error);
}

// Finds the rotations of a token once for all its heads. Products and sums are in the arithmetic of `Angle`.
template <class Angle, class Real>
void plain_rotation(const rotary_shape& shape, const std::vector<frequency>& theta, const Real* x, Real* y) {
  std::vector<Angle> rounded(theta.size()), cosine(theta.size()), sine(theta.size());
  std::transform(theta.begin(), theta.end(), rounded.begin(), [](frequency f) { return static_cast<Angle>(f.high); });
  for (std::size_t i = 0; i < shape.tokens; ++i) {
    for (std::size_t t = 0; t < shape.pairs; ++t) {
      const Angle angle = static_cast<Angle>(i) * rounded[t];
      cosine[t] = std::cos(angle);
      sine[t] = std::sin(angle);
    }
    for (std::size_t head = 0; head < shape.heads; ++head, x += shape.features, y += shape.features)
      for (std::size_t t = 0; t < shape.pairs; ++t) {
        const Angle a = static_cast<Angle>(x[shape.first(t)]), b = static_cast<Angle>(x[shape.second(t)]);
        y[shape.first(t)] = static_cast<Real>(a * cosine[t] - b * sine[t]);
        y[shape.second(t)] = static_cast<Real>(a * sine[t] + b * cosine[t]);
      }
  }
}

template <class Real>
double rotation_error(const rotary_shape& shape, const std::vector<frequency>& theta, const std::vector<Real>& x,
                      const std::vector<Real>& y) {
  double worst = 0;
  exact_rotation exact;
  exact_number truth, product;
  for (std::size_t i = 0; i < shape.tokens; i += 129)
    for (std::size_t t = 0; t < shape.pairs; ++t) {
      const std::size_t head = i * shape.heads * shape.features;
      const auto a = static_cast<double>(x[head + shape.first(t)]), b = static_cast<double>(x[head + shape.second(t)]);
      exact.find(static_cast<double>(i), theta[t]);
      mpfr_mul_d(truth.value, exact.cosine.value, a, MPFR_RNDN);
      mpfr_mul_d(product.value, exact.sine.value, b, MPFR_RNDN);
      mpfr_sub(truth.value, truth.value, product.value, MPFR_RNDN);
      const double e = truth.distance(static_cast<double>(y[head + shape.first(t)]));
      worst = std::max(worst, e / std::max(std::fabs(a), std::fabs(b)));
    }
  return worst / unit<Real>;
}

template <class Real>
void measure_rotation(const sizes& s, bool half_split) {
  const rotary_shape shape{s.tokens, s.heads, s.features, s.features / 2, half_split};
  const std::vector<frequency> theta = frequencies_of(shape.pairs);
  const std::vector<double> positions = counted(s.tokens);
  std::vector<Real> x(s.tokens * s.heads * s.features), y(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<Real>(static_cast<double>(k * 7919 % 2003) / 1001 - 1);
  const Real* from = x.data();
  Real* to = y.data();
  std::vector<variant> all{{"libm in f64", [&] { plain_rotation<double>(shape, theta, from, to); }}};
  if (sizeof(Real) == sizeof(float))
    all.push_back({"libm in f32", [&] { plain_rotation<float>(shape, theta, from, to); }});
  add_targets(all, [&] {
    const std::array<std::size_t, 4> all_heads{1, shape.tokens, shape.heads, shape.features};
    turn_tokens<Real>(process_execution(), {shape.pairs, shape.half_split}, prepared_frequencies(theta),
                      dense<const double, 2>(positions.data(), {1, shape.tokens}), false,
                      dense<const Real, 4>(from, all_heads), dense<Real, 4>(to, all_heads));
  });
  compare(fmt::format("rope/rotate [1, {}, {}, {}] {}, {}", s.tokens, s.heads, s.features, type_name<Real>,
                      half_split ? "half_split" : "interleaved"),
          static_cast<double>(s.tokens * s.heads * shape.pairs), s.runs, std::move(all),
          [&] { return rotation_error(shape, theta, x, y); });
}

void measure_all(const sizes& s) {
  measure_table<float>(s);
  measure_table<double>(s);
  for (const bool half_split : {true, false}) {
    measure_rotation<float>(s, half_split);
    measure_rotation<double>(s, half_split);
  }
}

}  // namespace
}  // namespace assay::optimized::benchmarks

int main(int count, char** words) {
  using namespace assay::optimized;
  const bool small = count == 2 && std::string_view(words[1]) == "small";
  if (count > 1 && !small) {
    fmt::print(stderr, "usage: {} [small]\n", words[0]);
    return 2;
  }
  set_threads(1);
  benchmarks::measure_all(small ? benchmarks::sizes{8, 16, 4, 2, 8, 1}
                                : benchmarks::sizes{8192, 512, 4096, 32, 128, 7});
  return 0;
}
