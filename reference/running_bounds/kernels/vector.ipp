// Packs of registers of doubles, in the vector extensions of GCC and Clang.
//
// This file is included inside the unnamed namespace of an instruction set, which has defined `vector_bytes`. Every
// operation is that of IEEE 754 on each lane, and nothing is contracted: all instruction sets give the same bits.

typedef double register_of_doubles __attribute__((vector_size(vector_bytes)));
typedef std::int64_t register_of_bits __attribute__((vector_size(vector_bytes)));
constexpr int lanes_of_register = vector_bytes / 8;

#define ASSAY_INLINED __attribute__((always_inline))
#define ASSAY_INLINE inline ASSAY_INLINED
// For long functions that many kernels call: they are compiled once, not with each kernel. A call costs a few
// instructions, and a pack has work for hundreds.
#define ASSAY_ONCE __attribute__((noinline))

// f(0), ..., f(Count - 1), written out, so that arrays indexed with them live in registers.
template <class Function, int... K>
ASSAY_INLINE void repeat(Function f, std::integer_sequence<int, K...>) {
  (f(K), ...);
}
template <int Count, class Function>
ASSAY_INLINE void repeat(Function f) {
  repeat(f, std::make_integer_sequence<int, Count>{});
}

// The steps of a recurrence wait for each other: several registers that take each step together keep the units busy.
constexpr int registers_of_pack = 4;

#ifndef ASSAY_MASKS
typedef register_of_bits register_of_masks;  // all bits of a lane are set, or none
ASSAY_INLINE register_of_doubles select(register_of_masks m, register_of_doubles x, register_of_doubles y) {
  return m ? x : y;
}
ASSAY_INLINE register_of_doubles where(register_of_masks m, register_of_doubles x) {
  return reinterpret_cast<register_of_doubles>(m & reinterpret_cast<register_of_bits>(x));
}
ASSAY_INLINE register_of_masks no_lanes_of_register() { return register_of_masks{}; }
ASSAY_INLINE bool are_all_set(register_of_masks m) {
  std::int64_t all = -1;
  for (int k = 0; k < lanes_of_register; ++k) all &= m[k];
  return all != 0;
}
#define ASSAY_COMPARED(op, name) \
  ASSAY_INLINE register_of_masks name(register_of_doubles x, register_of_doubles y) { return x op y; }
ASSAY_COMPARED(<, is_less)
ASSAY_COMPARED(>=, is_not_less)
ASSAY_COMPARED(==, is_equal)
#undef ASSAY_COMPARED
ASSAY_INLINE register_of_masks has_minus(register_of_doubles x) { return reinterpret_cast<register_of_bits>(x) < 0; }
#endif

struct masks {
  register_of_masks part[registers_of_pack];
};
struct pack {
  register_of_doubles part[registers_of_pack];
};
constexpr int lanes_of_pack = registers_of_pack * lanes_of_register;

template <class Result, class Function>
ASSAY_INLINE Result each(Function f) {
  Result r;
  repeat<registers_of_pack>([&](int k) ASSAY_INLINED { r.part[k] = f(k); });
  return r;
}

ASSAY_INLINE pack broadcast(double x) {
  return each<pack>([&](int) ASSAY_INLINED { return register_of_doubles{} + x; });
}

#define ASSAY_OPERATION(op, Operand, Result)                                          \
  ASSAY_INLINE Result operator op(const Operand& x, const Operand& y) {               \
    return each<Result>([&](int k) ASSAY_INLINED { return x.part[k] op y.part[k]; }); \
  }
ASSAY_OPERATION(+, pack, pack)
ASSAY_OPERATION(-, pack, pack)
ASSAY_OPERATION(*, pack, pack)
ASSAY_OPERATION(/, pack, pack)
#undef ASSAY_OPERATION

ASSAY_INLINE masks operator&(const masks& x, const masks& y) {
  return each<masks>([&](int k) ASSAY_INLINED { return static_cast<register_of_masks>(x.part[k] & y.part[k]); });
}
ASSAY_INLINE masks operator|(const masks& x, const masks& y) {
  return each<masks>([&](int k) ASSAY_INLINED { return static_cast<register_of_masks>(x.part[k] | y.part[k]); });
}

