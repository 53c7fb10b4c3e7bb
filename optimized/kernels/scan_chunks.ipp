// The recurrence along time in lanes: chunks of one sequence side by side, as if they were features.
//
// A tile of lane_count tokens of every chunk is transposed into rows, walked as rows of features, and transposed back.
// What a chunk begins with is known only when those before it are summarized: encodings/heinsen_chunks.cpp.

// r[i][j] becomes r[j][i]. Interleaving the first half of the registers with the second, as often as there are halvings
// of their number, moves each element to its place.
template <class Real, std::size_t... J>
inline void interleave(vec<Real> x, vec<Real> y, vec<Real>& low, vec<Real>& high, std::index_sequence<J...>) {
  constexpr std::size_t lanes = sizeof...(J);
  low = __builtin_shufflevector(x, y, (J / 2 + J % 2 * lanes)...);
  high = __builtin_shufflevector(x, y, (lanes / 2 + J / 2 + J % 2 * lanes)...);
}
template <class Real>
inline void transpose(pack<Real, lane_count<Real>>& r) {
  constexpr int lanes = lane_count<Real>;
  for (int halves = lanes; halves > 1; halves /= 2) {
    pack<Real, lanes> t;
    repeat<lanes / 2>([&](int i) {
      interleave<Real>(r.part[i], r.part[i + lanes / 2], t.part[2 * i], t.part[2 * i + 1],
                       std::make_index_sequence<lanes>{});
    });
    r = t;
  }
}

// How many of the elements [offset, offset + lane_count) of a chunk there are.
template <class Real>
inline std::size_t present(const chunk_block<Real>& b, std::size_t chunk, std::size_t offset) {
  const std::size_t place = chunk * b.length * b.features + offset;
  const std::size_t left = place < b.available ? b.available - place : 0;
  return left < lane_count<Real> ? left : lane_count<Real>;
}

// Tokens [first, first + lane_count) of every chunk as rows; `missing` stands for elements that do not exist.
template <class Real>
inline void load_tile(const chunk_block<Real>& b, const Real* array, Real missing, std::size_t first, Real* rows) {
  constexpr std::size_t lanes = lane_count<Real>;
  for (std::size_t part = 0; part < b.features; ++part)
    for (std::size_t group = 0; group < b.groups; ++group) {
      const std::size_t offset = (first * b.features) + part * lanes, chunk = group * lanes;
      const std::size_t step = b.length * b.features;
      pack<Real, lane_count<Real>> tile;
      if (present(b, chunk + lanes - 1, offset) == lanes)
        repeat<lane_count<Real>>([&](int i) {
          __builtin_memcpy(&tile.part[i], array + (chunk + static_cast<std::size_t>(i)) * step + offset, vector_bytes);
        });
      else
        repeat<lane_count<Real>>([&](int i) {
          const std::size_t row = chunk + static_cast<std::size_t>(i), count = present(b, row, offset);
          Real elements[lanes];
          for (std::size_t k = 0; k < lanes; ++k) elements[k] = k < count ? array[row * step + offset + k] : missing;
          __builtin_memcpy(&tile.part[i], elements, vector_bytes);
        });
      transpose<Real>(tile);
      repeat<lane_count<Real>>([&](int k) {
        __builtin_memcpy(rows + ((part * lanes + static_cast<std::size_t>(k)) * b.groups + group) * lanes,
                         &tile.part[k], vector_bytes);
      });
    }
}

