// The adjoint of few features (scan_vjp.ipp has the formulas), with time in the lanes of registers. Rows lie without
// gaps. An array is therefore one run of numbers, in which the next token of a feature stands `features` places
// further.
//
// Three walks go over a block of tokens, starting at its end. The first finds the weights of all tokens. The second
// goes from token to token in f64:
//   z_i = w_i lambda_i = w_i grad_s_i + w_i z_{i+1}.
// The third finds the gradients. In the second walk, a register of some tokens joins the maps z -> B + A z of
// neighbours, then of pairs of neighbours, and so on [Hillis and Steele 1986], before the carry is applied. The carry
// therefore waits for one fused operation in each register. f64 holds 1 - v and the products of weights so accurately
// that no sum needs compensation: with u = 2^-53, a token adds at most 4u |lambda_i| to the errors of the f32 weights
// and of the rounded results.
//
// Special values: as in scan_vjp.ipp, except that lambda overflows only where f32 cannot hold a written number. They
// are found by their effects: a weight or a lambda that is not finite makes z not finite from token to token, because
// even the product with w = 0 is then NaN. A block is therefore first walked as if all elements were finite, and walked
// again if the carry is not finite. The second time (Careful), the walk looks for equal terms, and it omits products
// with w = 0 if there is no past; a w that underflows omits nothing. The bits of finite results are the same, except
// for the sign of a zero.

// The arrays in the scratch memory. A block needs four of them.
struct narrow_scratch {
  float *weight,
      *input_weight;        // w, and v unless h = -inf. w > 1/2 is given as -v, -0 included; Careful: no past as -1
  float *carried, *lambda;  // z and lambda
  explicit narrow_scratch(const narrow_block& b) {
    const std::size_t size = (b.tokens * b.features / 16 + 2) * 16;
    weight = b.scratch, input_weight = weight + size, carried = input_weight + size, lambda = carried + size;
  }
};

template <class Decay, bool Careful>
inline void weigh_each_token(const narrow_block& b) {
  const narrow_scratch to(b);
  const auto weigh = [&](const float* previous, std::size_t first, std::size_t count) {
    const float *decay = b.decay + first, *h = b.h + first;
    for_each_pack_backwards<float, registers_of_row>(count, [&](auto place) {
      constexpr int n = width<decltype(place)>;
      fetch_before(decay, place), fetch_before(h, place);
      repeat<n>([&](int k) {  // stored for the next walk, into the first cache
        __builtin_prefetch(b.grad_s + first + place.offset + static_cast<std::size_t>(k) * lane_count<float>, 0, 3);
      });
      const pack<float, n> inputs = load(h, place);
      const state_pack<float, n> past =
          past_of<float, n>(Decay::template log_p<float>(load(decay, place)), load(previous, place));
      const weights<float, n> shares = weights_of<float, n, Careful>(past, inputs);
      pack<float, n> weight, input_weight;
      repeat<n>([&](int k) {
        const vec<float> small = shares.small.part[k];
        weight.part[k] = minus_where<float>(shares.past_leads[k], small);
        if constexpr (Careful) {
          const mask<float> no_past = equal<float>(past.high.part[k], broadcast(-infinity<float>));
          weight.part[k] = where<float>(no_past, broadcast(-1.0f), weight.part[k]);
        }
        input_weight.part[k] = where<float>(shares.past_leads[k], small, shares.large.part[k]);
      });
      store(to.weight + first, place, weight);
      store(to.input_weight + first, place, input_weight);
    });
  };
  if (b.before == b.s - b.features) {
    weigh(b.before, 0, b.tokens * b.features);
  } else {
    weigh(b.s, b.features, (b.tokens - 1) * b.features);
    weigh(b.before, 0, b.features);
  }
}

template <class Decay>
[[gnu::flatten]] void weigh_tokens(const narrow_block& b) noexcept {
  b.careful ? weigh_each_token<Decay, true>(b) : weigh_each_token<Decay, false>(b);
}

