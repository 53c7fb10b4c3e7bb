// As many numbers of 16 bits as become vectors together. An instruction set may have its own way (isa/half.ipp).
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
