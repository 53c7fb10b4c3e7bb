// The recurrence with time in lanes. The chunks of one sequence are walked side by side, as if they were features.
//
// A register holds Block neighbouring features of lane_count / Block chunks, where Block is the greatest common divisor
// of lane_count and the number of features. A tile holds lane_count / Block tokens of every chunk. It is transposed,
// block by block, into rows; the rows are walked as rows of features; then they are transposed back. The state at the
// start of a chunk is known only after the chunks before it are summarized: encodings/heinsen/chunks.cpp.

// Block j of register i becomes block i of register j. First, registers are interleaved lane by lane, which brings
// blocks that share a lane of 16 bytes to their places. Then every second 16-byte lane of two registers is taken. Most
// of these steps are single instructions. Each step is repeated as often as the transposed part can be halved.
inline constexpr int lane_bytes = 16;
template <class Real, int Block>
inline constexpr int unit = static_cast<int>(sizeof(Real)) * Block > lane_bytes
                                ? Block
                                : lane_bytes / static_cast<int>(sizeof(Real));  // number of elements that move together

template <class Real, int Block, std::size_t... J>
inline void interleave_lanes(vec<Real> x, vec<Real> y, vec<Real>& low, vec<Real>& high, std::index_sequence<J...>) {
  constexpr std::size_t lanes = sizeof...(J), size = unit<Real, Block>;
  constexpr auto from = [](std::size_t j, std::size_t first) {
    return j / size * size + first + j % size / Block / 2 * Block + j % Block + j / Block % 2 * lanes;
  };
  low = __builtin_shufflevector(x, y, from(J, 0)...);
  high = __builtin_shufflevector(x, y, from(J, size / 2)...);
}
template <class Real, int Block, std::size_t... J>
inline void every_other_lane(vec<Real> x, vec<Real> y, vec<Real>& even, vec<Real>& odd, std::index_sequence<J...>) {
  constexpr std::size_t size = unit<Real, Block>;
  even = __builtin_shufflevector(x, y, (J / size * 2 * size + J % size)...);
  odd = __builtin_shufflevector(x, y, (J / size * 2 * size + size + J % size)...);
}

template <class Real, int Block, int Halves = unit<Real, Block> / Block>
inline void transpose_in_lanes(pack<Real, lane_count<Real> / Block>& r) {
  constexpr int count = lane_count<Real> / Block, together = unit<Real, Block> / Block;
  if constexpr (Halves > 1) {
    pack<Real, count> t;
    repeat<count / 2>([&](int i) {
      const int first = i / (together / 2) * together, k = i % (together / 2);
      interleave_lanes<Real, Block>(r.part[first + k], r.part[first + k + together / 2], t.part[first + 2 * k],
                                    t.part[first + 2 * k + 1], std::make_index_sequence<lane_count<Real>>{});
    });
    r = t;
    transpose_in_lanes<Real, Block, Halves / 2>(r);
  }
}
template <class Real, int Block, int Halves = lane_count<Real> / unit<Real, Block>>
inline void transpose_lanes(pack<Real, lane_count<Real> / Block>& r) {
  constexpr int count = lane_count<Real> / Block, together = unit<Real, Block> / Block;
  if constexpr (Halves > 1) {
    pack<Real, count> t;
    repeat<count / 2>([&](int i) {
      const int k = i % together, pair = i / together;
      every_other_lane<Real, Block>(r.part[2 * pair * together + k], r.part[(2 * pair + 1) * together + k],
                                    t.part[pair * together + k], t.part[count / 2 + pair * together + k],
                                    std::make_index_sequence<lane_count<Real>>{});
    });
    r = t;
    transpose_lanes<Real, Block, Halves / 2>(r);
  }
}
template <class Real, int Block>
inline void transpose(pack<Real, lane_count<Real> / Block>& r) {
  transpose_in_lanes<Real, Block>(r);
  transpose_lanes<Real, Block>(r);
}

// Calls f(Block) with Block as a constant.
template <class Real, int Block = lane_count<Real>, class Function>
inline void with_block(std::size_t features, Function f) {
  if constexpr (Block == 1)
    f(std::integral_constant<int, 1>{});
  else if (features % Block == 0)
    f(std::integral_constant<int, Block>{});
  else
    with_block<Real, Block / 2>(features, f);
}

// Sizes that follow from a block. `side` is the number of chunks of a register and of tokens of a tile. `parts` is the
// number of registers that a token of these chunks needs. `row` is the number of numbers of a row, one for each feature
// of each chunk.
struct chunk_sizes {
  std::size_t side, parts, row;
};
template <class Real>
inline chunk_sizes sizes_of(const chunk_block<Real>& b) {
  constexpr std::size_t lanes = lane_count<Real>;
  const std::size_t lowest = b.features & (~b.features + 1), block = lowest < lanes ? lowest : lanes;
  return {lanes / block, b.features / block, b.groups * (lanes / block) * b.features};
}

