// The adjoint of few features (scan_vjp.ipp has the formulas), along time in registers. Rows lie without gaps, so that
// an array is one run of numbers in which the next token of a feature stands `features` places further.
//
// Three walks over a block of tokens, from its end: the weights of all tokens; from token to token in f64
//   z_i = w_i lambda_i = w_i grad_s_i + w_i z_{i+1};
// and the gradients. In the second, a register of some tokens joins the maps z -> B + A z of neighbours, then of pairs
// of them, and so on [Hillis and Steele 1986], before the carry comes in: it waits for one fused operation a register.
// f64 keeps 1 - v and the products of weights so well that nothing needs to be compensated: with u = 2^-53 a token adds
// at most 4u |lambda_i| to the error of f32 weights and of the roundings of the results.
//
// Special values: as in scan_vjp.ipp, but that lambda overflows only where f32 cannot hold what is written. Where an
// element is not finite, products with w = 0 are left out, not formed, if there is no past (Guarded); a w that
// underflows leaves out nothing. The other bits are the same.

// Numbers of a scratch array, four of which a block needs, and one for `not_finite`.
struct narrow_scratch {
  float *weight, *input_weight;  // w, and v unless h = -inf. w > 1/2 is given as -v, -0 included, and no past as -1.
  float *carried, *lambda;       // z and lambda
  float* not_finite;             // [lane_count] NaN where something is not finite
  explicit narrow_scratch(const narrow_block& b) {
    const std::size_t size = (b.tokens * b.features / 16 + 2) * 16;
    weight = b.scratch, input_weight = weight + size, carried = input_weight + size, lambda = carried + size;
    not_finite = lambda + size;
  }
};

template <class Decay>
[[gnu::flatten]] void weigh_tokens(const narrow_block& b) noexcept {
  const narrow_scratch to(b);
  vec<float> bad{};
  const auto weigh = [&](const float* previous, std::size_t first, std::size_t count) {
    const float *decay = b.decay + first, *h = b.h + first, *grad_s = b.grad_s + first;
    for_each_pack_backwards<float, registers_of_row>(count, [&](auto at) {
      constexpr int n = width<decltype(at)>;
      fetch_before(decay, at), fetch_before(h, at), fetch_before(grad_s, at), fetch_before(previous, at);
      const pack<float, n> inputs = load(h, at), cotangents = load(grad_s, at);
      const state_pack<float, n> past =
          past_of<float, n>(Decay::template log_p<float>(load(decay, at)), load(previous, at));
      const weights<float, n> of = weights_of<float, n>(past, inputs);
      pack<float, n> weight, input_weight;
      repeat<n>([&](int k) {
        const vec<float> small = of.small.part[k], none{}, no_past = broadcast(-1.0f);
        const mask<float> has_past = differ<float>(past.high.part[k], broadcast(-infinity<float>));
        weight.part[k] = where<float>(of.past_leads[k], -small, where<float>(has_past, small, no_past));
        input_weight.part[k] = where<float>(of.past_leads[k], small, of.large.part[k]);
        bad = fused<float>(weight.part[k], none, fused<float>(cotangents.part[k], none, bad));
      });
      store(to.weight + first, at, weight);
      store(to.input_weight + first, at, input_weight);
    });
  };
  if (b.before == b.s - b.features) {
    weigh(b.before, 0, b.tokens * b.features);
  } else {
    weigh(b.s, b.features, (b.tokens - 1) * b.features);
    weigh(b.before, 0, b.features);
  }
  __builtin_memcpy(to.not_finite, &bad, sizeof bad);
}

// Registers of f64 from half a register of f32, and back.
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
// w. Where there is no past it is 0, and -1 if Guarded.
template <bool Guarded>
inline vec<double> load_weight(const float* from) {
  const vec<double> x = load_wide(from), w = add_where<double>(has_sign(x), x, broadcast(1.0));
  return Guarded ? where<double>(equal<double>(x, broadcast(-1.0)), x, w) : w;
}

// y + a x, and the product of weights. NaN is not negative.
template <bool Guarded>
inline vec<double> joined(vec<double> a, vec<double> x, vec<double> y) {
  const vec<double> sum = fused<double>(a, x, y);
  return Guarded ? where<double>(less<double>(a, vec<double>{}), y, sum) : sum;
}
template <bool Guarded>
inline vec<double> both(vec<double> a, vec<double> others) {
  if (!Guarded) return a * others;
  const vec<double> product = where<double>(less<double>(others, vec<double>{}), others, a * others);
  return where<double>(less<double>(a, vec<double>{}), a, product);
}

// The lanes from `By` on of two registers side by side.
template <int By, std::size_t... J>
inline vec<double> shifted(vec<double> x, vec<double> y, std::index_sequence<J...>) {
  return __builtin_shufflevector(x, y, (static_cast<int>(J) + By)...);
}
template <int By>
inline vec<double> shifted(vec<double> x, vec<double> y) {
  return shifted<By>(x, y, std::make_index_sequence<lane_count<double>>{});
}

// For each lane the first element of its feature in the register that follows.
template <int Features, std::size_t... J>
inline vec<double> first_of_feature(vec<double> next, std::index_sequence<J...>) {
  return __builtin_shufflevector(next, next, ((Features - (lane_count<double> - int(J)) % Features) % Features)...);
}

// The maps of a lane and those after it, twice as many in each step.
template <int Step, bool Guarded>
inline void join_neighbours(vec<double>& a, vec<double>& b) {
  if constexpr (Step < lane_count<double>) {
    b = joined<Guarded>(a, shifted<Step>(b, vec<double>{}), b);
    a = both<Guarded>(a, shifted<Step>(a, broadcast(1.0)));
    join_neighbours<2 * Step, Guarded>(a, b);
  }
}

