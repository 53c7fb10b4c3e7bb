// The lanes that a pack holds: where their elements stand in [batch, tokens, features] and in [batch, features].

struct lanes_of_tokens {
  std::size_t first[lanes_of_pack];  // place of the first token
  std::size_t lane;                  // the first of the lanes, which is its place in [batch, features]
  int count;                         // number of lanes; lanes beyond it repeat the last one
  bool together[registers_of_pack];  // whether a whole register holds neighbours
  std::size_t row;                   // distance from one token to the next

  lanes_of_tokens(const lanes_shape& s, std::size_t from) : lane(from), row(s.features) {
    const std::size_t left = s.batch * s.features - from;
    count = left < lanes_of_pack ? static_cast<int>(left) : lanes_of_pack;
    for (int k = 0; k < lanes_of_pack; ++k) {
      const std::size_t place = from + static_cast<std::size_t>(k < count ? k : count - 1);
      first[k] = place / s.features * s.tokens * s.features + place % s.features;
    }
    for (int r = 0; r < registers_of_pack; ++r) {
      const int begin = r * lanes_of_register, end = begin + lanes_of_register;
      together[r] = end <= count && first[end - 1] == first[begin] + lanes_of_register - 1;
    }
  }

  ASSAY_ONCE pack load(const double* x, std::size_t token) const {
    return each<pack>([&](int r) ASSAY_INLINED {
      register_of_doubles y;
      const double* from = x + token * row;
      if (together[r]) {
        __builtin_memcpy(&y, from + first[r * lanes_of_register], sizeof y);
      } else {
        for (int k = 0; k < lanes_of_register; ++k) y[k] = from[first[r * lanes_of_register + k]];
      }
      return y;
    });
  }
  ASSAY_INLINE void store(double* x, std::size_t token, const pack& y) const {
    double* to = x + token * row;
    repeat<registers_of_pack>([&](int r) ASSAY_INLINED {
      if (together[r]) {
        __builtin_memcpy(to + first[r * lanes_of_register], &y.part[r], sizeof y.part[r]);
      } else {
        for (int k = 0; k < lanes_of_register && r * lanes_of_register + k < count; ++k)
          to[first[r * lanes_of_register + k]] = y.part[r][k];
      }
    });
  }
  /// Loads the lanes of arrays [batch, features].
  ASSAY_INLINE pack load_state(const double* x) const {
    pack y;
    for (int k = 0; k < lanes_of_pack; ++k)
      y.part[k / lanes_of_register][k % lanes_of_register] =
          x[lane + static_cast<std::size_t>(k < count ? k : count - 1)];
    return y;
  }
  ASSAY_INLINE void store_state(double* x, const pack& y) const {
    for (int k = 0; k < count; ++k)
      x[lane + static_cast<std::size_t>(k)] = y.part[k / lanes_of_register][k % lanes_of_register];
  }
};