// Calls f(k, place) for each number k = chunk * features + feature of a row and for the number's place in registers.
template <class Real, class Function>
inline void for_each_place(const chunk_block<Real>& b, Function f) {
  const auto [side, parts, row] = sizes_of(b);
  const std::size_t block = b.features / parts;
  std::size_t k = 0;
  for (std::size_t group = 0; group < b.groups; ++group)
    for (std::size_t chunk = 0; chunk < side; ++chunk)
      for (std::size_t part = 0; part < parts; ++part)
        for (std::size_t j = 0; j < block; ++j) f(k++, ((part * b.groups + group) * side + chunk) * block + j);
}

// The number of existing elements among the elements [offset, offset + lane_count) of a chunk.
template <class Real>
inline std::size_t present(const chunk_block<Real>& b, std::size_t chunk, std::size_t offset) {
  const std::size_t place = chunk * b.length * b.features + offset;
  const std::size_t left = place < b.available ? b.available - place : 0;
  return left < lane_count<Real> ? left : lane_count<Real>;
}

// Loads the existing elements of a chunk from `offset` on, and `missing` in place of the others. Few tiles are
// incomplete. For the many complete tiles, a call of this function keeps the code short.
template <class Real>
[[gnu::noinline]] vec<Real> load_present(const chunk_block<Real>& b, const Real* array, Real missing, std::size_t chunk,
                                         std::size_t offset) {
  constexpr std::size_t lanes = lane_count<Real>;
  const std::size_t count = present(b, chunk, offset);
  const Real* from = array + chunk * b.length * b.features + offset;
  vec<Real> x = broadcast(missing);
  if (count == lanes) {
    __builtin_memcpy(&x, from, sizeof x);
  } else if (count > 0) {
    Real elements[lanes];
    for (std::size_t k = 0; k < lanes; ++k) elements[k] = k < count ? from[k] : missing;
    __builtin_memcpy(&x, elements, sizeof x);
  }
  return x;
}

// Loads the tile that begins at token `first` of every chunk, as rows. `missing` replaces elements that do not exist.
template <class Real, int Block>
inline void load_tile(const chunk_block<Real>& b, const Real* array, Real missing, std::size_t first, Real* rows) {
  constexpr int side = lane_count<Real> / Block;
  const std::size_t step = b.length * b.features, row = b.groups * lane_count<Real>;
  for (std::size_t part = 0; part < b.features / Block; ++part) {
    const std::size_t offset = first * b.features + part * lane_count<Real>;
    const Real* from = array + offset;
    Real* to = rows + part * side * row;
    for (std::size_t group = 0; group < b.groups; ++group, from += side * step, to += lane_count<Real>) {
      pack<Real, side> tile;
      if (b.whole || present(b, group * side + side - 1, offset) == lane_count<Real>)
        repeat<side>(
            [&](int i) { __builtin_memcpy(&tile.part[i], from + static_cast<std::size_t>(i) * step, vector_bytes); });
      else
        for (std::size_t i = 0; i < side; ++i) tile.part[i] = load_present(b, array, missing, group * side + i, offset);
      transpose<Real, Block>(tile);
      repeat<side>(
          [&](int k) { __builtin_memcpy(to + static_cast<std::size_t>(k) * row, &tile.part[k], vector_bytes); });
    }
  }
}

// Stores the elements of x that exist.
template <class Real>
[[gnu::noinline]] void store_present(const chunk_block<Real>& b, vec<Real> x, std::size_t chunk, std::size_t offset,
                                     Real* to) {
  const std::size_t count = present(b, chunk, offset);
  if (count == lane_count<Real>)
    __builtin_memcpy(to, &x, sizeof x);
  else
    for (std::size_t k = 0; k < count; ++k) to[k] = x[k];
}

