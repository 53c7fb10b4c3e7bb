// `together` 16-bit numbers are converted at a time, so that they become vectors. An instruction set may have its own
// way (isa/half.ipp).
template <class Storage>
struct conversion {
  static constexpr std::size_t together = 64;
  static void widen(const Storage* x, float* y) {
    for (std::size_t k = 0; k < together; ++k) y[k] = Storage::widened(x[k].bits);
  }
  static void round(const float* x, Storage* y) {
    for (std::size_t k = 0; k < together; ++k) y[k].bits = Storage::rounded(x[k]);
  }
};

// Widens as many 16-bit numbers as fill a register of floats.
template <class Storage>
inline vec<float> load_widened(const Storage* from) {
  float x[lane_count<float>];
  for (int k = 0; k < lane_count<float>; ++k) x[k] = Storage::widened(from[k].bits);
  vec<float> y;
  __builtin_memcpy(&y, x, sizeof y);
  return y;
}
template <class Storage>
inline void store_rounded(Storage* to, vec<float> x) {
  for (int k = 0; k < lane_count<float>; ++k) to[k].bits = Storage::rounded(x[k]);
}

typedef std::uint16_t half_bits __attribute__((vector_size(vector_bytes / 2)));
// `extended` puts zeros above the given bits; `lower_halves` keeps the lower bits. Each instruction set defines both.
inline bits_of<float> extended(half_bits x);
inline half_bits lower_halves(bits_of<float> x);

template <>
inline vec<float> load_widened(const bfloat16* from) {
  half_bits x;
  __builtin_memcpy(&x, from, sizeof x);
  return (vec<float>)(extended(x) << 16);
}
// Applies bfloat16::rounded to each lane.
template <>
inline void store_rounded(bfloat16* to, vec<float> x) {
  const bits_of<float> bits = (bits_of<float>)x, nearest = bits + ((bits >> 16 & 1) + 0x7fff);
  const half_bits y = lower_halves((x == x ? nearest : bits | 0x400000u) >> 16);
  __builtin_memcpy(to, &y, sizeof y);
}

template <class Storage>
requires(sizeof(Storage) == 2) inline pack<float, 1> load(const Storage* row, part_of_register place) {
  Storage x[lane_count<float>] = {};
  __builtin_memcpy(x, row + place.offset, place.count * sizeof(Storage));
  return {{load_widened(x)}};
}
template <class Storage, int Registers>
requires(sizeof(Storage) == 2) inline pack<float, Registers> load(const Storage* row,
                                                                  whole_registers<Registers> place) {
  pack<float, Registers> x;
  repeat<Registers>([&](int k) { x.part[k] = load_widened(row + place.offset + k * lane_count<float>); });
  return x;
}
template <class Storage>
requires(sizeof(Storage) == 2) inline void store(Storage* row, part_of_register place, const pack<float, 1>& x) {
  Storage y[lane_count<float>];
  store_rounded(y, x.part[0]);
  __builtin_memcpy(row + place.offset, y, place.count * sizeof(Storage));
}
template <class Storage, int Registers>
requires(sizeof(Storage) == 2) inline void store(Storage* row, whole_registers<Registers> place,
                                                 const pack<float, Registers>& x) {
  repeat<Registers>([&](int k) { store_rounded(row + place.offset + k * lane_count<float>, x.part[k]); });
}
