// The recurrence along time in lanes: chunks of one sequence side by side, as if they were features.
//
// A register holds Block neighbouring features of lane_count / Block chunks, where Block is the greatest common divisor
// of lane_count and the number of features. A tile of lane_count / Block tokens of every chunk is transposed, block by
// block, into rows, walked as rows of features, and transposed back. What a chunk begins with is known only when those
// before it are summarized: encodings/heinsen/chunks.cpp.

// Block j of register i becomes block i of register j. Interleaving the first half of the registers with the second, as
// often as there are halvings of their number, moves each block to its place.
template <class Real, int Block, std::size_t... J>
inline void interleave(vec<Real> x, vec<Real> y, vec<Real>& low, vec<Real>& high, std::index_sequence<J...>) {
  constexpr std::size_t lanes = sizeof...(J);
  low = __builtin_shufflevector(x, y, (J / Block / 2 * Block + J % Block + J / Block % 2 * lanes)...);
  high = __builtin_shufflevector(x, y, (lanes / 2 + J / Block / 2 * Block + J % Block + J / Block % 2 * lanes)...);
}
template <class Real, int Block, int Halves = lane_count<Real> / Block>
inline void transpose(pack<Real, lane_count<Real> / Block>& r) {
  constexpr int count = lane_count<Real> / Block;
  if constexpr (Halves > 1) {
    pack<Real, count> t;
    repeat<count / 2>([&](int i) {
      interleave<Real, Block>(r.part[i], r.part[i + count / 2], t.part[2 * i], t.part[2 * i + 1],
                              std::make_index_sequence<lane_count<Real>>{});
    });
    r = t;
    transpose<Real, Block, Halves / 2>(r);
  }
}

// f(Block) as a constant.
template <class Real, int Block = lane_count<Real>, class Function>
inline void with_block(std::size_t features, Function f) {
  if constexpr (Block == 1)
    f(std::integral_constant<int, 1>{});
  else if (features % Block == 0)
    f(std::integral_constant<int, Block>{});
  else
    with_block<Real, Block / 2>(features, f);
}

// Sizes that follow from a block: chunks of a register and tokens of a tile; registers of a token of these chunks; and
// numbers of a row, one for each feature of each chunk.
struct chunk_sizes {
  std::size_t side, parts, row;
};
template <class Real>
inline chunk_sizes sizes_of(const chunk_block<Real>& b) {
  constexpr std::size_t lanes = lane_count<Real>;
  const std::size_t lowest = b.features & (~b.features + 1), block = lowest < lanes ? lowest : lanes;
  return {lanes / block, b.features / block, b.groups * (lanes / block) * b.features};
}

// f(k, place) for each number k = chunk * features + feature of a row, and its place in registers.
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

// How many of the elements [offset, offset + lane_count) of a chunk there are.
template <class Real>
inline std::size_t present(const chunk_block<Real>& b, std::size_t chunk, std::size_t offset) {
  const std::size_t place = chunk * b.length * b.features + offset;
  const std::size_t left = place < b.available ? b.available - place : 0;
  return left < lane_count<Real> ? left : lane_count<Real>;
}

// The elements of a chunk from `offset` on that exist, and `missing` for the others. Few tiles are not whole: a call of
// this is short code in those that are, which are many.
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

// The tile from token `first` of every chunk on as rows; `missing` stands for elements that do not exist.
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

// Those of x that exist.
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

// Asks for a part of what comes next, in the order of addresses: the processor cannot follow as many chunks at once as
// are read here.
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

