#include "reference/readings/proved_functions.hpp"

#include <mpfr.h>

#include <array>
#include <bit>
#include <cstdint>

#include "reference/readings/directed.hpp"

namespace assay::reference::proved {
namespace {

constexpr mpfr_prec_t constant_bits = 300;

two_double two_doubles_of(mpfr_srcptr x) {
  mpfr_scratch rest(constant_bits);
  const double high = mpfr_get_d(x, MPFR_RNDN);
  mpfr_sub_d(rest, x, high, MPFR_RNDN);
  return {high, mpfr_get_d(rest, MPFR_RNDN)};
}

// Returns the leading `bits` of x and leaves the remainder in x.
double split_off(mpfr_ptr x, mpfr_prec_t bits) {
  mpfr_scratch leading(bits);
  mpfr_set(leading, x, MPFR_RNDN);
  const double part = mpfr_get_d(leading, MPFR_RNDN);
  mpfr_sub_d(x, x, part, MPFR_RNDN);
  return part;
}

constexpr int steps = 64;             // of the tables of 2^(j/64) and of j pi/64
constexpr int logarithm_steps = 192;  // steps of 1/128 in [1/2, 2)

struct constants {
  // log 2 / 64 and pi / 64 in three parts; the first two of log 2 / 64 have 35 bits, so that their products with
  // integers below 2^18 are exact.
  std::array<double, 3> log2_step{}, angle_step{};
  double steps_by_log2 = 0, steps_by_angle = 0, log2 = 0;
  std::array<two_double, steps> powers_of_two{};                    // 2^(j / 64)
  std::array<two_double, 2 * steps> sines{}, cosines{};             // of j pi / 64
  std::array<double, logarithm_steps> reciprocals{}, logarithms{};  // c, about 1 / m, and -log c
  std::array<two_double, 12> reciprocals_of_factorials{}, reciprocals_of_integers{};

  constants() {
    mpfr_scratch x(constant_bits), y(constant_bits);
    mpfr_const_log2(x, MPFR_RNDN);
    log2 = mpfr_get_d(x, MPFR_RNDN);
    mpfr_ui_div(y, steps, x, MPFR_RNDN);
    steps_by_log2 = mpfr_get_d(y, MPFR_RNDN);
    mpfr_div_ui(x, x, steps, MPFR_RNDN);
    log2_step = {split_off(x, 35), split_off(x, 35), split_off(x, 53)};
    mpfr_const_pi(x, MPFR_RNDN);
    mpfr_ui_div(y, steps, x, MPFR_RNDN);
    steps_by_angle = mpfr_get_d(y, MPFR_RNDN);
    mpfr_div_ui(x, x, steps, MPFR_RNDN);
    angle_step = {split_off(x, 53), split_off(x, 53), split_off(x, 53)};
    for (int j = 0; j < steps; ++j) {
      mpfr_set_d(x, static_cast<double>(j) / steps, MPFR_RNDN);
      mpfr_exp2(x, x, MPFR_RNDN);
      powers_of_two[static_cast<std::size_t>(j)] = two_doubles_of(x);
    }
    for (int j = 0; j < 2 * steps; ++j) {
      const auto index = static_cast<std::size_t>(j);
      mpfr_const_pi(x, MPFR_RNDN);
      mpfr_mul_d(x, x, static_cast<double>(j) / steps, MPFR_RNDN);
      mpfr_sin_cos(x, y, x, MPFR_RNDN);
      // At multiples of pi / 2 the table is exact.
      sines[index] = j % steps == 0 ? two_double(0.0) : two_doubles_of(x);
      cosines[index] = j % steps == steps / 2 ? two_double(0.0) : two_doubles_of(y);
    }
    for (int j = 0; j < logarithm_steps; ++j) {
      const auto index = static_cast<std::size_t>(j);
      const double c = j == 63 || j == 64 ? 1.0 : std::nearbyint(512.0 / (0.5 + (j + 0.5) / 128)) / 512.0;
      reciprocals[index] = c;
      mpfr_set_d(x, c, MPFR_RNDN);
      mpfr_log(x, x, MPFR_RNDN);
      logarithms[index] = -mpfr_get_d(x, MPFR_RNDN);
    }
    mpfr_set_ui(x, 1, MPFR_RNDN);
    for (std::size_t n = 1; n < reciprocals_of_factorials.size(); ++n) {
      mpfr_div_ui(x, x, n, MPFR_RNDN);
      reciprocals_of_factorials[n] = two_doubles_of(x);
      mpfr_set_ui(y, 1, MPFR_RNDN);
      mpfr_div_ui(y, y, n, MPFR_RNDN);
      reciprocals_of_integers[n] = two_doubles_of(y);
    }
  }
};

const constants table;

two_double operator*(const two_double& x, const two_double& y) { return product(x, y).value; }
two_double operator+(const two_double& x, const two_double& y) { return sum(x, y).value; }

// A number with a bound: the relative error, and an amount for what may have underflowed.
template <class Number>
bounded<Number> with_relative_error(const Number& x, double relative) {
  return {x, rounded_up(relative * std::fabs(leading(x)) + 0x1p-1060)};
}

// 2^exponent, |exponent| < 1022.
double power_of_two(int exponent) { return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52); }

// The nearest integer, |x| < 2^51.
double nearest_integer(double x) { return (x + 0x1.8p52) - 0x1.8p52; }

}  // namespace