// Convert half a register of f32 to a register of f64, and back.
typedef float half_register __attribute__((vector_size(vector_bytes / 2)));
inline vec<double> load_wide(const float* from) {
  half_register x;
  __builtin_memcpy(&x, from, sizeof x);
  return __builtin_convertvector(x, vec<double>);
}
inline void store_narrow(float* to, vec<double> x) {
  const half_register y = __builtin_convertvector(x, half_register);
  __builtin_memcpy(to, &y, sizeof y);
}
// Returns w. If there is no past, w is 0; with Careful it is -1.
template <bool Careful>
inline vec<double> load_weight(const float* from) {
  const vec<double> x = load_wide(from), w = add_where<double>(has_sign(x), x, broadcast(1.0));
  return Careful ? where<double>(equal<double>(x, broadcast(-1.0)), x, w) : w;
}

// Return y + a x, and the product of weights. A NaN does not count as negative.
template <bool Careful>
inline vec<double> joined(vec<double> a, vec<double> x, vec<double> y) {
  const vec<double> sum = fused<double>(a, x, y);
  return Careful ? where<double>(less<double>(a, vec<double>{}), y, sum) : sum;
}
template <bool Careful>
inline vec<double> both(vec<double> a, vec<double> others) {
  if (!Careful) return a * others;
  const vec<double> product = where<double>(less<double>(others, vec<double>{}), others, a * others);
  return where<double>(less<double>(a, vec<double>{}), a, product);
}

// The lanes from number `By` on of two registers side by side.
template <int By, std::size_t... J>
inline vec<double> shifted(vec<double> x, vec<double> y, std::index_sequence<J...>) {
  return __builtin_shufflevector(x, y, (static_cast<int>(J) + By)...);
}
template <int By>
inline vec<double> shifted(vec<double> x, vec<double> y) {
  return shifted<By>(x, y, std::make_index_sequence<lane_count<double>>{});
}

// For each lane: the first element of the lane's feature in the register that follows.
template <int Features, std::size_t... J>
inline vec<double> first_of_feature(vec<double> next, std::index_sequence<J...>) {
  return __builtin_shufflevector(next, next, ((Features - (lane_count<double> - int(J)) % Features) % Features)...);
}

// Joins the map of a lane with the maps after it. Each step doubles the number of joined maps.
template <int Step, bool Careful>
inline void join_neighbours(vec<double>& a, vec<double>& b) {
  if constexpr (Step < lane_count<double>) {
    b = joined<Careful>(a, shifted<Step>(b, vec<double>{}), b);
    a = both<Careful>(a, shifted<Step>(a, broadcast(1.0)));
    join_neighbours<2 * Step, Careful>(a, b);
  }
}

// Asks for cotangents and states of earlier blocks, in turn.
inline void fetch_cotangents_before(const narrow_block& b, std::size_t k) {
  fetch_before((k % lane_count<float> < lane_count<double> ? b.grad_s : b.s) + k);
}

// For fewer features than lanes. Behind the last token, further tokens fill a register. They have w = 1 and no
// gradient.
template <int Features, bool Careful>
inline void go_back_in_registers(const narrow_block& b) {
  constexpr std::size_t lanes = lane_count<double>;
  const narrow_scratch scratch(b);
  const std::size_t count = b.tokens * b.features, filled = (count + lanes - 1) / lanes * lanes;
  float tail[lanes] = {};
  for (std::size_t k = filled - lanes; k < filled; ++k)
    if (k < count)
      tail[k - (filled - lanes)] = b.grad_s[k];
    else
      scratch.weight[k] = -0.0f;
  vec<double> next{};
  for (std::size_t i = 0; i < Features; ++i) next[i] = b.carry[(filled + i) % Features];
  const float* grad_s = tail;
  for (std::size_t k = filled; k > 0;) {
    k -= lanes;
    fetch_cotangents_before(b, k);
    const vec<double> w = load_weight<Careful>(scratch.weight + k), given = load_wide(grad_s);
    grad_s = b.grad_s + k - lanes;
    vec<double> factor = w, sum = joined<Careful>(w, given, vec<double>{});
    join_neighbours<Features, Careful>(factor, sum);
    const vec<double> before = first_of_feature<Features>(next, std::make_index_sequence<lanes>{});
    const vec<double> z = joined<Careful>(factor, before, sum);
    store_narrow(scratch.carried + k, z);
    store_narrow(scratch.lambda + k, given + shifted<Features>(z, next));
    next = z;
  }
  for (std::size_t i = 0; i < Features; ++i) b.carry[i] = next[i];
}

