// Tests embed_position on views: blocks of tokens, threads, strides, workspaces and special values.
#include <algorithm>

#include "optimized/tests/support.hpp"

namespace assay::optimized::tests {
namespace {

struct embed_sizes {
  std::size_t B, n, e, d;
};

template <class Real>
struct embed_problem {
  embed_sizes size;
  std::vector<Real> x, W_H, b_H, W_R, b_R, s0, s0_low, grad_y, grad_s_n;
  std::vector<Real> y, s_n, s_n_low, grad_x, grad_W_H, grad_b_H, grad_W_R, grad_b_R, grad_s0;

  explicit embed_problem(embed_sizes sizes) : size(sizes) {
    generator random(sizes.B + 3 * sizes.n + 7 * sizes.e + 11 * sizes.d);
    const auto [B, n, e, d] = sizes;
    const auto draw = [&](std::size_t count, double width) { return uniform<Real>(random, count, -width, width); };
    // These ranges give logits of a few units for every size.
    const double scale_of_x = 2 / std::sqrt(1.0 + static_cast<double>(e)),
                 scale_of_s = 1 / (1.0 + static_cast<double>(d));
    x = draw(B * n * e, 1), W_H = draw(2 * d * e, scale_of_x), b_H = draw(2 * d, 1), W_R = draw(e * d, scale_of_s);
    b_R = draw(e, 1), s0 = draw(B * d, 1), s0_low = draw(B * d, 1e-9), grad_y = draw(B * n * e, scale_of_x);
    grad_s_n = draw(B * d, 1);
    y = grad_x = std::vector<Real>(x.size(), Real(-5));
    s_n = s_n_low = grad_s0 = std::vector<Real>(s0.size(), Real(-5));
    grad_W_H = std::vector<Real>(W_H.size(), Real(-5)), grad_b_H = std::vector<Real>(b_H.size(), Real(-5));
    grad_W_R = std::vector<Real>(W_R.size(), Real(-5)), grad_b_R = std::vector<Real>(b_R.size(), Real(-5));
  }
  auto tokens(auto& a) const {
    return dense<std::remove_reference_t<decltype(a[0])>, 3>(a.data(), {size.B, size.n, size.e});
  }
  auto state(auto& a) const {
    return dense<std::remove_reference_t<decltype(a[0])>, 2>(a.empty() ? nullptr : a.data(), {size.B, size.d});
  }
  auto matrix_H(auto& a) const {
    return dense<std::remove_reference_t<decltype(a[0])>, 2>(a.data(), {2 * size.d, size.e});
  }
  auto matrix_R(auto& a) const { return dense<std::remove_reference_t<decltype(a[0])>, 2>(a.data(), {size.e, size.d}); }
  static auto row(auto& a) { return dense<std::remove_reference_t<decltype(a[0])>, 1>(a.data(), {a.size()}); }

  [[nodiscard]] heinsen::embed_inputs<Real> inputs() const {
    return {tokens(x), matrix_H(W_H), row(b_H), matrix_R(W_R), row(b_R), state(s0), state(s0_low)};
  }
  heinsen::embed_outputs<Real> outputs() { return {tokens(y), state(s_n), state(s_n_low)}; }
  [[nodiscard]] heinsen::embed_cotangents<Real> cotangents() const { return {tokens(grad_y), state(grad_s_n)}; }
  heinsen::embed_gradients<Real> gradients() {
    return {tokens(grad_x), matrix_H(grad_W_H), row(grad_b_H), matrix_R(grad_W_R), row(grad_b_R), state(grad_s0)};
  }
  void run(const execution& on) {
    heinsen::embed_position<Real>(on, inputs(), outputs());
    heinsen::embed_position_vjp<Real>(on, inputs(), cotangents(), gradients());
  }
  [[nodiscard]] auto results() const {
    return std::array<const std::vector<Real>*, 9>{&y,        &s_n,      &s_n_low,  &grad_x, &grad_W_H,
                                                   &grad_b_H, &grad_W_R, &grad_b_R, &grad_s0};
  }
};

template <class Real>
bool same_results(const embed_problem<Real>& a, const embed_problem<Real>& b) {
  bool equal = true;
  for (std::size_t i = 0; i < a.results().size(); ++i) equal = equal && same_bits(*a.results()[i], *b.results()[i]);
  return equal;
}

// Computes the operation with plain loops around the scans of whole sequences.
template <class Real>
struct plain_loops {
  embed_problem<Real> p;
  /// For each result: over its elements, the largest sum of the magnitudes of the element's terms.
  std::array<long double, 9> sizes{};
  scan_problem<Real> scan;