// x = (64 m + j) log 2 / 64 + r, e^x = 2^m 2^(j/64) e^r, |r| <= log 2 / 128 (1 + 2^-30) < 2^-7.5.
// Let k = 64 m + j, |k| < 2^16. k C_1 is exact, and so is x - k C_1 (Sterbenz; or k = 0). k C_2 is exact, and the
// subtraction rounds to 2^-61. C_3 is left out: k C_3 < 2^16 2^-78. So the error of r is less than 2^-60.9.
// p = r + ... + r^6 / 720 leaves out r^7 / 5040 (1 + r) < 2^-64.7; Horner's scheme rounds it to 3 u |r| < 2^-58.9.
// The error of the table is u, that of the product T p 2^-59, that of the last addition u: together below 2^-51.9.
bounded<double> exponential(double x) {
  const double k = nearest_integer(x * table.steps_by_log2);
  const double r = (x - k * table.log2_step[0]) - k * table.log2_step[1];
  const double p = r * (1.0 + r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720))))));
  const int whole = static_cast<int>(k), j = whole & (steps - 1);
  const double t = table.powers_of_two[static_cast<std::size_t>(j)].high;
  return with_relative_error((t + t * p) * power_of_two((whole - j) / steps), 0x1p-51);
}

// The same with k C_3, whose error is 2^16 (u 2^-77 + 2^-131) < 2^-113. The sums of three and of two two-doubles round
// to 2^-104 |r| each. The series to r^6 / 720 is computed in two doubles; its multiplications and additions have the
// relative error 2^-102 (two_double.hpp), which is 2^-101 2^-7.5 of the whole. The rest q = r^7/7! + ... + r^11/11!,
// below 2^-64.7, is computed in double with the relative error 2^-51: 2^-115. Left out: r^12/12! < 2^-118. The error of
// the table is 2^-106, those of T p and T + T p are 2^-102 2^-7.5 and 2^-104: together below 2^-102. No part
// underflows: e^-650 is above 2^-938.
bounded<two_double> exponential(const two_double& x) {
  const auto& inverse = table.reciprocals_of_factorials;
  const double k = nearest_integer(x.high * table.steps_by_log2);
  const two_double first(exact_sum(x.high - k * table.log2_step[0], x.low));
  const two_double r = first + two_double(exact_sum(-(k * table.log2_step[1]), -(k * table.log2_step[2])));
  const double h = r.high;
  const double rest =
      h *
      (inverse[7].high + h * (inverse[8].high + h * (inverse[9].high + h * (inverse[10].high + h * inverse[11].high))));
  two_double p(exact_sum(inverse[6].high, inverse[6].low + rest));
  for (std::size_t n = 6; n-- > 1;) p = inverse[n] + r * p;
  p = r * p;
  const int whole = static_cast<int>(k), j = whole & (steps - 1);
  const two_double& t = table.powers_of_two[static_cast<std::size_t>(j)];
  const two_double power = t + t * p;
  const double scale = power_of_two((whole - j) / steps);
  return with_relative_error(two_double(power.high * scale, power.low * scale), 0x1p-100);
}

