// Registers of lanes, with the vector extensions of GCC and Clang.
//
// This file is included inside the unnamed namespace of an instruction set, which has defined `vector_bytes`. Lanes
// never mix, and each operation is the IEEE 754 operation of the type. Neither the width of a register nor the position
// of a value in it can therefore change a bit of the result.

template <class Real>
struct format;

template <>
struct format<float> {
  typedef float vector __attribute__((vector_size(vector_bytes)));
  typedef std::uint32_t bits __attribute__((vector_size(vector_bytes)));
  static constexpr int precision = 24;      // p, which includes the hidden bit
  static constexpr int max_exponent = 127;  // also the bias
};

template <>
struct format<double> {
  typedef double vector __attribute__((vector_size(vector_bytes)));
  typedef std::uint64_t bits __attribute__((vector_size(vector_bytes)));
  static constexpr int precision = 53;
  static constexpr int max_exponent = 1023;
};

template <class Real>
using vec = typename format<Real>::vector;
template <class Real>
using bits_of = typename format<Real>::bits;

template <class Real>
inline constexpr int lane_count = vector_bytes / sizeof(Real);

template <class Real>
inline constexpr Real infinity = static_cast<Real>(__builtin_inf());

template <class Real>
inline vec<Real> broadcast(Real x) {
  return vec<Real>{} + x;
}

template <class Real>
inline vec<Real> plus(vec<Real> x, vec<Real> y) {
  return x + y;
}

template <class Real>
inline vec<Real> times(vec<Real> x, vec<Real> y) {
  return x * y;
}

// The number of registers that go through a computation together. The recurrence is a long chain of dependent
// operations. It is computed in stages, each for all registers of a pack, which keeps the arithmetic units busy.
template <class Real, int Registers>
struct pack {
  vec<Real> part[Registers];
};

inline constexpr int registers_of_pack = 4;

// The same for scans with log p and for adjoints, whose rows come from memory or whose chunks are few: two lines of the
// cache. Measured: on AVX-512, packs of 2 are 1.1 times as fast as packs of 4 (on Intel Xeon; on AMD Zen 5 this holds
// for chunks and adjoints, and scans of rows take the same time). On AVX2, packs of 4 are 1.1 times as fast as packs of
// 2 (both processors).
inline constexpr int registers_of_row = vector_bytes == 64 ? 2 : 4;

// Calls f(0), f(1), ..., f(Count - 1) without a loop, so that arrays indexed with these numbers live in registers.
template <class Function, int... K>
inline void repeat([[maybe_unused]] Function f, std::integer_sequence<int, K...>) {
  (f(K), ...);
}
template <int Count, class Function>
inline void repeat(Function f) {
  repeat(f, std::make_integer_sequence<int, Count>{});
}

// Applies f to the registers of the packs, one after the other. This is one stage.
template <class Real, int Registers, class Function, class... Packs>
inline pack<Real, Registers> each(Function f, const pack<Real, Registers>& first, const Packs&... others) {
  pack<Real, Registers> y;
  repeat<Registers>([&](int k) { y.part[k] = f(first.part[k], others.part[k]...); });
  return y;
}

// The elements of a row from `offset` on that fill `Registers` registers.
template <int Registers>
struct whole_registers {
  std::size_t offset;
};

// The elements [offset, offset + count) of a row, with 0 < count < lane_count; the other lanes hold zeros.
struct part_of_register {
  std::size_t offset, count;
};

// The number of registers that a part of a row needs.
template <class At>
inline constexpr int width = 1;
template <int Registers>
inline constexpr int width<whole_registers<Registers>> = Registers;

template <class Real, int Registers>
inline pack<Real, Registers> load(const Real* row, whole_registers<Registers> place) {
  pack<Real, Registers> x;
  const Real* from = row + place.offset;
  repeat<Registers>([&](int k) { __builtin_memcpy(&x.part[k], from + k * lane_count<Real>, sizeof x.part[k]); });
  return x;
}

// Load or store `count` elements, 0 < count < lane_count. When loading, the other lanes get zeros. Each instruction set
// defines both functions.
template <class Real>
inline vec<Real> load_part(const Real* from, std::size_t count);
template <class Real>
inline void store_part(Real* to, vec<Real> x, std::size_t count);

template <class Real>
inline pack<Real, 1> load(const Real* row, part_of_register place) {
  return {{load_part<Real>(row + place.offset, place.count)}};
}

template <class Real, int Registers>
inline void store(Real* row, whole_registers<Registers> place, const pack<Real, Registers>& x) {
  Real* to = row + place.offset;
  repeat<Registers>([&](int k) { __builtin_memcpy(to + k * lane_count<Real>, &x.part[k], sizeof x.part[k]); });
}

template <class Real>
inline void store(Real* row, part_of_register place, const pack<Real, 1>& x) {
  store_part<Real>(row + place.offset, x.part[0], place.count);
}

// Calls step for consecutive parts of the elements [offset, count) of a row: first packs, then registers, then the
// remaining part of a register.
template <class Real, int Registers = registers_of_pack, class Step>
inline void for_each_pack_from(std::size_t offset, std::size_t count, Step step) {
  constexpr std::size_t lanes = lane_count<Real>;
  constexpr std::size_t packed = lanes * Registers;
  for (; offset + packed <= count; offset += packed) step(whole_registers<Registers>{offset});
  for (; offset + lanes <= count; offset += lanes) step(whole_registers<1>{offset});
  if (offset < count) step(part_of_register{offset, count - offset});
}
template <class Real, int Registers = registers_of_pack, class Step>
inline void for_each_pack(std::size_t count, Step step) {
  for_each_pack_from<Real, Registers>(0, count, step);
}

// Calls step for the same parts, from the last to the first.
template <class Real, int Registers = registers_of_pack, class Step>
inline void for_each_pack_backwards(std::size_t count, Step step) {
  constexpr std::size_t lanes = lane_count<Real>;
  constexpr std::size_t packed = lanes * Registers;
  const std::size_t packs = count / packed * packed, registers = count / lanes * lanes;
  if (registers < count) step(part_of_register{registers, count - registers});
  for (std::size_t offset = registers; offset > packs; offset -= lanes) step(whole_registers<1>{offset - lanes});
  for (std::size_t offset = packs; offset > 0; offset -= packed) step(whole_registers<Registers>{offset - packed});
}

// Computes sum c[k] x^k by Estrin's scheme [Estrin 1960]. Neighbours are joined with powers x, x^2, x^4, ..., so that
// the chain of dependent operations grows like log Count.
template <class Real, int Count>
inline vec<Real> polynomial(vec<Real> x, const Real (&c)[Count]) {
  vec<Real> term[Count];
  for (int k = 0; k < Count; ++k) term[k] = broadcast(c[k]);
  for (int count = Count; count > 1; count = (count + 1) / 2, x = x * x) {
    for (int k = 0; k < count / 2; ++k) term[k] = term[2 * k] + x * term[2 * k + 1];
    if (count % 2 == 1) term[count / 2] = term[count - 1];
  }
  return term[0];
}