  explicit plain_loops(const embed_problem<Real>& problem)
      : p(problem), scan({problem.size.B, problem.size.n, problem.size.d}, true) {
    const std::size_t B = p.size.B, n = p.size.n, e = p.size.e, d = p.size.d;
    scan.s0 = p.s0, scan.s0_low = p.s0_low, scan.grad_s_n = p.grad_s_n;
    for (std::size_t row = 0; row < B * n; ++row)
      for (std::size_t j = 0; j < d; ++j) {
        scan.decay[row * d + j] =
            sum(1, e, p.b_H[j], 0, [&](auto k) { return times(p.W_H[j * e + k], p.x[row * e + k]); });
        scan.h[row * d + j] =
            sum(1, e, p.b_H[d + j], 0, [&](auto k) { return times(p.W_H[(d + j) * e + k], p.x[row * e + k]); });
        scan.grad_s[row * d + j] =
            sum(8, e, 0, 0, [&](auto k) { return times(p.W_R[k * d + j], p.grad_y[row * e + k]); });
      }
    scan.run();
    p.s_n = scan.s_n, p.s_n_low = scan.s_n_low, p.grad_s0 = scan.grad_s0;
    for (std::size_t row = 0; row < B * n; ++row)
      for (std::size_t k = 0; k < e; ++k) {
        p.y[row * e + k] =
            sum(0, d, p.x[row * e + k], p.b_R[k], [&](auto j) { return times(p.W_R[k * d + j], scan.s[row * d + j]); });
        p.grad_x[row * e + k] = sum(3, 2 * d, p.grad_y[row * e + k], 0,
                                    [&](auto j) { return times(p.W_H[j * e + k], grad_logit(row, j)); });
      }
    for (std::size_t k = 0; k < e; ++k) {
      p.grad_b_R[k] = sum(7, B * n, 0, 0, [&](auto row) { return times(p.grad_y[row * e + k], 1); });
      for (std::size_t j = 0; j < d; ++j)
        p.grad_W_R[k * d + j] =
            sum(6, B * n, 0, 0, [&](auto row) { return times(p.grad_y[row * e + k], scan.s[row * d + j]); });
      for (std::size_t j = 0; j < 2 * d; ++j)
        p.grad_W_H[j * e + k] =
            sum(4, B * n, 0, 0, [&](auto row) { return times(p.x[row * e + k], grad_logit(row, j)); });
    }
    for (std::size_t j = 0; j < 2 * d; ++j)
      p.grad_b_H[j] = sum(5, B * n, 0, 0, [&](auto row) { return times(grad_logit(row, j), 1); });
  }