// The inverse, for the elements that exist.
template <class Real>
inline void store_tile(const chunk_block<Real>& b, const Real* rows, std::size_t first, Real* array) {
  constexpr std::size_t lanes = lane_count<Real>;
  for (std::size_t part = 0; part < b.features; ++part)
    for (std::size_t group = 0; group < b.groups; ++group) {
      const std::size_t offset = (first * b.features) + part * lanes, chunk = group * lanes;
      const std::size_t step = b.length * b.features;
      pack<Real, lane_count<Real>> tile;
      repeat<lane_count<Real>>([&](int k) {
        __builtin_memcpy(&tile.part[k],
                         rows + ((part * lanes + static_cast<std::size_t>(k)) * b.groups + group) * lanes,
                         vector_bytes);
      });
      transpose<Real>(tile);
      const bool whole = present(b, chunk + lanes - 1, offset) == lanes;
      if (whole && b.past_caches)
        repeat<lane_count<Real>>([&](int i) {
          store_past_caches(array + (chunk + static_cast<std::size_t>(i)) * step + offset, tile.part[i]);
        });
      else if (whole)
        repeat<lane_count<Real>>([&](int i) {
          __builtin_memcpy(array + (chunk + static_cast<std::size_t>(i)) * step + offset, &tile.part[i], vector_bytes);
        });
      else
        for (std::size_t i = 0; i < lanes; ++i) {
          const std::size_t count = present(b, chunk + i, offset);
          for (std::size_t k = 0; k < count; ++k) array[(chunk + i) * step + offset + k] = tile.part[i][k];
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

// Precondition: the addresses of chunks in s are multiples of vector_bytes where b.past_caches.
template <class Real, class Decay>
[[gnu::flatten]] void scan_chunks(const chunk_block<Real>& b) noexcept {
  constexpr std::size_t lanes = lane_count<Real>;
  const std::size_t features = b.features * b.groups * lanes, tile = lanes * features;
  const auto step = static_cast<std::ptrdiff_t>(features);
  Real *decay = b.scratch, *h = decay + tile, *s = h + tile;
  for (std::size_t first = 0; first < b.length; first += lanes) {
    load_tile(b, b.decay, Decay::template neutral<Real>, first, decay);
    load_tile(b, b.h, -infinity<Real>, first, h);
    // A little at a time: asking for much at once would wait for memory.
    for (std::size_t i = 0; i < lanes; ++i) {
      const std::size_t row = i * features;
      fetch_next(b, b.decay, first / lanes * tile + row, features);
      fetch_next(b, b.h, first / lanes * tile + row, features);
      walk_rows<Real, Decay, false>(
          {1, features, decay + row, h + row, s + row, step, step, step, b.high, b.low, false});
    }
    store_tile(b, s, first, b.s);
  }
  if (b.past_caches) end_stores_past_caches();
}

// The bounds of what stands before y.first, chunk after chunk in the order of addresses. Lane l of register p of a tile
// is of feature (p lane_count + l) mod features.
template <class Real>
inline void bound_chunks(const chunk_block<Real>& b, const chunk_summary<Real>& y) {
  constexpr std::size_t lanes = lane_count<Real>;
  const std::size_t chunks = b.groups * lanes, length = b.length * b.features;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const Real *decay = b.decay + chunk * length, *h = b.h + chunk * length;
    const bool whole = (chunk + 1) * length <= b.available;
    for (std::size_t f = 0; f < b.features; ++f) {
      y.largest_h[f * chunks + chunk] = y.largest_log_p[f * chunks + chunk] = -infinity<Real>;
      y.not_finite[f * chunks + chunk] = whole ? 0 : static_cast<Real>(__builtin_nan(""));
    }
    if (!whole) continue;
    for (std::size_t part = 0; part < b.features; ++part) {
      vec<Real> top = broadcast(-infinity<Real>), top_log_p = top, bad{};
      for (std::size_t k = part * lanes; k < y.first * b.features; k += b.features * lanes) {
        const vec<Real> x = load(h + k, whole_registers<1>{0}).part[0];
        const vec<Real> given = load(decay + k, whole_registers<1>{0}).part[0];
        top = larger<Real>(x, top);
        top_log_p = larger<Real>(given, top_log_p);
        bad = fused<Real>(x, vec<Real>{}, fused<Real>(given, vec<Real>{}, bad));  // 0 times what is not finite is NaN
      }
      for (std::size_t l = 0; l < lanes; ++l) {
        const std::size_t k = (part * lanes + l) % b.features * chunks + chunk;
        if (top[l] > y.largest_h[k]) y.largest_h[k] = top[l];
        if (top_log_p[l] > y.largest_log_p[k]) y.largest_log_p[k] = top_log_p[l];
        y.not_finite[k] += bad[l];
      }
    }
  }
}

template <class Real, class Decay>
[[gnu::flatten]] void summarize_chunks(const chunk_block<Real>& b, const chunk_summary<Real>& y) noexcept {
  constexpr std::size_t lanes = lane_count<Real>;
  const std::size_t features = b.features * b.groups * lanes, tile = lanes * features;
  Real *decay = b.scratch, *h = decay + tile;
  if (y.first > 0) bound_chunks(b, y);
  for (std::size_t k = 0; k < features; ++k) y.sum[k] = y.sum_low[k] = y.low[k] = 0, y.high[k] = -infinity<Real>;
  for (std::size_t first = y.first; first < b.length; first += lanes) {
    load_tile(b, b.decay, Decay::template neutral<Real>, first, decay);
    load_tile(b, b.h, -infinity<Real>, first, h);
    for (std::size_t i = 0; i < lanes; ++i)
      for_each_pack<Real>(features, [&](auto at) {
        constexpr int n = width<decltype(at)>;
        state_pack<Real, n> state = {load(y.high, at), load(y.low, at)};
        const decay_pack<Real, n> log_p = Decay::template log_p<Real>(load(decay + i * features, at));
        advance<Real, n, Decay::two_part>(state, log_p, load(h + i * features, at));
        store(y.high, at, state.high), store(y.low, at, state.low);
        pack<Real, n> sum = load(y.sum, at), sum_low = load(y.sum_low, at);
        repeat<n>([&](int k) { add_exactly<Real>(sum.part[k], sum_low.part[k], log_p.high.part[k]); });
        if constexpr (Decay::two_part) repeat<n>([&](int k) { sum_low.part[k] = sum_low.part[k] + log_p.low.part[k]; });
        store(y.sum, at, sum), store(y.sum_low, at, sum_low);
      });
  }
}
