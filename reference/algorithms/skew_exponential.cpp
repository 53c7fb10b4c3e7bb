// The exponential in integers: values and intervals.
#include "reference/algorithms/skew_exponential.hpp"

#include "reference/algorithms/connected_coordinates.hpp"
#include "reference/algorithms/midpoint_exponential.hpp"
#include "reference/readings/all.hpp"

namespace assay::reference {
namespace {

using namespace connected_coordinates;
using namespace midpoint;

// The midpoints of intervals times 2^bits, and a bound on their error in units, in Frobenius's norm.
struct in_integers {
  fixed_arithmetic::matrix midpoint;
  double error = 0.0;
};

// x times 2^shift, rounded down, with an error of at most one unit.
void to_integer(mpz_ptr z, mpfr_srcptr x, long shift) {
  mpfr_scratch y(mpfr_get_prec(x));
  mpfr_mul_2si(y, x, shift, MPFR_RNDD);
  mpfr_get_z(z, y, MPFR_RNDD);
}
template <class Ends>
in_integers to_integers(std::size_t b, long shift, Ends ends, bool is_skew) {
  in_integers r{fixed_arithmetic::matrix(b * b)};
  mpz_t high;
  mpz_init(high);
  double squares = 0.0;
  for (std::size_t i = 0; i < b; ++i)
    for (std::size_t j = is_skew ? i + 1 : 0; j < b; ++j) {
      const std::size_t k = i * b + j;
      const auto [left, right] = ends(k);
      to_integer(r.midpoint[k], left, shift), to_integer(high, right, shift);
      mpz_sub(high, high, r.midpoint[k]);
      const double width = up(mpz_get_d(high)) + 2.0;  // truncated, and each end has an error of less than 1
      mpz_fdiv_q_2exp(high, high, 1);
      mpz_add(r.midpoint[k], r.midpoint[k], high);
      squares += (is_skew ? 2.0 : 1.0) * width * width;
      if (is_skew) mpz_neg(r.midpoint[j * b + i], r.midpoint[k]);
    }
  mpz_clear(high);
  r.error = root_up(squares);
  return r;
}

// An upper bound on |x|, as a double, from the ends of x.
double size_of_ends(mpfr_srcptr low, mpfr_srcptr high) {
  return std::max(std::fabs(mpfr_get_d(low, MPFR_RNDD)), std::fabs(mpfr_get_d(high, MPFR_RNDU)));
}
constexpr double largest_norm = 0x1p60;  // beyond it nothing is known except that entries are at most 1

// An exponential, or a slope along G, whose cotangents are multiples of 2^exponent. Entries are integers of `bits` bits
// with an error of `error` units.
struct integer_result {
  fixed_arithmetic::matrix entries;
  long bits;
  double error;
};
template <class EndsOfX, class EndsOfG>
std::optional<integer_result> in_fixed_point(std::size_t b, mpfr_prec_t precision, EndsOfX x, EndsOfG g,
                                             bool wants_slope) {
  const auto size = [](auto& ends) {
    return [&ends](std::size_t k) {
      const auto [low, high] = ends(k);
      return size_of_ends(low, high);
    };
  };
  const double norm = norms_of(b, size(x)).two_norm(),
               norm_of_g = wants_slope ? root_up(norms_of(b, size(g)).squares) : 0.0;
  if (!(norm < largest_norm) || !std::isfinite(norm_of_g)) return std::nullopt;
  const int bits = static_cast<int>(precision) + 64 + 2 * std::max(0, std::ilogb(norm == 0.0 ? 1.0 : norm)) +
                   fixed_arithmetic::halvings;
  const scaling scaled(norm, fixed_arithmetic::halvings, bits, b);
  const fixed_arithmetic in{b, bits};
  const in_integers y = to_integers(b, bits - scaled.halvings, x, true);
  const double error_of_x = std::ldexp(y.error, scaled.halvings);
  if (!std::isfinite(error_of_x)) return std::nullopt;  // entries as wide as that count as unknown
  if (!wants_slope) {
    computed<fixed_arithmetic> r = exponentiate<fixed_arithmetic>(in, scaled, y.midpoint, nullptr, 0.0);
    return integer_result{std::move(r.exponential), bits, up(r.error + error_of_x)};
  }
  // G is scaled to a norm of at most 1.
  const long exponent = norm_of_g == 0.0 ? 0 : std::ilogb(norm_of_g) + 1;
  const in_integers h = to_integers(b, bits - scaled.halvings - exponent, g, false);
  // The midpoint of G may be larger than G.
  computed<fixed_arithmetic> r =
      exponentiate(in, scaled, y.midpoint, &h.midpoint, std::ldexp(1.0 + 0x1p-20, -scaled.halvings));
  const double inherited = error_of_x * (1.0 + 0x1p-20) + std::ldexp(h.error, scaled.halvings);
  if (!std::isfinite(inherited)) return std::nullopt;
  return integer_result{std::move(r.slope), bits - exponent, up(r.error_of_slope + inherited)};
}

struct no_ends {
  std::array<mpfr_srcptr, 2> operator()(std::size_t) const { return {nullptr, nullptr}; }
};

value value_of(mpz_srcptr z, long bits) {
  value r;
  mpfr_set_z_2exp(r.number.backend().data(), z, -bits, MPFR_RNDN);
  return r;
}
enclosure enclosure_of(mpz_srcptr z, long bits, double error) {
  mpz_t end, radius;
  mpz_init(end), mpz_init(radius);
  mpz_set_d(radius, std::ceil(error));
  enclosure r;
  mpz_sub(end, z, radius);
  mpfr_set_z_2exp(r.left(), end, -bits, MPFR_RNDD);
  mpz_add(end, z, radius);
  mpfr_set_z_2exp(r.right(), end, -bits, MPFR_RNDU);
  mpz_clear(end), mpz_clear(radius);
  return r;
}
auto ends_of(const square_matrix<value>& x) {
  return [&x](std::size_t k) -> std::array<mpfr_srcptr, 2> {
    return {x[k].number.backend().data(), x[k].number.backend().data()};
  };
}
auto ends_of(const square_matrix<enclosure>& x) {
  return [&x](std::size_t k) -> std::array<mpfr_srcptr, 2> { return {x[k].low(), x[k].high()}; };
}
// [-size, size]
enclosure within(double size) {
  enclosure r;
  mpfr_set_d(r.left(), -size, MPFR_RNDD), mpfr_set_d(r.right(), size, MPFR_RNDU);
  return r;
}
double frobenius(const square_matrix<enclosure>& g) {
  double squares = 0.0;
  for (const enclosure& y : g) squares += std::pow(size_of_ends(y.low(), y.high()), 2);
  return root_up(squares);
}

}  // namespace

square_matrix<value> exponential_of(const square_matrix<value>& x, std::size_t b) {
  return by_parts(x, b, [](const square_matrix<value>& own, std::size_t n) {
    constexpr mpfr_prec_t precision = 335;
    const auto r = in_fixed_point(n, precision, ends_of(own), no_ends{}, false);
    square_matrix<value> out;
    for (std::size_t k = 0; k < n * n; ++k) out.push_back(r ? value_of(r->entries[k], r->bits) : not_a_number(value()));
    return out;
  });
}
square_matrix<value> exponential_slope(const square_matrix<value>& x, const square_matrix<value>& g, std::size_t b) {
  return slope_by_parts(x, g, b, [&] {
    constexpr mpfr_prec_t precision = 335;
    const auto r = in_fixed_point(b, precision, ends_of(x), ends_of(g), true);
    square_matrix<value> out;
    for (std::size_t k = 0; k < b * b; ++k) out.push_back(r ? value_of(r->entries[k], r->bits) : not_a_number(value()));
    return out;
  });
}

square_matrix<enclosure> exponential_of(const square_matrix<enclosure>& x, std::size_t b) {
  return by_parts(x, b, [](const square_matrix<enclosure>& own, std::size_t n) {
    square_matrix<enclosure> out(n * n, within(1.0));
    if (const auto r = in_fixed_point(n, own[0].precision(), ends_of(own), no_ends{}, false))
      for (std::size_t k = 0; k < n * n; ++k) out[k] = enclosure_of(r->entries[k], r->bits, r->error);
    return out;
  });
}
square_matrix<enclosure> exponential_slope(const square_matrix<enclosure>& x, const square_matrix<enclosure>& g,
                                           std::size_t b) {
  return slope_by_parts(x, g, b, [&] {
    square_matrix<enclosure> out(b * b, within(frobenius(g)));
    if (const auto r = in_fixed_point(b, x[0].precision(), ends_of(x), ends_of(g), true))
      for (std::size_t k = 0; k < b * b; ++k) out[k] = enclosure_of(r->entries[k], r->bits, r->error);
    return out;
  });
}

}  // namespace assay::reference