 private:
  static long double times(Real a, Real b) { return static_cast<long double>(a) * static_cast<long double>(b); }
  template <class Term>
  Real sum(std::size_t result, std::size_t count, Real first, Real second, Term term) {
    long double total = static_cast<long double>(first) + static_cast<long double>(second);
    long double magnitudes = std::fabs(total);
    for (std::size_t i = 0; i < count; ++i) total += term(i), magnitudes += std::fabs(term(i));
    sizes[result] = std::max(sizes[result], magnitudes);
    return static_cast<Real>(total);
  }
  [[nodiscard]] Real grad_logit(std::size_t row, std::size_t j) const {
    const std::size_t d = p.size.d;
    return j < d ? scan.grad_decay[row * d + j] : scan.grad_h[row * d + j - d];
  }
};

// Blocks have 512 tokens for the widest of these and 8192 for the narrowest.
constexpr embed_sizes wide_features[] = {{1, 511, 3, 420},  {1, 512, 3, 420}, {1, 513, 3, 420}, {2, 1025, 3, 420},
                                         {3, 200, 3, 420},  {5, 1, 3, 420},   {1, 1, 3, 420},   {520, 1, 1300, 1},
                                         {1, 513, 1300, 1}, {2, 600, 1300, 2}};
constexpr embed_sizes few_features[] = {
    {1, 1, 1, 1}, {3, 70, 1, 1}, {1, 8193, 1, 1}, {2, 8200, 3, 2}, {1, 33000, 2, 1}};

template <class Visit>
void for_each_size(Visit visit) {
  for (const embed_sizes& size : wide_features) visit(size);
  for (const embed_sizes& size : few_features) visit(size);
}

}  // namespace

TEMPLATE_TEST_CASE("heinsen/embed_position/optimized_blocks", "[optimized][heinsen]", float, double) {
  for_each_size([](const embed_sizes& size) {
    embed_problem<TestType> p(size);
    p.run(process_execution());
    const plain_loops<TestType> expected(p);
    // The bound counts the error of the longest sum, proportional to its magnitudes [Higham 2002, section 3.1], and the
    // same error for the sums that are its terms.
    const double terms =
        std::numeric_limits<TestType>::epsilon() * static_cast<double>(size.B * size.n + size.e + 2 * size.d + 2);
    for (std::size_t i = 0; i < p.results().size(); ++i) {
      if (p.results()[i] == &p.s_n_low) continue;
      const double bound = terms * std::max(1.0, static_cast<double>(expected.sizes[i]));
      double worst = 0;
      for (std::size_t k = 0; k < p.results()[i]->size(); ++k)
        worst = std::max<double>(worst, std::fabs((*p.results()[i])[k] - (*expected.p.results()[i])[k]));
      CAPTURE(size.B, size.n, size.e, size.d, i, worst, bound);
      CHECK(worst <= bound);
    }
  });
}

TEMPLATE_TEST_CASE("heinsen/embed_position/optimized_blocks_and_threads", "[optimized][heinsen]", float, double) {
  for_each_size([](const embed_sizes& size) {
    embed_problem<TestType> expected(size);
    expected.run({&active_kernels(), 1});
    for (const int count : {2, 3, 7}) {
      embed_problem<TestType> p(size);
      p.run({&active_kernels(), count});
      CAPTURE(size.B, size.n, size.e, size.d, count);
      CHECK(same_results(p, expected));
    }
  });
}

// The caller may give all, a part or none of the memory of a call, also at an odd address.
TEST_CASE("heinsen/embed_position/optimized_workspaces", "[optimized][heinsen]") {
  embed_problem<float> expected({2, 600, 1300, 3});
  expected.run({&active_kernels(), 1});
  for (const std::size_t bytes : {1u, 1000u, 100'000u, 2'000'000u, 50'000'000u}) {
    std::vector<std::byte> room(bytes + 1);
    for (const int threads : {1, 2}) {
      embed_problem<float> p(expected.size);
      p.run({&active_kernels(), threads, std::span(room).subspan(1)});
      CAPTURE(bytes, threads);
      CHECK(same_results(p, expected));
    }
  }
}

namespace {

// The layout of an array: its axes in their order in memory, the closest one last, with gaps between elements and
// between rows.
template <std::size_t Rank>
struct layout {
  std::array<std::size_t, Rank> order;
  std::size_t between_elements, between_rows;
  bool backwards;
};

// An array in such a layout. Marks stand around and between its elements.
template <class Real, std::size_t Rank>
class spread {
 public:
  spread(const std::vector<Real>& values, const std::array<std::size_t, Rank>& shape, const layout<Rank>& arrangement) {
    std::size_t step = 1 + arrangement.between_elements, first = guard;
    view_.shape = shape;
    for (std::size_t i = Rank; i-- > 0;) {
      const std::size_t axis = arrangement.order[i];
      view_.stride[axis] = static_cast<std::ptrdiff_t>(step) * (arrangement.backwards ? -1 : 1);
      if (arrangement.backwards) first += step * (shape[axis] - 1);
      step = step * shape[axis] + arrangement.between_rows;
    }
    memory_.assign(step + 2 * guard, mark);
    first_ = first;
    for (std::size_t i = 0; i < values.size(); ++i) memory_[place(i)] = values[i];
  }
  view<Real, Rank> strided() {
    view_.data = memory_.data() + first_;
    return view_;
  }
  // Whether the view holds these values and all other memory holds marks.
  [[nodiscard]] bool holds(const std::vector<Real>& values) const {
    std::vector<Real> expected(memory_.size(), mark);
    for (std::size_t i = 0; i < values.size(); ++i) expected[place(i)] = values[i];
    return same_bits(memory_, expected);
  }

 private:
  static constexpr std::size_t guard = 32;
  static constexpr Real mark = Real(-12345);
  [[nodiscard]] std::size_t place(std::size_t i) const {
    auto offset = static_cast<std::ptrdiff_t>(first_);
    for (std::size_t axis = Rank; axis-- > 0; i /= view_.shape[axis])
      offset += static_cast<std::ptrdiff_t>(i % view_.shape[axis]) * view_.stride[axis];
    return static_cast<std::size_t>(offset);
  }
  std::vector<Real> memory_;
  view<Real, Rank> view_;
  std::size_t first_;
};

}  // namespace

// Strides change no bit, and no call writes between elements.
TEMPLATE_TEST_CASE("heinsen/embed_position/optimized_strides_and_guard_bands", "[optimized][heinsen]", float, double) {
  struct layouts {
    layout<3> tokens;
    layout<2> matrix;
  };
  const layouts all[] = {
      {{{0, 1, 2}, 0, 0, false}, {{0, 1}, 0, 0, false}}, {{{0, 1, 2}, 0, 3, false}, {{0, 1}, 0, 3, false}},
      {{{1, 0, 2}, 0, 0, false}, {{1, 0}, 0, 0, false}}, {{{2, 1, 0}, 0, 2, false}, {{1, 0}, 1, 1, false}},
      {{{0, 2, 1}, 2, 0, true}, {{0, 1}, 0, 0, true}},   {{{0, 1, 2}, 0, 1, true}, {{1, 0}, 2, 3, true}}};
  for (const embed_sizes& size :
       {embed_sizes{2, 5, 7, 3}, {1, 600, 1300, 2}, {3, 1, 4, 5}, {1, 4, 1, 1}, {2, 3, 9, 20}}) {
    const std::size_t B = size.B, n = size.n, e = size.e, d = size.d;
    embed_problem<TestType> p(size);
    p.run(process_execution());
    for (const layouts& l : all) {
      const auto tokens = [&](const std::vector<TestType>& a) { return spread<TestType, 3>(a, {B, n, e}, l.tokens); };
      const auto plane = [&](const std::vector<TestType>& a, std::size_t rows, std::size_t columns) {
        return spread<TestType, 2>(a, {rows, columns}, l.matrix);
      };
      const auto line = [&](const std::vector<TestType>& a) {
        return spread<TestType, 1>(a, {a.size()}, {{0}, l.matrix.between_rows, 0, l.matrix.backwards});
      };
      auto x = tokens(p.x), grad_y = tokens(p.grad_y), y = tokens(p.grad_y), grad_x = y;
      auto W_H = plane(p.W_H, 2 * d, e), W_R = plane(p.W_R, e, d), grad_W_H = W_H, grad_W_R = W_R;
      auto b_H = line(p.b_H), b_R = line(p.b_R), grad_b_H = b_H, grad_b_R = b_R;
      auto s0 = plane(p.s0, B, d), s0_low = plane(p.s0_low, B, d), grad_s_n = plane(p.grad_s_n, B, d);
      auto s_n = s0, s_n_low = s0, grad_s0 = s0;
      const heinsen::embed_inputs<TestType> in{x.strided(),   W_H.strided(), b_H.strided(),   W_R.strided(),
                                               b_R.strided(), s0.strided(),  s0_low.strided()};
      heinsen::embed_position<TestType>(process_execution(), in, {y.strided(), s_n.strided(), s_n_low.strided()});
      heinsen::embed_position_vjp<TestType>(process_execution(), in, {grad_y.strided(), grad_s_n.strided()},
                                            {grad_x.strided(), grad_W_H.strided(), grad_b_H.strided(),
                                             grad_W_R.strided(), grad_b_R.strided(), grad_s0.strided()});
      CAPTURE(B, n, e, d, &l - all);
      CHECK((y.holds(p.y) && s_n.holds(p.s_n) && s_n_low.holds(p.s_n_low)));
      CHECK((grad_x.holds(p.grad_x) && grad_s0.holds(p.grad_s0)));
      CHECK((grad_W_H.holds(p.grad_W_H) && grad_b_H.holds(p.grad_b_H)));
      CHECK((grad_W_R.holds(p.grad_W_R) && grad_b_R.holds(p.grad_b_R)));
    }
  }
}

// NaN and infinities in an input of one token have the same effects as in plain loops, and they reach no other
// sequence.
TEMPLATE_TEST_CASE("heinsen/embed_position/optimized_special_values", "[optimized][heinsen][on_every_processor]", float,
                   double) {
  using T = TestType;
  const auto kind_of = [](T x) { return std::isfinite(x) ? 0 : std::isnan(x) ? 1 : x > 0 ? 2 : 3; };
  for (const embed_sizes& size : {embed_sizes{3, 6, 5, 4}, {2, 40, 19, 17}, {2, 1, 3, 20}, {1, 1, 4, 2}})
    for (const T special : {nan<T>, inf<T>, -inf<T>})
      for (const bool zero_weights : {false, true})
        for (const int where : {0, 1, 2, 3, 4}) {
          embed_problem<T> p(size);
          if (zero_weights) std::fill(p.W_H.begin(), p.W_H.end(), T(0)), std::fill(p.W_R.begin(), p.W_R.end(), T(0));
          std::vector<T>* const in[] = {&p.x, &p.b_H, &p.W_R, &p.s0, &p.grad_y};
          (*in[where])[in[where]->size() / 2] = special;
          p.s0_low.clear();
          p.run(process_execution());
          const plain_loops<T> expected(p);
          bool as_loops = true;
          for (std::size_t i = 0; i < p.results().size(); ++i)
            for (std::size_t k = 0; k < p.results()[i]->size(); ++k)
              as_loops = as_loops && kind_of((*p.results()[i])[k]) == kind_of((*expected.p.results()[i])[k]);
          CAPTURE(size.B, size.n, size.e, size.d, special, zero_weights, where);
          CHECK(as_loops);
        }
}

TEST_CASE("heinsen/embed_position/optimized_wrong_shapes", "[optimized][heinsen]") {
  embed_problem<float> p({2, 3, 4, 5});
  const execution on = process_execution();
  CHECK_NOTHROW(p.run(on));
  const auto refuses = [&](auto change) {
    auto in = p.inputs();
    auto out = p.outputs();
    change(in, out);
    CHECK_THROWS_AS(heinsen::embed_position<float>(on, in, out), core::contract_violation);
  };
  refuses([](auto& in, auto&) { in.W_H.shape[0] = 9; });
  refuses([](auto& in, auto&) { in.b_R.shape[0] = 3; });
  refuses([](auto& in, auto&) { in.s0.shape[0] = 1; });
  refuses([](auto& in, auto&) { in.x.data = nullptr; });
  refuses([](auto&, auto& out) { out.y.shape[1] = 2; });
  refuses([](auto&, auto& out) { out.s_n_low.shape[1] = 4; });
  auto out = p.gradients();
  out.grad_b_H.shape[0] = 5;
  CHECK_THROWS_AS(heinsen::embed_position_vjp<float>(on, p.inputs(), p.cotangents(), out), core::contract_violation);
}

}  // namespace assay::optimized::tests
