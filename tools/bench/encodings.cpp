#include "tools/bench/encodings.hpp"

#include <cstdint>
#include <functional>

#include "optimized/benchmarks/scan_arrays.hpp"
#include "optimized/encodings/alibi.hpp"
#include "optimized/encodings/attention.hpp"
#include "optimized/encodings/fox.hpp"
#include "optimized/encodings/rope.hpp"
#include "optimized/encodings/sinusoidal.hpp"
#include "optimized/encodings/t5_bias.hpp"
#include "optimized/matrix_product.hpp"
#include "tools/bench/floors.hpp"
#include "tools/bench/side_by_side.hpp"

namespace assay::bench {
namespace {

using optimized::dense;
using optimized::matrix;
using optimized::transpose_of;
using optimized::view;
using optimized::benchmarks::array;
namespace alibi = optimized::alibi;
namespace attention = optimized::attention;
namespace fox = optimized::fox;
namespace rope = optimized::rope;
namespace sinusoidal = optimized::sinusoidal;
namespace t5_bias = optimized::t5_bias;

constexpr std::size_t buckets = 32;

class heads_problem {
 public:
  heads_problem(const options& how, const heads_shape& shape)
      : how_(how),
        B_(shape.batch),
        n_(shape.tokens),
        h_(shape.heads),
        d_(shape.features),
        tokens_(B_ * n_ * h_ * d_),
        pairs_(B_ * h_ * n_ * n_),
        x_(tokens_),
        k_(tokens_),
        v_(tokens_),
        y_(tokens_),
        of_k_(tokens_),
        of_v_(tokens_),
        of_pairs_(pairs_),
        to_pairs_(pairs_),
        gates_(B_ * n_ * h_),
        of_gates_(B_ * n_ * h_),
        biases_(h_ * buckets),
        of_angles_(d_ / 2 + B_ * n_),
        on_(optimized::process_execution()) {
    on_.threads = how.threads;
    std::uint64_t state = 5;
    const auto fill = [&](array& a, std::size_t count, double low, double high) {
      for (std::size_t i = 0; i < count; ++i) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        a.data[i] = static_cast<float>(low + (high - low) * (static_cast<double>(state >> 11) * 0x1p-53));
      }
    };
    fill(x_, tokens_, -1, 1), fill(k_, tokens_, -1, 1), fill(v_, tokens_, -1, 1), fill(of_pairs_, pairs_, -1, 1);
    fill(gates_, B_ * n_ * h_, -0.1, 0), fill(biases_, h_ * buckets, 0.01, 1);
    for (std::size_t i = 0; i < B_ * n_; ++i) positions_.push_back(static_cast<double>(i % n_));
  }

  std::vector<measurement> all() {
    rotations();
    biases();
    decays();
    attentions();
    return std::move(found_);
  }

 private:
  using sizes = std::vector<std::size_t>;

  void add(const char* operation, sizes shape, std::size_t elements, std::function<void()> floor,
           std::function<void()> ours) {
    std::vector<member> members{{"floor", static_cast<double>(elements), timed(how_.threads, std::move(floor))},
                                {"ours", static_cast<double>(elements), timed(how_.threads, std::move(ours))}};
    run_side_by_side(how_.rounds, members);
    found_.push_back({operation,
                      std::move(shape),
                      0,
                      false,
                      spread_of(members[1].ns).median,
                      spread_of(members[0].ns).median,
                      spread_of(ratios(members[0].ns, members[1].ns)),
                      {}});
  }

  // c = a b for each head, both [n, .] but for transposed factors.
  struct product {
    matrix<const float> a, b;
    float* c;
  };
  std::function<void()> products(std::function<std::vector<product>(std::size_t)> of_head) const {
    return [=, this] {
      optimized::for_each_task(how_.threads, B_ * h_, [&](std::size_t head) {
        for (const product& p : of_head(head)) {
          const matrix<float> c{p.c, p.a.rows, p.b.columns, p.b.columns};
          std::fill_n(c.data, c.rows * c.columns, 0.0f);
          add_product(p.a, p.b, c);
        }
      });
    };
  }