namespace {

// z - z^2/2 + ... - z^8/8, |z| <= 2^-7. The series leaves out less than z^9/9 / (1 - |z|), 2^-59 of z; Horner's scheme
// rounds to 2 u of z.
double short_logarithm_series(double z) {
  return z *
         (1.0 - z * (1.0 / 2 -
                     z * (1.0 / 3 - z * (1.0 / 4 - z * (1.0 / 5 - z * (1.0 / 6 - z * (1.0 / 7 - z * (1.0 / 8))))))));
}

// log(1 + x) = 2 artanh z, z = x / (2 + x), |z| < 2^-7.9: 2 z (1 + z^2/3 + z^4/5 + z^6/7 + ...). The terms from z^8/9
// to z^14/15 are computed in double; they are 2^-66 of the whole and have the relative error 2^-51. Left out: z^16/17 <
// 2^-130. The relative error of the quotient is less than 2^-101, and so is that of each product. Together below 2^-98.
two_double long_logarithm_series(const two_double& x) {
  const auto& inverse = table.reciprocals_of_integers;
  const two_double z = quotient(x, two_double(2.0) + x).value, square = z * z;
  const double h = square.high;
  const double rest = h * (inverse[9].high + h * (inverse[11].high + h * (1.0 / 13 + h * (1.0 / 15))));
  two_double p(exact_sum(inverse[7].high, inverse[7].low + rest));
  p = inverse[5] + square * p;
  p = inverse[3] + square * p;
  p = two_double(1.0) + square * p;
  const two_double half = z * p;
  return {2.0 * half.high, 2.0 * half.low};
}

}  // namespace

// x = 2^k m, 0.7 <= m < 1.4, m c = 1 + z, log x = k log 2 - log c + log(1 + z). c lies within 2^-10 of the reciprocal
// of the middle of a bin 1/128 wide, so |z| <= 2^-8 / 0.7 + 1.4 2^-10 < 2^-7; m c is exact in two doubles, and the
// error of z is u |z|. Near 1, c = 1 and the result is the series. Elsewhere: where k = 0, |log x| >= 2^-7.02 and |log
// c| <= 2.1 |log x|, and table, series and two sums together have an error below 8 u |log x|. Where |k| >= 1, |log x| >
// 0.33 |k|; the errors are 2 u 0.7 |k| for k log 2, 1.2 u for the rest, and u |log x| for the sum: below 9 u |log x|.
bounded<double> logarithm(double x) {
  if (x == 1.0) return {0.0, 0.0};
  int k = 0;
  double m = std::frexp(x, &k);  // [1/2, 1)
  if (m < 0.70) {
    m *= 2;
    --k;
  }
  const auto j = static_cast<std::size_t>((m - 0.5) * 128);
  const double c = table.reciprocals[j];
  const exact_product scaled_m(m, c);
  const double z = (scaled_m.product - 1.0) + scaled_m.error;
  return with_relative_error(k * table.log2 + (table.logarithms[j] + short_logarithm_series(z)), 0x1p-49);
}

// Near 1: the series of x - 1, which is exact except for the error of sum(), below 2^-104 of it. Elsewhere: one step of
// y + 2 (r - 1) / (r + 1), r = x e^-y, from a y with an error d <= 2^-49 |log x| < 2^-39.4. The step leaves d^3 / 12 <
// 2^-121. The error of r is 2^-99.5, and so is that of the result, which is at least 2^-7.02 by magnitude.
bounded<two_double> logarithm(const two_double& x) {
  const auto beyond_one = sum(x, two_double(-1.0));
  if (beyond_one.value.high == 0.0) return {two_double(0.0), beyond_one.error};
  if (std::fabs(beyond_one.value.high) < 0x1p-7) {
    auto r = with_relative_error(long_logarithm_series(beyond_one.value), 0x1p-97);
    r.error += 1.02 * beyond_one.error;
    return r;
  }
  const double y = logarithm(x.high).value;
  const two_double r = x * exponential(two_double(-y)).value;
  const two_double step = quotient(r + two_double(-1.0), r + two_double(1.0)).value;
  return with_relative_error(two_double(y) + two_double(2.0 * step.high, 2.0 * step.low), 0x1p-92);
}

// 1 + x = s + e is exact in two doubles; log(s + e) = log s + e / s with an error of e^2 / s^2 < 2^-106.
bounded<double> logarithm_of_one_plus(double x) {
  if (x == 0.0) return {x, 0.0};
  if (std::fabs(x) <= 0x1p-7) return with_relative_error(short_logarithm_series(x), 0x1p-50);
  const exact_sum s(1.0, x);
  return with_relative_error(logarithm(s.sum).value + s.error / s.sum, 0x1p-48);
}

bounded<two_double> logarithm_of_one_plus(const two_double& x) {
  if (x.high == 0.0) return {x, 0.0};
  if (std::fabs(x.high) <= 0x1p-7) return with_relative_error(long_logarithm_series(x), 0x1p-97);
  const auto s = sum(two_double(1.0), x);
  auto r = logarithm(s.value);
  r.error = rounded_up(r.error + s.error);
  return r;
}