#define ASSAY_OPERATION(op, Result)                                           \
  ASSAY_INLINE Result operator op(const pack& x, double y) {                  \
    return each<Result>([&](int k) ASSAY_INLINED { return x.part[k] op y; }); \
  }                                                                           \
  ASSAY_INLINE Result operator op(double x, const pack& y) {                  \
    return each<Result>([&](int k) ASSAY_INLINED { return x op y.part[k]; }); \
  }
ASSAY_OPERATION(+, pack)
ASSAY_OPERATION(-, pack)
ASSAY_OPERATION(*, pack)
ASSAY_OPERATION(/, pack)
#undef ASSAY_OPERATION

ASSAY_INLINE masks operator<(const pack& x, const pack& y) {
  return each<masks>([&](int k) ASSAY_INLINED { return is_less(x.part[k], y.part[k]); });
}
ASSAY_INLINE masks operator>=(const pack& x, const pack& y) {
  return each<masks>([&](int k) ASSAY_INLINED { return is_not_less(x.part[k], y.part[k]); });
}
ASSAY_INLINE masks operator==(const pack& x, const pack& y) {
  return each<masks>([&](int k) ASSAY_INLINED { return is_equal(x.part[k], y.part[k]); });
}
ASSAY_INLINE masks operator>(const pack& x, const pack& y) { return y < x; }
ASSAY_INLINE masks operator<(const pack& x, double y) { return x < broadcast(y); }
ASSAY_INLINE masks operator>(const pack& x, double y) { return broadcast(y) < x; }
ASSAY_INLINE masks operator>=(const pack& x, double y) { return x >= broadcast(y); }
ASSAY_INLINE masks operator==(const pack& x, double y) { return x == broadcast(y); }

ASSAY_INLINE masks operator~(const masks& x) {
  return each<masks>([&](int k) ASSAY_INLINED { return static_cast<register_of_masks>(~x.part[k]); });
}
ASSAY_INLINE masks no_lanes() {
  return each<masks>([&](int) ASSAY_INLINED { return no_lanes_of_register(); });
}
ASSAY_INLINE masks all_lanes() { return ~no_lanes(); }
ASSAY_INLINE bool are_all_set(const masks& x) {
  bool all = true;
  repeat<registers_of_pack>([&](int k) ASSAY_INLINED { all = all && are_all_set(x.part[k]); });
  return all;
}

ASSAY_INLINE pack select(const masks& m, const pack& x, const pack& y) {
  return each<pack>([&](int k) ASSAY_INLINED { return select(m.part[k], x.part[k], y.part[k]); });
}
/// x where the mask is set, else 0, whatever x is.
ASSAY_INLINE pack where(const masks& m, const pack& x) {
  return each<pack>([&](int k) ASSAY_INLINED { return where(m.part[k], x.part[k]); });
}
ASSAY_INLINE pack magnitude(const pack& x) {
  return each<pack>([&](int k) ASSAY_INLINED {
    return reinterpret_cast<register_of_doubles>(reinterpret_cast<register_of_bits>(x.part[k]) & INT64_MAX);
  });
}
ASSAY_INLINE pack operator-(const pack& x) {
  return each<pack>([&](int k) ASSAY_INLINED { return -x.part[k]; });
}
/// Whether the sign is minus, also that of -0.
ASSAY_INLINE masks is_negative(const pack& x) {
  return each<masks>([&](int k) ASSAY_INLINED { return has_minus(x.part[k]); });
}
/// x where it is larger than y, else y; so y where x is NaN.
ASSAY_INLINE pack larger(const pack& x, double y) {
#ifdef ASSAY_LARGER
  return each<pack>([&](int k) ASSAY_INLINED { return ASSAY_LARGER(x.part[k], register_of_doubles{} + y); });
#else
  return select(x > y, x, broadcast(y));
#endif
}

constexpr double minus_infinity = -__builtin_inf();

/// x + y = sum + error exactly, barring overflow (Knuth 1998, section 4.2.2, theorem B: TwoSum).
struct exact_sum {
  pack sum, error;
};
ASSAY_INLINE exact_sum exactly(const pack& x, const pack& y) {
  const pack s = x + y, y_part = s - x, x_part = s - y_part;
  return {s, (x - x_part) + (y - y_part)};
}
