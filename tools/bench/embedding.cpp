#include "tools/bench/embedding.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "optimized/benchmarks/scan_arrays.hpp"
#include "optimized/encodings/heinsen.hpp"
#include "optimized/matrix_product.hpp"
#include "tools/bench/side_by_side.hpp"

namespace assay::bench {
namespace {

using optimized::dense;
using optimized::matrix;
using optimized::transpose_of;
using optimized::benchmarks::array;
namespace heinsen = optimized::heinsen;

// Uniform in [-width, width].
void fill(array& x, std::size_t count, double width, std::uint64_t state) {
  for (std::size_t i = 0; i < count; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    x.data[i] = static_cast<float>(width * (static_cast<double>(state >> 11) * 0x1p-52 - 1));
  }
}

class embedding_problem {
  template <class Floor, class Ours>
  measurement beside(const char* operation, Floor products, Ours ours) {
    const auto elements = static_cast<double>(shape_.states.size());
    std::vector<member> members{{"products", elements, timed(settings_.threads, products)},
                                {"ours", elements, timed(settings_.threads, ours)}};
    run_side_by_side(settings_.rounds, members);
    return {operation,
            {batch_, tokens_, d_},
            e_,
            false,
            spread_of(members[1].ns).median,
            spread_of(members[0].ns).median,
            spread_of(ratios(members[0].ns, members[1].ns)),
            {}};
  }

  template <class T>
  auto tokens(T* data) const {
    return dense<T, 3>(data, {batch_, tokens_, e_});
  }
  auto state(std::size_t which) const { return dense<float, 2>(states_.data + which * batch_ * d_, {batch_, d_}); }
  heinsen::embed_inputs<float> inputs() const {
    return {tokens<const float>(x_.data), dense<const float, 2>(W_H_.data, {2 * d_, e_}),
            dense<const float, 1>(biases_.data, {2 * d_}), dense<const float, 2>(W_R_.data, {e_, d_}),
            dense<const float, 1>(biases_.data + 2 * d_, {e_})};
  }

 public:
  embedding_problem(const options& settings, const embedding_shape& shape)
      : settings_(settings),
        shape_(shape),
        batch_(shape.states.batch),
        tokens_(shape.states.tokens),
        d_(shape.states.features),
        e_(shape.embedding),
        rows_(batch_ * tokens_),
        x_(rows_ * e_),
        grad_y_(rows_ * e_),
        W_H_(2 * d_ * e_),
        W_R_(e_ * d_),
        biases_(2 * d_ + e_),
        to_tokens_(rows_ * e_),
        states_(3 * batch_ * d_),
        grad_W_H_(2 * d_ * e_),
        grad_W_R_(e_ * d_),
        logit_rows_(rows_ * 2 * d_),
        state_rows_(rows_ * d_),
        on_(optimized::process_execution()) {
    on_.threads = settings.threads;
    fill(x_, rows_ * e_, 1, 1), fill(grad_y_, rows_ * e_, 1, 2);
    fill(W_H_, 2 * d_ * e_, 2 / std::sqrt(static_cast<double>(e_)), 3);
    fill(W_R_, e_ * d_, 1 / std::sqrt(static_cast<double>(d_)), 4);
  }

  measurement value() {
    return beside(
        "heinsen/embed_position", [this] { value_products(); },
        [this] {
          heinsen::embed_position<float>(on_, inputs(), {tokens(to_tokens_.data), state(0)});
        });
  }
  measurement adjoint() {
    return beside(
        "heinsen/embed_position:vjp", [this] { adjoint_products(); },
        [this] {
          heinsen::embed_position_vjp<float>(
              on_, inputs(), {tokens<const float>(grad_y_.data)},
              {tokens(to_tokens_.data), dense<float, 2>(grad_W_H_.data, {2 * d_, e_}),
               dense<float, 1>(grad_biases_.data(), {2 * d_}), dense<float, 2>(grad_W_R_.data, {e_, d_}),
               dense<float, 1>(grad_biases_.data() + 2 * d_, {e_}), state(1)});
        });
  }

 private:
  static matrix<const float> plain(const array& a, std::size_t rows, std::size_t columns) {
    return {a.data, rows, columns, columns};
  }
  // c = a b for each of these products; c has no gaps.
  struct product {
    matrix<const float> a, b;
    float* c;
  };
  void multiply(const std::vector<product>& all) const {
    const auto parts = static_cast<std::size_t>(settings_.threads);
    for (const product& p : all)
      optimized::for_each_task(settings_.threads, parts, [&](std::size_t i) {
        const std::size_t first = p.a.rows * i / parts, count = p.a.rows * (i + 1) / parts - first;
        const matrix<float> c{p.c + first * p.b.columns, count, p.b.columns, p.b.columns};
        std::fill_n(c.data, count * c.columns, 0.0f);
        add_product(p.a.rows_from(first, count), p.b, c);
      });
  }
  product logits() const { return {plain(x_, rows_, e_), transpose_of(plain(W_H_, 2 * d_, e_)), logit_rows_.data}; }
  void value_products() const {
    multiply({logits(), {plain(state_rows_, rows_, d_), transpose_of(plain(W_R_, e_, d_)), to_tokens_.data}});
  }
  void adjoint_products() const {
    const matrix<const float> grad_y = plain(grad_y_, rows_, e_), logit_rows = plain(logit_rows_, rows_, 2 * d_);
    multiply({logits(),
              {grad_y, plain(W_R_, e_, d_), state_rows_.data},
              {logit_rows, plain(W_H_, 2 * d_, e_), to_tokens_.data},
              {transpose_of(grad_y), plain(state_rows_, rows_, d_), grad_W_R_.data},
              {transpose_of(logit_rows), plain(x_, rows_, e_), grad_W_H_.data}});
  }

  const options& settings_;
  embedding_shape shape_;
  std::size_t batch_, tokens_, d_, e_, rows_;
  array x_, grad_y_, W_H_, W_R_, biases_, to_tokens_, states_, grad_W_H_, grad_W_R_, logit_rows_, state_rows_;
  std::vector<float> grad_biases_ = std::vector<float>(2 * d_ + e_);
  optimized::execution on_;
};

}  // namespace

std::vector<measurement> measure_embedding(const options& settings, const embedding_shape& shape) {
  embedding_problem p(settings, shape);
  return {p.value(), p.adjoint()};
}

}  // namespace assay::bench