namespace {

struct reduced_angle {
  bool is_small;     // no multiple of pi/64 was subtracted
  std::size_t step;  // index in the table
  bounded<two_double> rest;
};

// x = k pi / 64 + r, |r| < 0.0246 < 2^-5.3. The products with the first two parts of pi / 64 are exact. The product
// with the third rounds to 2^45 2^-112 u, and the part of pi / 64 that is left out comes to 2^45 2^-165: below 2^-119.
// The rounded x.high - k P_1 is exact (Sterbenz, or k = 0).
reduced_angle reduce(const two_double& x) {
  const double k = nearest_integer(x.high * table.steps_by_angle);
  if (k == 0.0) return {true, 0, {x, 0.0}};
  const exact_product first(k, table.angle_step[0]), second(k, table.angle_step[1]);
  const two_double nearly(exact_sum(x.high - first.product, x.low));
  const auto a = sum(nearly, two_double(exact_sum(-first.error, -second.product)));
  const auto b = sum(a.value, two_double(exact_sum(-second.error, -(k * table.angle_step[2]))));
  const double place_on_circle = k - 2.0 * steps * std::floor(k / (2.0 * steps));
  return {false, static_cast<std::size_t>(place_on_circle), {b.value, rounded_up(a.error + b.error + 0x1p-118)}};
}

// Sine and cosine of the angle of the table plus the rest.
template <class Number, class Multiply>
sine_and_cosine<Number> combined(const Number& table_sine, const Number& table_cosine, const Number& sine,
                                 const Number& cosine, double error, Multiply times) {
  return {{sum(times(table_sine, cosine), times(table_cosine, sine)).value, error},
          {sum(times(table_cosine, cosine), negated(times(table_sine, sine))).value, error}};
}

}  // namespace

// sin r and cos r by Taylor's series to r^9/9! and r^8/8!, which leave out less than 2^-80. Each rounding of the series
// is below 2 u; the table has an error of u; the two products and their sum have 3 u: below 8 u.
sine_and_cosine<double> sine_and_cosine_of(double x) {
  const reduced_angle angle = reduce(two_double(x));
  const double r = angle.rest.value.high, q = r * r;
  const double sine = r * (1.0 - q * (1.0 / 6 - q * (1.0 / 120 - q * (1.0 / 5040 - q * (1.0 / 362880)))));
  const double cosine = 1.0 - q * (1.0 / 2 - q * (1.0 / 24 - q * (1.0 / 720 - q * (1.0 / 40320))));
  if (angle.is_small) return {with_relative_error(sine, 0x1p-50), {cosine, 0x1p-50}};
  const double error = 0x1p-50 + angle.rest.error;
  return combined(table.sines[angle.step].high, table.cosines[angle.step].high, sine, cosine, error,
                  [](double a, double b) { return a * b; });
}

// The series to r^7/7! and r^6/6! are computed in two doubles, each operation to 2^-102. The rest to r^13/13! and
// r^12/12! is computed in double; it is below 2^-58 and has the relative error 2^-51. Left out: r^14/14! < 2^-110. The
// error of the table is 2^-106.
sine_and_cosine<two_double> sine_and_cosine_of(const two_double& x) {
  const auto& inverse = table.reciprocals_of_factorials;
  const reduced_angle angle = reduce(x);
  const two_double& r = angle.rest.value;
  const two_double q = r * r;
  const double h = q.high;
  const double rest_of_sine = h * (inverse[9].high - h * (inverse[11].high - h / 6227020800.0));
  const double rest_of_cosine = h * (inverse[8].high - h * (inverse[10].high - h / 479001600.0));
  two_double sine(exact_sum(-inverse[7].high, -inverse[7].low + rest_of_sine));
  sine = inverse[5] + q * sine;
  sine = negated(inverse[3]) + q * sine;
  sine = r * (two_double(1.0) + q * sine);
  two_double cosine(exact_sum(-inverse[6].high, -inverse[6].low + rest_of_cosine));
  cosine = inverse[4] + q * cosine;
  cosine = negated(inverse[2]) + q * cosine;
  cosine = two_double(1.0) + q * cosine;
  if (angle.is_small) return {with_relative_error(sine, 0x1p-97), {cosine, 0x1p-97}};
  const double error = 0x1p-97 + angle.rest.error;
  return combined(table.sines[angle.step], table.cosines[angle.step], sine, cosine, error,
                  [](const two_double& a, const two_double& b) { return a * b; });
}

}  // namespace assay::reference::proved