// For at least as many features as lanes. A row takes `Pieces` registers. If the last register would not be full, it
// overlaps the one before it.
template <int Pieces, bool Careful>
inline void go_back_in_rows(const narrow_block& b) {
  constexpr std::size_t lanes = lane_count<double>;
  const narrow_scratch scratch(b);
  const auto offset = [&](int piece) {
    return piece == Pieces - 1 ? b.features - lanes : static_cast<std::size_t>(piece) * lanes;
  };
  pack<double, Pieces> next;
  repeat<Pieces>([&](int p) { __builtin_memcpy(&next.part[p], b.carry + offset(p), sizeof next.part[p]); });
  for (std::size_t i = b.tokens; i-- > 0;)
    repeat<Pieces>([&](int p) {
      const std::size_t k = i * b.features + offset(p);
      fetch_cotangents_before(b, k);
      const vec<double> w = load_weight<Careful>(scratch.weight + k), given = load_wide(b.grad_s + k);
      store_narrow(scratch.lambda + k, given + next.part[p]);
      next.part[p] = joined<Careful>(w, next.part[p], joined<Careful>(w, given, vec<double>{}));
      store_narrow(scratch.carried + k, next.part[p]);
    });
  repeat<Pieces>([&](int p) { __builtin_memcpy(b.carry + offset(p), &next.part[p], sizeof next.part[p]); });
}

template <bool Careful, int... K>
inline void go_back_by_features(const narrow_block& b, std::integer_sequence<int, K...>) {
  constexpr int lanes = lane_count<double>;
  const int features = static_cast<int>(b.features), pieces = (features + lanes - 1) / lanes;
  const auto go = [&]<int Features>(std::integral_constant<int, Features>) {
    if constexpr (Features < lanes) {
      if (features == Features) go_back_in_registers<Features, Careful>(b);
    } else if constexpr (Features % lanes == 0) {
      if (features >= lanes && pieces == Features / lanes) go_back_in_rows<Features / lanes, Careful>(b);
    }
  };
  (go(std::integral_constant<int, K + 1>{}), ...);
}

[[gnu::flatten]] inline void go_back_tokens(const narrow_block& b) noexcept {
  constexpr int lanes = lane_count<double>;
  constexpr std::make_integer_sequence<int, (narrow_block::most_features + lanes - 1) / lanes * lanes> each_number{};
  b.careful ? go_back_by_features<true>(b, each_number) : go_back_by_features<false>(b, each_number);
}

// The caller orders the stores around the caches, because a fence for each block would wait for memory.
//
// Precondition: if b.past_caches is true, both gradients begin at multiples of vector_bytes.
template <class Slope>
[[gnu::flatten]] void finish_tokens(const narrow_block& b) noexcept {
  constexpr std::size_t lanes = lane_count<float>;
  const narrow_scratch from(b);
  for_each_pack_backwards<float, registers_of_row>(b.tokens * b.features, [&](auto place) {
    constexpr int n = width<decltype(place)>;
    const pack<float, n> v = load(from.input_weight, place), lambda = load(from.lambda, place), h = load(b.h, place);
    const pack<float, n> to_decay = Slope::template times_slope<float>(load(b.decay, place), load(from.carried, place));
    pack<float, n> to_h;
    repeat<n>([&](int k) {
      const mask<float> has_input = differ<float>(h.part[k], broadcast(-infinity<float>));
      to_h.part[k] = where<float>(has_input, v.part[k] * lambda.part[k], vec<float>{});
    });
    if constexpr (!requires { place.count; })
      if (b.past_caches) {
        repeat<n>([&](int k) { store_past_caches(b.grad_decay + place.offset + k * lanes, to_decay.part[k]); });
        repeat<n>([&](int k) { store_past_caches(b.grad_h + place.offset + k * lanes, to_h.part[k]); });
        return;
      }
    store(b.grad_decay, place, to_decay);
    store(b.grad_h, place, to_h);
  });
}