  template <class T>
  view<T, 4> heads(T* data) const {
    return dense<T, 4>(data, {B_, n_, h_, d_});
  }
  template <class T>
  view<T, 4> by_head(T* data) const {
    return dense<T, 4>(data, {B_, h_, n_, d_});
  }
  template <class T>
  view<T, 3> pairs(T* data) const {
    return dense<T, 3>(data, {h_, n_, n_});
  }
  template <class T>
  view<T, 4> pairs_of_rows(T* data) const {
    return dense<T, 4>(data, {B_, h_, n_, n_});
  }
  template <class T>
  view<T, 3> gates(T* data) const {
    return dense<T, 3>(data, {B_, n_, h_});
  }
  view<const double, 1> positions() const { return dense<const double, 1>(positions_.data(), {n_}); }

  void rotations() {
    const optimized::rotary_pairs halves{d_ / 2, true};
    const auto position = dense<const double, 2>(positions_.data(), {B_, n_});
    add("rope/rotate", {B_, n_, h_, d_}, tokens_, time_to_copy(how_.threads, {x_.data, x_.data}, y_.data, tokens_),
        [&] {
          rope::rotate<float>(on_, halves, rope::geometric_frequencies(10000, d_ / 2, 1), position, false,
                              heads<const float>(x_.data), heads(y_.data));
        });
    add("rope/rotate_by:vjp", {B_, n_, h_, d_}, tokens_,
        time_to_copy(how_.threads, {x_.data, k_.data}, y_.data, tokens_), [&] {
          const auto theta = rope::geometric_frequencies(10000, d_ / 2, 1);
          rope::rotate<float>(on_, halves, theta, position, true, heads<const float>(k_.data), heads(y_.data));
          rope::rotate_angles_vjp<float>(on_, halves, theta, position, heads<const float>(x_.data),
                                         heads<const float>(k_.data), dense<float, 1>(of_angles_.data, {d_ / 2}),
                                         dense<float, 2>(of_angles_.data + d_ / 2, {B_, n_}));
        });
    const std::size_t width = h_ * d_ / 2 * 2, pairs = width / 2;
    const optimized::column_places places{true, true, pairs, pairs, width};
    const auto table_theta = [pairs, width] {
      return sinusoidal::geometric_frequencies({2, static_cast<long>(width)}, 10000, pairs);
    };
    add("sinusoidal/table", {n_, width}, n_ * width, time_to_write(how_.threads, y_.data, n_ * width),
        [&, table_theta] {
          sinusoidal::table<float>(on_, places, table_theta(), positions(), 0, dense<float, 2>(y_.data, {n_, width}));
        });
  }

  void biases() {
    const std::size_t count = h_ * n_ * n_;
    const alibi::bias_rule alibi_rule;
    const auto slopes = dense<const float, 1>(biases_.data, {h_});
    add("alibi/bias", {h_, n_, n_}, count, time_to_write(how_.threads, to_pairs_.data, count),
        [&] { alibi::bias<float>(on_, alibi_rule, slopes, positions(), positions(), pairs(to_pairs_.data)); });
    add("alibi/bias:vjp", {h_, n_, n_}, count, time_to_read(how_.threads, of_pairs_.data, count), [&] {
      alibi::bias_vjp<float>(on_, alibi_rule, positions(), positions(), pairs<const float>(of_pairs_.data),
                             dense<float, 1>(y_.data, {h_}));
    });
    const t5_bias::bucket_rule t5_rule;
    add("t5_bias/bias", {h_, n_, n_}, count, time_to_write(how_.threads, to_pairs_.data, count), [&] {
      t5_bias::bias<float>(on_, t5_rule, dense<const float, 2>(biases_.data, {h_, buckets}), positions(), positions(),
                           pairs(to_pairs_.data));
    });
    add("t5_bias/bias:vjp", {h_, n_, n_}, count, time_to_read(how_.threads, of_pairs_.data, count), [&] {
      t5_bias::bias_vjp<float>(on_, t5_rule, positions(), positions(), pairs<const float>(of_pairs_.data),
                               dense<float, 2>(y_.data, {h_, buckets}));
    });
  }