// Precondition: the addresses of chunks in s are multiples of vector_bytes where b.past_caches.
template <class Real, class Decay>
[[gnu::flatten]] void scan_chunks(const chunk_block<Real>& b) noexcept {
  const auto [side, parts, row] = sizes_of(b);
  const auto step = static_cast<std::ptrdiff_t>(row);
  Real *high = b.scratch, *low = high + row, *decay = low + row, *h = decay + side * row, *s = h + side * row;
  for_each_place(b, [&](std::size_t k, std::size_t place) { high[place] = b.high[k], low[place] = b.low[k]; });
  for (std::size_t first = 0; first < b.length; first += side) {
    load_tiles<Real, Decay>(b, first, decay, h);
    // A little at a time: asking for much at once would wait for memory.
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

// The bounds of what stands before y.first, chunk after chunk in the order of addresses. What is found in the lanes of
// a chunk has the places of a tile, and so the features meet where a tile is transposed.
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
      vec<Real> top = lowest, top_log_p = lowest, bad{}, other_top = lowest, other_top_log_p = lowest, other_bad{};
      const auto add = [&](std::size_t k, vec<Real>& t, vec<Real>& t_log_p, vec<Real>& not_finite) {
        vec<Real> x, given;
        __builtin_memcpy(&x, h + k, sizeof x), __builtin_memcpy(&given, decay + k, sizeof given);
        t = larger<Real>(x, t);
        if constexpr (!Decay::bounded) t_log_p = larger<Real>(given, t_log_p);
        // 0 times what is not finite is NaN
        not_finite = fused<Real>(given, none, fused<Real>(x, none, not_finite));
      };
      // Two registers at once, so that one need not wait for the other.
      std::size_t k = part * lanes;
      for (; whole && k + step < end; k += 2 * step)
        add(k, top, top_log_p, bad), add(k + step, other_top, other_top_log_p, other_bad);
      if (whole && k < end) add(k, top, top_log_p, bad);
      const mask<Real> known = equal<Real>(bad + other_bad, none);
      top = where<Real>(known, larger<Real>(top, other_top), unknown);
      top = where<Real>(less<Real>(none, larger<Real>(top_log_p, other_top_log_p)), unknown, top);
      if (!whole) top = unknown;
      __builtin_memcpy(found + (chunk * parts + part) * lanes, &top, sizeof top);
    }
  }
  chunk_block<Real> tile = b;
  tile.length = side, tile.whole = true;
  with_block<Real>(b.features, [&](auto block) { load_tile<Real, block>(tile, found, 0, 0, rows); });
  for (std::size_t i = 1; i < side; ++i)
    for_each_pack<Real>(row, [rows, other = rows + i * row](auto at) {
      store(rows, at, each(larger<Real>, load(rows, at), load(other, at)));
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
      for_each_pack<Real>(row, [&](auto at) {
        constexpr int n = width<decltype(at)>;
        state_pack<Real, n> state = {load(high, at), load(low, at)}, sums = {load(sum, at), load(sum_low, at)};
        const decay_pack<Real, n> log_p = Decay::template log_p<Real>(load(decay + i * row, at));
        advance<Real, n, Decay::two_part>(state, log_p, load(h + i * row, at));
        store(high, at, state.high), store(low, at, state.low);
        repeat<n>([&](int k) { add_exactly<Real>(sums.high.part[k], sums.low.part[k], log_p.high.part[k]); });
        if constexpr (Decay::two_part)
          repeat<n>([&](int k) { sums.low.part[k] = sums.low.part[k] + log_p.low.part[k]; });
        store(sum, at, sums.high), store(sum_low, at, sums.low);
      });
  }
  for_each_place(b, [&](std::size_t k, std::size_t place) {
    y.sum[k] = sum[place], y.sum_low[k] = sum_low[place], y.high[k] = high[place], y.low[k] = low[place];
  });
}

// The maps from the last to the first, so that `earlier` may be the same arrays, shifted.
[[gnu::flatten]] inline void join_maps(const map_block& b) noexcept {
  for_each_pack_backwards<double>(b.count, [&](auto at) {
    constexpr int n = width<decltype(at)>;
    state_pack<double, n> state = {load(b.earlier_state, at), {}};
    pack<double, n> sum = load(b.sum, at);
    const pack<double, n> earlier_sum = load(b.earlier_sum, at);
    advance<double, n, false>(state, {sum, {}}, load(b.state, at));
    repeat<n>([&](int k) { sum.part[k] = sum.part[k] + earlier_sum.part[k]; });
    store(b.sum, at, sum), store(b.state, at, state.high);
  });
}