// The inverse of load_tile, for the elements that exist.
template <class Real, int Block>
inline void store_tile(const chunk_block<Real>& b, const Real* rows, std::size_t first, Real* array) {
  constexpr int side = lane_count<Real> / Block;
  const std::size_t step = b.length * b.features, row = b.groups * lane_count<Real>;
  for (std::size_t part = 0; part < b.features / Block; ++part) {
    const std::size_t offset = first * b.features + part * lane_count<Real>;
    Real* to = array + offset;
    const Real* from = rows + part * side * row;
    for (std::size_t group = 0; group < b.groups; ++group, to += side * step, from += lane_count<Real>) {
      pack<Real, side> tile;
      repeat<side>(
          [&](int k) { __builtin_memcpy(&tile.part[k], from + static_cast<std::size_t>(k) * row, vector_bytes); });
      transpose<Real, Block>(tile);
      const bool whole = b.whole || present(b, group * side + side - 1, offset) == lane_count<Real>;
      if (whole && b.past_caches)
        repeat<side>([&](int i) { store_past_caches(to + static_cast<std::size_t>(i) * step, tile.part[i]); });
      else if (whole)
        repeat<side>(
            [&](int i) { __builtin_memcpy(to + static_cast<std::size_t>(i) * step, &tile.part[i], vector_bytes); });
      else
        for (std::size_t i = 0; i < side; ++i) store_present(b, tile.part[i], group * side + i, offset, to + i * step);
    }
  }
}

// Asks for a part of the next chunks, in the order of addresses. The processor alone cannot follow as many chunks at
// once as are read here.
template <class Real>
inline void fetch_next(const chunk_block<Real>& b, const Real* array, std::size_t first, std::size_t count) {
  constexpr std::size_t line = 64 / sizeof(Real);
  if (b.next == 0) return;
  for (std::size_t i = first; i < first + count; i += line) __builtin_prefetch(array + b.next + i, 0, 2);
}

template <class Real, class Decay>
inline void load_tiles(const chunk_block<Real>& b, std::size_t first, Real* decay, Real* h) {
  with_block<Real>(b.features, [&](auto block) {
    load_tile<Real, block>(b, b.decay, Decay::template neutral<Real>, first, decay);
    load_tile<Real, block>(b, b.h, -infinity<Real>, first, h);
  });
}

// Precondition: if b.past_caches is true, the addresses of chunks in s are multiples of vector_bytes.
template <class Real, class Decay>
[[gnu::flatten]] void scan_chunks(const chunk_block<Real>& b) noexcept {
  const auto [side, parts, row] = sizes_of(b);
  const auto step = static_cast<std::ptrdiff_t>(row);
  Real *high = b.scratch, *low = high + row, *decay = low + row, *h = decay + side * row, *s = h + side * row;
  for_each_place(b, [&](std::size_t k, std::size_t place) { high[place] = b.high[k], low[place] = b.low[k]; });
  for (std::size_t first = 0; first < b.length; first += side) {
    load_tiles<Real, Decay>(b, first, decay, h);
    // The loop asks for a little memory at a time. A request for much memory at once would wait for the memory.
    for (std::size_t i = 0; i < side; ++i) {
      fetch_next(b, b.decay, (first + i) * row, row);
      fetch_next(b, b.h, (first + i) * row, row);
      walk_rows<Real, Decay, false>(
          {1, row, {decay + i * row, step}, {h + i * row, step}, {s + i * row, step}, high, low, false});
    }
    with_block<Real>(b.features, [&](auto block) { store_tile<Real, block>(b, s, first, b.s); });
  }
  for_each_place(b, [&](std::size_t k, std::size_t place) { b.high[k] = high[place], b.low[k] = low[place]; });
  if (b.past_caches) end_stores_past_caches();
}