  void decays() {
    add("fox/decay", {B_, h_, n_, n_}, pairs_, time_to_write(how_.threads, to_pairs_.data, pairs_),
        [&] { fox::decay<float>(on_, gates<const float>(gates_.data), pairs_of_rows(to_pairs_.data)); });
    add("fox/decay:vjp", {B_, h_, n_, n_}, pairs_, time_to_read(how_.threads, of_pairs_.data, pairs_),
        [&] { fox::decay_vjp<float>(on_, pairs_of_rows<const float>(of_pairs_.data), gates(of_gates_.data)); });
  }

  void attentions() {
    const auto plain = [this](const float* data, std::size_t head) {
      return matrix<const float>{data + head * n_ * d_, n_, d_, d_};
    };
    const auto weights = [this](std::size_t head) {
      return matrix<const float>{to_pairs_.data + head * n_ * n_, n_, n_, n_};
    };
    const auto forward = products([=, this](std::size_t head) {
      return std::vector<product>{
          {plain(x_.data, head), transpose_of(plain(k_.data, head)), to_pairs_.data + head * n_ * n_},
          {weights(head), plain(v_.data, head), y_.data + head * n_ * d_}};
    });
    const auto adjoint = products([=, this](std::size_t head) {
      float *const logits = to_pairs_.data + head * n_ * n_, *const at_x = y_.data + head * n_ * d_;
      float *const at_k = of_k_.data + head * n_ * d_, *const at_v = of_v_.data + head * n_ * d_;
      return std::vector<product>{{plain(x_.data, head), transpose_of(plain(k_.data, head)), logits},
                                  {plain(x_.data, head), transpose_of(plain(v_.data, head)), logits},
                                  {weights(head), plain(k_.data, head), at_x},
                                  {transpose_of(weights(head)), plain(x_.data, head), at_k},
                                  {transpose_of(weights(head)), plain(x_.data, head), at_v}};
    });
    const auto q = by_head<const float>(x_.data), k = by_head<const float>(k_.data), v = by_head<const float>(v_.data);
    const attention::inputs<float> plain_inputs{q, k, v, pairs<const float>(of_pairs_.data)};
    const attention::gradients<float> plain_gradients{by_head(y_.data), by_head(of_k_.data), by_head(of_v_.data),
                                                      pairs(to_pairs_.data)};
    const fox::attention_inputs<float> inputs{q, k, v, gates<const float>(gates_.data)};
    const fox::attention_gradients<float> gradients{by_head(y_.data), by_head(of_k_.data), by_head(of_v_.data),
                                                    gates(of_gates_.data)};
    const sizes shape{B_, h_, n_, d_};
    add("attention/output", shape, tokens_, forward,
        [&] { attention::output<float>(on_, plain_inputs, by_head(y_.data)); });
    add("attention/output:vjp", shape, tokens_, adjoint,
        [&] { attention::output_vjp<float>(on_, plain_inputs, q, plain_gradients); });
    add("fox/attention", shape, tokens_, forward, [&] { fox::attention<float>(on_, inputs, by_head(y_.data)); });
    add("fox/attention:vjp", shape, tokens_, adjoint, [&] { fox::attention_vjp<float>(on_, inputs, q, gradients); });
  }

  const options& how_;
  std::size_t B_, n_, h_, d_, tokens_, pairs_;
  array x_, k_, v_, y_, of_k_, of_v_, of_pairs_, to_pairs_, gates_, of_gates_, biases_, of_angles_;
  std::vector<double> positions_;
  optimized::execution on_;
  std::vector<measurement> found_;
};

}  // namespace

std::vector<measurement> measure_encodings(const options& how, const heads_shape& shape) {
  return heads_problem(how, shape).all();
}

}  // namespace assay::bench
