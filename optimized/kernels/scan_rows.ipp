// The recurrence along rows of features [Heinsen 2024, eqs. (1), (3)]. Features are in lanes; tokens follow one
// another.
//
// Domain: log p <= 0 or -inf; h and s0 are finite or -inf. Other values give the IEEE result of the formula.
// Special values: if log p_i = -inf or s_{i-1} = -inf, then s_i = h_i. If h_i = -inf, then s_i = log p_i + s_{i-1}. A
// NaN stays in its lane, from its token on.
// Order: i = 1..n in every lane. The lanes are independent, so no result depends on their number. A walk that is cut
// anywhere and continues from the state that it left gives the same bits.

// Asks for memory that a later step reads. The arithmetic of a step is long, so the processor alone looks too little
// ahead. With these requests, the walk from memory is 1.1 times as fast (Intel Xeon, AVX-512; distances from 3 to 20
// KiB are equally good).
template <class Stored, class Place>
inline void fetch_ahead(const Stored* row, Place place, std::ptrdiff_t distance = bytes_ahead) {
  using Real = arithmetic_of<Stored>;
  constexpr int registers_of_line = vector_bytes < 64 ? 1 : static_cast<int>(sizeof(Real) / sizeof(Stored));
  // This is not a function call: GCC takes a function that only asks for memory to be without effect.
  for (int k = 0; k < width<Place>; k += registers_of_line) {
    const Stored* register_begin = row + place.offset + static_cast<std::size_t>(k) * lane_count<Real>;
    __builtin_prefetch(reinterpret_cast<const char*>(register_begin) + distance, 0, 2);
  }
}

// If several threads share a row, the memory that follows in the row belongs to another thread. The distance then leads
// to the same features of a later row.
template <class T>
inline std::ptrdiff_t distance_of(const row_array<T>& array, std::ptrdiff_t rows) {
  return rows == 0 ? bytes_ahead : rows * array.step * static_cast<std::ptrdiff_t>(sizeof(T));
}

// A step with gates is a longer chain of operations, so more registers must be computed at once.
template <class Decay>
inline constexpr int registers_of_step = Decay::two_part ? registers_of_pack : registers_of_row;

template <class Real, class Decay, bool FetchAhead, class Stored = Real>
inline void walk_rows(const row_block<Real, Stored>& b) {
  [[maybe_unused]] constexpr std::size_t lanes = lane_count<Real>;
  constexpr int registers = registers_of_step<Decay>;
  const std::ptrdiff_t decay_ahead = distance_of(b.decay, b.rows_ahead), h_ahead = distance_of(b.h, b.rows_ahead);
  const Stored *decay = b.decay.first, *h = b.h.first;
  Stored* s = b.s.first;
  for (std::size_t i = 0; i < b.tokens; ++i, decay += b.decay.step, h += b.h.step, s += b.s.step) {
    const auto step = [=](auto place) {
      if constexpr (FetchAhead) fetch_ahead(decay, place, decay_ahead), fetch_ahead(h, place, h_ahead);
      const auto given = load(decay, place);
      state_pack<Real, width<decltype(place)>> state = {load(b.high, place), load(b.low, place)};
      advance<Real, width<decltype(place)>, Decay::two_part>(state, Decay::template log_p<Real>(given), load(h, place));
      store(b.high, place, state.high);
      store(b.low, place, state.low);
      return state.high;
    };
    const auto step_and_store = [=](auto place) { store(s, place, step(place)); };
    if constexpr (sizeof(Stored) == sizeof(Real)) {
      if (b.past_caches) {
        // Whole registers of s are stored at multiples of their size. Parts of a register come before and after them.
        const std::size_t misplaced = reinterpret_cast<std::uintptr_t>(s) / sizeof(Real) % lanes;
        const std::size_t head = misplaced == 0 ? 0 : lanes - misplaced;
        if (head != 0) step_and_store(part_of_register{0, head < b.features ? head : b.features});
        for_each_pack_from<Real, registers>(head, b.features, [=](auto place) {
          if constexpr (requires { place.count; })
            step_and_store(place);
          else {
            const auto y = step(place);
            repeat<width<decltype(place)>>([&](int k) { store_past_caches(s + place.offset + k * lanes, y.part[k]); });
          }
        });
        continue;
      }
    }
    for_each_pack<Real, registers>(b.features, step_and_store);
  }
  if (b.past_caches) end_stores_past_caches();
}

template <class Real, class Decay, class Stored = Real>
[[gnu::flatten]] void scan_rows(const row_block<Real, Stored>& b) noexcept {
  walk_rows<Real, Decay, true>(b);
}
