// Conversions between floats and 16-bit numbers. Widening is exact; the other direction rounds to nearest.

template <class Storage>
[[gnu::flatten]] void widen_array(const Storage* x, float* y, std::size_t count) noexcept {
  using group = conversion<Storage>;
  std::size_t i = 0;
  for (; i + group::together <= count; i += group::together) group::widen(x + i, y + i);
  for (; i < count; ++i) y[i] = Storage::widened(x[i].bits);
}

template <class Storage>
[[gnu::flatten]] void round_array(const float* x, Storage* y, std::size_t count) noexcept {
  using group = conversion<Storage>;
  std::size_t i = 0;
  for (; i + group::together <= count; i += group::together) group::round(x + i, y + i);
  for (; i < count; ++i) y[i].bits = Storage::rounded(x[i]);
}

template <class Storage>
constexpr storage_kernels<Storage> make_storage_kernels() {
  return {widen_array<Storage>, round_array<Storage>, scan_rows<float, decay_as_log_p, Storage>,
          scan_rows<float, decay_as_logit, Storage>};
}
