// The amount that one step of the recurrence adds: softplus(-x) = log(1 + e^-x), for x >= 0, where x is an unevaluated
// sum.
//
// Algorithm: there are S steps in an octave, and n is the integer nearest to S x / ln 2. Then u = e^-x = 2^(-n/S) e^-r,
// where r = x - n ln 2 / S. e^-r = 1 - r + r^2 c(r), and 2^(-n/S) comes from a table of S entries that fit one register
// (Tang 1989). Then log(1 + u) = u + u^2 q(u). This needs no division and no reduction of u, because the singularity u
// = -1 is far away. ln 2 / S is split so that n times its first part is exact.
//
// If x is at least `negligible`, log(1 + u) is taken as 0. This changes no result of a sum that contains it, except for
// states below 2^-90 (f32) in magnitude; these change by less than 2^-115.
//
// Polynomials: coefficients.sollya prints c and q, and the errors that the comments here state.

template <class Real, int Steps>
struct softplus_exp;

template <class Real>
struct softplus_log;

// In f32 with a table, ln2_high is the rounded ln 2 / S, and n ln2_high is not rounded. This leaves an error of 2^-28.4
// x.
template <>
struct softplus_exp<float, 16> {
  static constexpr float per_unit = 0x1.715476p+4f, ln2_high = 0x1.62e43p-5f, ln2_low = 0;
  static constexpr float c[] = {0x1.00021ep-1f, -0x1.555598p-3f};  // 2^-29.2
};
template <>
struct softplus_exp<float, 8> {
  static constexpr float per_unit = 0x1.715476p+3f, ln2_high = 0x1.62e43p-4f, ln2_low = 0;
  static constexpr float c[] = {0x1p-1f, -0x1.555c76p-3f, 0x1.5558a6p-5f};  // 2^-32.4
};
template <>
struct softplus_exp<float, 1> {
  static constexpr float per_unit = 0x1.715476p+0f, ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float c[] = {0x1p-1f,         -0x1.555552p-3f, 0x1.5554e4p-5f,
                                -0x1.1115b4p-7f, 0x1.6d5146p-10f, -0x1.9a981p-13f};  // 2^-32.8
};
template <>
struct softplus_exp<double, 16> {
  static constexpr double per_unit = 0x1.71547652b82fep+4, ln2_high = 0x1.62e42fefap-5, ln2_low = 0x1.cf79abc9e3b3ap-44;
  static constexpr double c[] = {0x1.fffffffffffbbp-2, -0x1.555555548f74ep-3, 0x1.55555558e1312p-5,
                                 -0x1.11123abd9659dp-7, 0x1.6c14da43a52ffp-10};  // 2^-56.3
};
template <>
struct softplus_exp<double, 1> {
  static constexpr double per_unit = 0x1.71547652b82fep+0, ln2_high = 0x1.62e42fefa38p-1,
                          ln2_low = 0x1.ef35793c7673p-45;
  static constexpr double c[] = {0x1p-1,
                                 -0x1.555555555555cp-3,
                                 0x1.5555555555544p-5,
                                 -0x1.111111110ea06p-7,
                                 0x1.6c16c16c1e5bdp-10,
                                 -0x1.a01a01b43e1c9p-13,
                                 0x1.a01a017d48c5ap-16,
                                 -0x1.71ddee8636332p-19,
                                 0x1.27e5339dbe605p-22,
                                 -0x1.af6e5bd232a8ap-26,
                                 0x1.1eed10b249905p-29};  // 2^-63.5
};

template <>
struct softplus_log<float> {
  static constexpr float negligible = 80;  // u > 2^-116
  static constexpr float q[] = {-0x1.ffffd2p-2f, 0x1.554ddap-2f,  -0x1.ff2556p-3f, 0x1.935568p-3f, -0x1.3a6736p-3f,
                                0x1.b53c48p-4f,  -0x1.d7efa8p-5f, 0x1.4a9226p-6f,  -0x1.b22adep-9f};  // 2^-27.5
};
template <>
struct softplus_log<double> {
  static constexpr double negligible = 690;  // u > 2^-996
  static constexpr double q[] = {-0x1.fffffffffffeep-2,  0x1.5555555554772p-2,  -0x1.ffffffff8620fp-3,
                                 0x1.9999998868f8ep-3,   -0x1.555553dcd8489p-3, 0x1.249233abc27fap-3,
                                 -0x1.fffe43c16f642p-4,  0x1.c70f2d2443d75p-4,  -0x1.994c493ce8744p-4,
                                 0x1.72fdbed61ccfbp-4,   -0x1.5061add971837p-4, 0x1.2cafade864d9ap-4,
                                 -0x1.0276e6c2a33b5p-4,  0x1.9cb6840b6a173p-5,  -0x1.25cffc8aae8b4p-5,
                                 0x1.6526434af929ep-6,   -0x1.61f45c7309cep-7,  0x1.0f1f1b2300f7cp-8,
                                 -0x1.2a82666e2daacp-10, 0x1.a1e2674b5e233p-13, -0x1.16320ffcf7918p-16};  // 2^-59.1
};