// Fewer features than lanes. Behind the last token stands as much of further ones, with w = 1 and no gradient, as fills
// a register.
template <int Features, bool Guarded>
inline void go_back_in_registers(const narrow_block& b) {
  constexpr std::size_t lanes = lane_count<double>;
  const narrow_scratch at(b);
  const std::size_t count = b.tokens * b.features, filled = (count + lanes - 1) / lanes * lanes;
  float tail[lanes] = {};
  for (std::size_t k = filled - lanes; k < filled; ++k)
    if (k < count)
      tail[k - (filled - lanes)] = b.grad_s[k];
    else
      at.weight[k] = -0.0f;
  vec<double> next{};
  for (std::size_t i = 0; i < Features; ++i) next[i] = b.carry[(filled + i) % Features];
  const float* grad_s = tail;
  for (std::size_t k = filled; k > 0;) {
    k -= lanes;
    const vec<double> w = load_weight<Guarded>(at.weight + k), given = load_wide(grad_s);
    grad_s = b.grad_s + k - lanes;
    vec<double> factor = w, sum = joined<Guarded>(w, given, vec<double>{});
    join_neighbours<Features, Guarded>(factor, sum);
    const vec<double> before = first_of_feature<Features>(next, std::make_index_sequence<lanes>{});
    const vec<double> z = joined<Guarded>(factor, before, sum);
    store_narrow(at.carried + k, z);
    store_narrow(at.lambda + k, given + shifted<Features>(z, next));
    next = z;
  }
  for (std::size_t i = 0; i < Features; ++i) b.carry[i] = next[i];
}

// A register of features or more: rows in `Pieces` registers, of which the last overlaps the one before where that is
// needed to fill it.
template <int Pieces, bool Guarded>
inline void go_back_in_rows(const narrow_block& b) {
  constexpr std::size_t lanes = lane_count<double>;
  const narrow_scratch at(b);
  const auto offset = [&](int piece) {
    return piece == Pieces - 1 ? b.features - lanes : static_cast<std::size_t>(piece) * lanes;
  };
  pack<double, Pieces> next;
  repeat<Pieces>([&](int p) { __builtin_memcpy(&next.part[p], b.carry + offset(p), sizeof next.part[p]); });
  for (std::size_t i = b.tokens; i-- > 0;)
    repeat<Pieces>([&](int p) {
      const std::size_t k = i * b.features + offset(p);
      const vec<double> w = load_weight<Guarded>(at.weight + k), given = load_wide(b.grad_s + k);
      store_narrow(at.lambda + k, given + next.part[p]);
      next.part[p] = joined<Guarded>(w, next.part[p], joined<Guarded>(w, given, vec<double>{}));
      store_narrow(at.carried + k, next.part[p]);
    });
  repeat<Pieces>([&](int p) { __builtin_memcpy(b.carry + offset(p), &next.part[p], sizeof next.part[p]); });
}

template <bool Guarded, int... K>
inline void go_back_by_features(const narrow_block& b, std::integer_sequence<int, K...>) {
  constexpr int lanes = lane_count<double>;
  const int features = static_cast<int>(b.features), pieces = (features + lanes - 1) / lanes;
  const auto go = [&]<int Features>(std::integral_constant<int, Features>) {
    if constexpr (Features < lanes) {
      if (features == Features) go_back_in_registers<Features, Guarded>(b);
    } else if constexpr (Features % lanes == 0) {
      if (features >= lanes && pieces == Features / lanes) go_back_in_rows<Features / lanes, Guarded>(b);
    }
  };
  (go(std::integral_constant<int, K + 1>{}), ...);
}

[[gnu::flatten]] inline void go_back_tokens(const narrow_block& b) noexcept {
  constexpr int lanes = lane_count<double>;
  constexpr std::make_integer_sequence<int, (narrow_block::most_features + lanes - 1) / lanes * lanes> each_number{};
  const narrow_scratch at(b);
  bool finite = true;
  for (int l = 0; l < lane_count<float>; ++l) finite = finite && at.not_finite[l] == 0;
  for (std::size_t f = 0; f < b.features; ++f) finite = finite && b.carry[f] - b.carry[f] == 0;
  finite ? go_back_by_features<false>(b, each_number) : go_back_by_features<true>(b, each_number);
}

// Precondition: where b.past_caches, both gradients begin at multiples of vector_bytes.
template <class Slope>
[[gnu::flatten]] void finish_tokens(const narrow_block& b) noexcept {
  constexpr std::size_t lanes = lane_count<float>;
  const narrow_scratch from(b);
  for_each_pack_backwards<float, registers_of_row>(b.tokens * b.features, [&](auto at) {
    constexpr int n = width<decltype(at)>;
    const pack<float, n> v = load(from.input_weight, at), lambda = load(from.lambda, at), h = load(b.h, at);
    const pack<float, n> to_decay = Slope::template times_slope<float>(load(b.decay, at), load(from.carried, at));
    pack<float, n> to_h;
    repeat<n>([&](int k) {
      const mask<float> has_input = differ<float>(h.part[k], broadcast(-infinity<float>));
      to_h.part[k] = where<float>(has_input, v.part[k] * lambda.part[k], vec<float>{});
    });
    if constexpr (!requires { at.count; })
      if (b.past_caches) {
        repeat<n>([&](int k) { store_past_caches(b.grad_decay + at.offset + k * lanes, to_decay.part[k]); });
        repeat<n>([&](int k) { store_past_caches(b.grad_h + at.offset + k * lanes, to_h.part[k]); });
        return;
      }
    store(b.grad_decay, at, to_decay);
    store(b.grad_h, at, to_h);
  });
  if (b.past_caches) end_stores_past_caches();
}
