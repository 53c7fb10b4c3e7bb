// out = a b + bias + addend, the matrix product of the linear maps around the recurrence.
//
// Domain: all values; infinities and NaN as IEEE arithmetic has it. Depth 0 gives bias + addend.
// Order: ((a_0 b_0 + a_1 b_1) + a_2 b_2) + ..., then the bias, then the addend, each a rounded product and a
// rounded sum. It depends on the depth alone: columns lie in lanes, and tiles of rows and columns only decide
// what is computed at the same time.
// Bound: |error| <= gamma_(depth + 2) (sum |a_k b_k| + |bias| + |addend|), gamma_k = k u / (1 - k u)
// [Higham 2002, section 3.1], proved there; products that underflow add half the smallest subnormal each.

// Rows `first_row` + [0, Rows) of the piece `at` of a row.
template <class Real, int Rows, class At>
inline void product_tile(const product_block<Real>& p, std::size_t first_row, At at) {
  using columns = decltype(load(p.b, at));
  columns sum[Rows] = {};
  const Real* a[Rows];
  repeat<Rows>([&](int m) { a[m] = p.a + (first_row + static_cast<std::size_t>(m)) * p.a_row; });
  for (std::size_t k = 0; k < p.depth; ++k) {
    const columns b = load(p.b + k * p.columns, at);
    repeat<Rows>([&](int m) {
      const Real factor = a[m][k * p.a_depth];
      sum[m] = each([factor](vec<Real> x, vec<Real> y) { return x + factor * y; }, sum[m], b);
    });
  }
  repeat<Rows>([&](int m) {
    const std::size_t row = (first_row + static_cast<std::size_t>(m)) * p.columns;
    if (p.bias != nullptr) sum[m] = each(plus<Real>, sum[m], load(p.bias, at));
    if (p.addend != nullptr) sum[m] = each(plus<Real>, sum[m], load(p.addend + row, at));
    store(p.out + row, at, sum[m]);
  });
}

template <class Real>
[[gnu::flatten]] void product(const product_block<Real>& p) noexcept {
  std::size_t row = 0;
  for (; p.rows - row >= 2; row += 2)
    for_each_pack<Real>(p.columns, [&](auto at) { product_tile<Real, 2>(p, row, at); });
  for (; row < p.rows; ++row) for_each_pack<Real>(p.columns, [&](auto at) { product_tile<Real, 1>(p, row, at); });
}