// Computes c[0] + c[1] x + ... by Horner's rule, one register of the pack after the other, so that no register waits
// for another.
template <class Real, int N, int Count>
inline pack<Real, N> horner(const pack<Real, N>& x, const Real (&c)[Count]) {
  pack<Real, N> y;
  repeat<N>([&](int k) { y.part[k] = broadcast(c[Count - 1]); });
  repeat<Count - 1>([&](int i) {
    repeat<N>([&](int k) { y.part[k] = fused<Real>(y.part[k], x.part[k], broadcast(c[Count - 2 - i])); });
  });
  return y;
}

// n is the integer nearest to S x / ln 2. `n` holds it as a number, and the low bits of `rounded` hold it too.
template <class Real, int N>
struct octaves {
  pack<Real, N> rounded, n;
};
template <class Real, int N>
inline octaves<Real, N> octaves_of(const pack<Real, N>& x) {
  using e = softplus_exp<Real, steps_per_octave<Real>>;
  constexpr Real rounder = static_cast<Real>(std::uint64_t{3} << (format<Real>::precision - 2));
  octaves<Real, N> y;
  repeat<N>([&](int k) { y.rounded.part[k] = fused<Real>(x.part[k], broadcast(e::per_unit), broadcast(rounder)); });
  repeat<N>([&](int k) { y.n.part[k] = y.rounded.part[k] - rounder; });
  return y;
}

// The range of e^-x. For sums, it ends where e^-x is negligible in a sum. For weights, it goes through the subnormals
// to 0: 2^(-n/S) is formed too large by 2^c, and one product corrects the result. Only this product rounds a subnormal.
struct for_sums {
  static constexpr bool subnormal = false;
};
struct for_weights {
  static constexpr bool subnormal = true;
};

// Returns e^-x = 2^(-n/S) e^-r, or 0 if x is large or infinite. A NaN becomes 0 in sums and stays NaN in weights. n
// ln2_low is not yet subtracted from `r`.
template <class Real, int N, class Range>
inline pack<Real, N> exp_minus(const pack<Real, N>& x, const octaves<Real, N>& o, pack<Real, N> r, Range) {
  using e = softplus_exp<Real, steps_per_octave<Real>>;
  constexpr int shift = format<Real>::precision - 1 - __builtin_ctz(steps_per_octave<Real>);
  pack<Real, N> power, u;
  mask<Real> counts[N];
  constexpr Real end = Range::subnormal ? -exp_constants<Real>::underflow : softplus_log<Real>::negligible;
  repeat<N>([&](int k) {
    if constexpr (Range::subnormal)
      counts[k] = not_at_least<Real>(x.part[k], broadcast(end));
    else
      counts[k] = less<Real>(x.part[k], broadcast(end));
  });
  if constexpr (e::ln2_low != 0)
    repeat<N>([&](int k) { r.part[k] = fused<Real>(o.n.part[k], broadcast(-e::ln2_low), r.part[k]); });
  repeat<N>([&](int k) {  // the shift removes the bits above those of n
    const bits_of<Real> count = __builtin_bit_cast(bits_of<Real>, o.rounded.part[k]);
    constexpr bits_of<Real> raised =
        bits_of<Real>{} + (static_cast<std::uint64_t>(Range::subnormal ? exp_constants<Real>::scale_offset : 0)
                           << (format<Real>::precision - 1));
    power.part[k] = __builtin_bit_cast(vec<Real>, power_bits<Real>(count, raised) - (count << shift));
  });
  pack<Real, N> y = horner(r, e::c);
  repeat<N>([&](int k) { y.part[k] = fused<Real>(y.part[k], r.part[k], broadcast(Real(-1))); });
  repeat<N>([&](int k) { y.part[k] = y.part[k] * r.part[k]; });
  repeat<N>([&](int k) { u.part[k] = fused_or_zero<Real>(counts[k], y.part[k], power.part[k], power.part[k]); });
  if constexpr (Range::subnormal) repeat<N>([&](int k) { u.part[k] = u.part[k] * exp_constants<Real>::unscale; });
  return u;
}

