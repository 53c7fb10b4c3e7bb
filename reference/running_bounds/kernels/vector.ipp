// Packs of registers of doubles, in the vector extensions of GCC and Clang.
//
// Included inside the unnamed namespace of an instruction set, which has defined `vector_bytes`. Every operation is
// that of IEEE 754 on each lane, and nothing is contracted: all instruction sets give the same bits.

typedef double register_of_doubles __attribute__((vector_size(vector_bytes)));
typedef std::int64_t register_of_masks __attribute__((vector_size(vector_bytes)));
constexpr int lanes_of_register = vector_bytes / 8;

#define ASSAY_INLINED __attribute__((always_inline))
#define ASSAY_INLINE inline ASSAY_INLINED

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

#define ASSAY_OPERATION(op, Operand, Result)                                       \
  ASSAY_INLINE Result operator op(const Operand& x, const Operand& y) {            \
    return each<Result>([&](int k) ASSAY_INLINED { return x.part[k] op y.part[k]; });            \
  }
ASSAY_OPERATION(+, pack, pack)
ASSAY_OPERATION(-, pack, pack)
ASSAY_OPERATION(*, pack, pack)
ASSAY_OPERATION(/, pack, pack)
ASSAY_OPERATION(<, pack, masks)
ASSAY_OPERATION(>, pack, masks)
ASSAY_OPERATION(>=, pack, masks)
ASSAY_OPERATION(==, pack, masks)
ASSAY_OPERATION(&, masks, masks)
ASSAY_OPERATION(|, masks, masks)
#undef ASSAY_OPERATION

#define ASSAY_OPERATION(op, Result)                                        \
  ASSAY_INLINE Result operator op(const pack& x, double y) {               \
    return each<Result>([&](int k) ASSAY_INLINED { return x.part[k] op y; });            \
  }                                                                        \
  ASSAY_INLINE Result operator op(double x, const pack& y) {               \
    return each<Result>([&](int k) ASSAY_INLINED { return x op y.part[k]; });            \
  }
ASSAY_OPERATION(+, pack)
ASSAY_OPERATION(-, pack)
ASSAY_OPERATION(*, pack)
ASSAY_OPERATION(/, pack)
#undef ASSAY_OPERATION

#define ASSAY_OPERATION(op)                                                        \
  ASSAY_INLINE masks operator op(const pack& x, double y) {                        \
    return each<masks>([&](int k) ASSAY_INLINED { return x.part[k] op(register_of_doubles{} + y); }); \
  }
ASSAY_OPERATION(<)
ASSAY_OPERATION(>)
ASSAY_OPERATION(>=)
ASSAY_OPERATION(==)
#undef ASSAY_OPERATION

ASSAY_INLINE masks operator~(const masks& x) {
  return each<masks>([&](int k) ASSAY_INLINED { return ~x.part[k]; });
}
ASSAY_INLINE masks all_lanes() {
  return each<masks>([&](int) ASSAY_INLINED { return ~register_of_masks{}; });
}

ASSAY_INLINE masks no_lanes() {
  return each<masks>([&](int) ASSAY_INLINED { return register_of_masks{}; });
}

ASSAY_INLINE masks bits_of(const pack& x) {
  return each<masks>([&](int k) ASSAY_INLINED { return reinterpret_cast<register_of_masks>(x.part[k]); });
}
ASSAY_INLINE pack from_bits(const masks& x) {
  return each<pack>([&](int k) ASSAY_INLINED { return reinterpret_cast<register_of_doubles>(x.part[k]); });
}
ASSAY_INLINE pack select(const masks& m, const pack& x, const pack& y) {
  return each<pack>([&](int k) ASSAY_INLINED { return m.part[k] ? x.part[k] : y.part[k]; });
}
/// x where the mask is set, else 0, whatever x is.
ASSAY_INLINE pack where(const masks& m, const pack& x) { return from_bits(m & bits_of(x)); }
ASSAY_INLINE pack magnitude(const pack& x) {
  return each<pack>([&](int k) ASSAY_INLINED {
    return reinterpret_cast<register_of_doubles>(reinterpret_cast<register_of_masks>(x.part[k]) & INT64_MAX);
  });
}
ASSAY_INLINE pack operator-(const pack& x) {
  return each<pack>([&](int k) ASSAY_INLINED { return -x.part[k]; });
}
/// Where the sign is minus, of -0 too.
ASSAY_INLINE masks is_negative(const pack& x) {
  return each<masks>([&](int k) ASSAY_INLINED { return reinterpret_cast<register_of_masks>(x.part[k]) < 0; });
}
/// x where it is larger than y, else y: y where x is NaN.
ASSAY_INLINE pack larger(const pack& x, double y) {
  return each<pack>([&](int k) ASSAY_INLINED { return x.part[k] > y ? x.part[k] : register_of_doubles{} + y; });
}

constexpr double minus_infinity = -__builtin_inf();

/// x + y = sum + error exactly, barring overflow (Knuth 1998, section 4.2.2, theorem B: TwoSum).
struct exact_sum {
  pack sum, error;
};
ASSAY_INLINE exact_sum exactly(const pack& x, const pack& y) {
  const pack s = x + y, of_y = s - x, of_x = s - of_y;
  return {s, (x - of_x) + (y - of_y)};
}