// Finds the bounds of the tokens before y.first, chunk after chunk in the order of addresses. The lanes of the result
// of a chunk are placed as in a tile; transposing the tile therefore brings the numbers of a feature together.
template <class Real, class Decay>
inline void bound_chunks(const chunk_block<Real>& b, const chunk_summary<Real>& y, Real* found, Real* rows) {
  constexpr std::size_t lanes = lane_count<Real>;
  const vec<Real> none{}, lowest = broadcast(-infinity<Real>), unknown = broadcast(infinity<Real>);
  const auto [side, parts, row] = sizes_of(b);
  const std::size_t length = b.length * b.features, end = y.first * b.features, step = parts * lanes;
  for (std::size_t chunk = 0; chunk < b.groups * side; ++chunk) {
    const Real *decay = b.decay + chunk * length, *h = b.h + chunk * length;
    const bool whole = (chunk + 1) * length <= b.available;
    for (std::size_t part = 0; part < parts; ++part) {
      // Several registers are computed at once, so that none waits for the one before it.
      constexpr int together = 4;
      vec<Real> top[together], top_log_p[together], bad[together], bad_log_p[together];
      for (int i = 0; i < together; ++i) top[i] = top_log_p[i] = lowest, bad[i] = bad_log_p[i] = none;
      const auto add = [&](std::size_t k, int i) {
        vec<Real> x, given;
        __builtin_memcpy(&x, h + k, sizeof x), __builtin_memcpy(&given, decay + k, sizeof given);
        top[i] = larger<Real>(x, top[i]);
        if constexpr (!Decay::bounded) top_log_p[i] = larger<Real>(given, top_log_p[i]);
        // 0 times a number that is not finite is NaN
        bad[i] = fused<Real>(x, none, bad[i]), bad_log_p[i] = fused<Real>(given, none, bad_log_p[i]);
      };
      std::size_t k = part * lanes;
      for (; whole && k + (together - 1) * step < end; k += together * step)
        repeat<together>([&](int i) { add(k + static_cast<std::size_t>(i) * step, i); });
      for (; whole && k < end; k += step) add(k, 0);
      for (int i = 1; i < together; ++i) {
        top[0] = larger<Real>(top[0], top[i]), top_log_p[0] = larger<Real>(top_log_p[0], top_log_p[i]);
        bad[0] = bad[0] + bad[i], bad_log_p[0] = bad_log_p[0] + bad_log_p[i];
      }
      const mask<Real> known = equal<Real>(bad[0] + bad_log_p[0], none);
      vec<Real> bound = where<Real>(less<Real>(none, top_log_p[0]), unknown, where<Real>(known, top[0], unknown));
      if (!whole) bound = unknown;
      __builtin_memcpy(found + (chunk * parts + part) * lanes, &bound, sizeof bound);
    }
  }
  chunk_block<Real> tile = b;
  tile.length = side, tile.whole = true;
  with_block<Real>(b.features, [&](auto block) { load_tile<Real, block>(tile, found, 0, 0, rows); });
  for (std::size_t i = 1; i < side; ++i)
    for_each_pack<Real>(row, [rows, other = rows + i * row](auto part) {
      store(rows, part, each(larger<Real>, load(rows, part), load(other, part)));
    });
  for_each_place(b, [&](std::size_t k, std::size_t place) { y.largest_h[k] = rows[place]; });
}

template <class Real, class Decay>
[[gnu::flatten]] void summarize_chunks(const chunk_block<Real>& b, const chunk_summary<Real>& y) noexcept {
  const chunk_sizes size = sizes_of(b);
  const std::size_t side = size.side, row = size.row;
  Real *sum = b.scratch, *sum_low = sum + row, *high = sum_low + row, *low = high + row;
  Real *decay = low + row, *h = decay + side * row;
  if (y.largest_h != nullptr) bound_chunks<Real, Decay>(b, y, decay, h);
  for (std::size_t k = 0; k < row; ++k) sum[k] = sum_low[k] = low[k] = 0, high[k] = -infinity<Real>;
  for (std::size_t first = y.first; first < y.last; first += side) {
    load_tiles<Real, Decay>(b, first, decay, h);
    for (std::size_t i = 0; i < side; ++i)
      for_each_pack<Real, registers_of_step<Decay>>(row, [&](auto place) {
        constexpr int n = width<decltype(place)>;
        state_pack<Real, n> state = {load(high, place), load(low, place)},
                            sums = {load(sum, place), load(sum_low, place)};
        const decay_pack<Real, n> log_p = Decay::template log_p<Real>(load(decay + i * row, place));
        advance<Real, n, Decay::two_part>(state, log_p, load(h + i * row, place));
        store(high, place, state.high), store(low, place, state.low);
        repeat<n>([&](int k) { add_exactly<Real>(sums.high.part[k], sums.low.part[k], log_p.high.part[k]); });
        if constexpr (Decay::two_part)
          repeat<n>([&](int k) { sums.low.part[k] = sums.low.part[k] + log_p.low.part[k]; });
        store(sum, place, sums.high), store(sum_low, place, sums.low);
      });
  }
  for_each_place(b, [&](std::size_t k, std::size_t place) {
    y.sum[k] = sum[place], y.sum_low[k] = sum_low[place], y.high[k] = high[place], y.low[k] = low[place];
  });
}

// Joins the maps from the last to the first, so that `earlier` may be the same arrays, shifted.
[[gnu::flatten]] inline void join_maps(const map_block& b) noexcept {
  for_each_pack_backwards<double>(b.count, [&](auto place) {
    constexpr int n = width<decltype(place)>;
    state_pack<double, n> state = {load(b.earlier_state, place), {}};
    pack<double, n> sum = load(b.sum, place);
    const pack<double, n> earlier_sum = load(b.earlier_sum, place);
    advance<double, n, false>(state, {sum, {}}, load(b.state, place));
    repeat<n>([&](int k) { sum.part[k] = sum.part[k] + earlier_sum.part[k]; });
    store(b.sum, place, sum), store(b.state, place, state.high);
  });
}