template <class Real, int N, class Range>
inline pack<Real, N> exp_minus(const pack<Real, N>& x, Range range) {
  using e = softplus_exp<Real, steps_per_octave<Real>>;
  const octaves<Real, N> o = octaves_of<Real, N>(x);
  pack<Real, N> r;
  repeat<N>([&](int k) { r.part[k] = fused<Real>(o.n.part[k], broadcast(-e::ln2_high), x.part[k]); });
  return exp_minus<Real, N>(x, o, r, range);
}

// The same for x = larger - smaller. `low` is added to x in the lanes `added` and subtracted in the others; low is much
// less than x. The difference of two equal infinities counts as large.
//
// Sums find r as (x - n ln2_high) + (the rounding error of x, and low) - n ln2_low. Here x is the rounded difference
// larger - smaller, and larger - (x + smaller) is its rounding error. This is exact if |smaller| >= |larger| [Dekker
// 1971]. It is also exact if x <= larger / 2, because x is then exact [Sterbenz 1974]. Otherwise 0 < larger / 2 < x < 2
// larger, and x + smaller is a rounded number near `larger`; the part that is not found is at most half an ulp of the
// lesser of x and larger.
//
// Weights have rounded states. They find r as (larger - (smaller + n ln2_high)) + low - n ln2_low. This rounds only
// smaller + n ln2_high, a number near `larger`, by at most half an ulp of that number.
template <class Real, int N, class Range>
inline pack<Real, N> exp_minus_difference(const pack<Real, N>& larger_term, const pack<Real, N>& smaller_term,
                                          const pack<Real, N>& low, const mask<Real> (&added)[N], Range range) {
  using e = softplus_exp<Real, steps_per_octave<Real>>;
  pack<Real, N> x, r, lacking;
  repeat<N>([&](int k) { x.part[k] = larger_term.part[k] - smaller_term.part[k]; });
  const octaves<Real, N> o = octaves_of<Real, N>(x);
  if constexpr (Range::subnormal) {
    repeat<N>([&](int k) { r.part[k] = fused<Real>(o.n.part[k], broadcast(e::ln2_high), smaller_term.part[k]); });
    repeat<N>([&](int k) { r.part[k] = larger_term.part[k] - r.part[k]; });
    repeat<N>([&](int k) { r.part[k] = add_or_subtract<Real>(added[k], r.part[k], low.part[k]); });
  } else {
    repeat<N>([&](int k) { lacking.part[k] = x.part[k] + smaller_term.part[k]; });
    repeat<N>([&](int k) { lacking.part[k] = larger_term.part[k] - lacking.part[k]; });
    repeat<N>([&](int k) { lacking.part[k] = add_or_subtract<Real>(added[k], lacking.part[k], low.part[k]); });
    repeat<N>([&](int k) { r.part[k] = fused<Real>(o.n.part[k], broadcast(-e::ln2_high), x.part[k]); });
    repeat<N>([&](int k) { r.part[k] = r.part[k] + lacking.part[k]; });
  }
  return exp_minus<Real, N>(x, o, r, range);
}

// log(1 + u) = u + rest u on [0, 1]. This function returns the rest.
template <class Real, int N>
inline pack<Real, N> log1p_rest(const pack<Real, N>& u) {
  pack<Real, N> y = horner(u, softplus_log<Real>::q);
  repeat<N>([&](int k) { y.part[k] = y.part[k] * u.part[k]; });
  return y;
}
template <class Real, int N>
inline pack<Real, N> log1p_of(const pack<Real, N>& u) {
  pack<Real, N> y = log1p_rest<Real, N>(u);
  repeat<N>([&](int k) { y.part[k] = fused<Real>(y.part[k], u.part[k], u.part[k]); });
  return y;
}
