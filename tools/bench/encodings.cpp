#include "tools/bench/encodings.hpp"

#include <algorithm>
#include <functional>
#include <memory>

#include "optimized/benchmarks/scan_arrays.hpp"
#include "optimized/matrix_product.hpp"
#include "optimized/operations.hpp"
#include "properties/harness/sized_key.hpp"
#include "reference/oracle.hpp"
#include "tools/bench/floors.hpp"
#include "tools/bench/side_by_side.hpp"

namespace assay::bench {
namespace {

using core::axis_role;
using optimized::matrix;
using optimized::transpose_of;
using optimized::benchmarks::array;

// The matrix products of attention over all queries and keys: logits and outputs. The adjoint has the products for
// logits, for gradients of weights, and for gradients of q, k and v.
class products {
 public:
  products(int threads, const heads_shape& s, bool adjoint)
      : threads_(threads),
        heads_(s.batch * s.heads),
        n_(s.tokens),
        d_(s.features),
        adjoint_(adjoint),
        row_data_(4 * heads_ * n_ * d_),
        pair_data_(heads_ * n_ * n_) {
    std::fill_n(row_data_.data, 4 * heads_ * n_ * d_, 0.5f);
  }
  void operator()() {
    optimized::for_each_task(threads_, heads_, [&](std::size_t head) {
      const matrix<const float> q = rows(0, head), k = rows(1, head), v = rows(2, head);
      const matrix<float> pairs{pair_data_.data + head * n_ * n_, n_, n_, n_}, to = rows(3, head);
      const matrix<const float> weights{pairs.data, n_, n_, n_};
      multiply(q, transpose_of(k), pairs);
      if (adjoint_)
        multiply(q, transpose_of(v), pairs), multiply(weights, k, to), multiply(transpose_of(weights), q, to);
      multiply(adjoint_ ? transpose_of(weights) : weights, v, to);
    });
  }

 private:
  matrix<float> rows(std::size_t which, std::size_t head) {
    return {row_data_.data + (which * heads_ + head) * n_ * d_, n_, d_, d_};
  }
  static void multiply(const matrix<const float>& a, const matrix<const float>& b, const matrix<float>& c) {
    std::fill_n(c.data, c.rows * c.columns, 0.0f);
    add_product(a, b, c);
  }

  int threads_;
  std::size_t heads_, n_, d_;
  bool adjoint_;
  array row_data_, pair_data_;
};

core::request call_of(const core::operation& op, const heads_shape& s) {
  const std::size_t width = core::axis_with(op, axis_role::head).empty() ? s.heads * s.features : s.features;
  return properties::make_case(properties::mild_key(op, core::dtype::f32,
                                                    {{axis_role::batch, s.batch},
                                                     {axis_role::head, s.heads},
                                                     {axis_role::token, s.tokens},
                                                     {axis_role::key, s.tokens},
                                                     {axis_role::width, width},
                                                     {axis_role::pairs, std::max<std::size_t>(1, width / 2)}}))
      .call;
}

std::size_t elements_of(const core::tensors& all) {
  std::size_t sum = 0;
  for (const auto& [name, t] : all) sum += t.size();
  return sum;
}

measurement measure_one(const options& settings, const heads_shape& shape, const optimized::routine& r,
                        const core::operation& op) {
  const core::request call = call_of(op, shape);
  const bool attends = op.input("q") != nullptr && op.input("k") != nullptr && op.input("v") != nullptr;
  const core::tensors sizes = r.evaluate({call.type, call.inputs, call.attributes, optimized::process_execution()});
  // The size is that of the largest tensor. The size of attention is that of its queries: its bias does not count.
  const core::tensor* counted = attends ? &call.inputs.at("q") : nullptr;
  if (!attends)
    for (const core::tensors* all : {&call.inputs, &sizes})
      for (const auto& [name, t] : *all)
        if (counted == nullptr || t.size() > counted->size()) counted = &t;
  const auto elements = static_cast<double>(counted->size());
  const std::size_t read = elements_of(call.inputs), written = elements_of(sizes);
  array source(read), target(written);
  std::fill_n(source.data, read, 0.5f);
  std::function<void()> floor = [from = time_to_read(settings.threads, source.data, read),
                                 to = time_to_write(settings.threads, target.data, written)] { from(), to(); };
  if (attends) floor = [all = std::make_shared<products>(settings.threads, shape, op.is_vjp())] { (*all)(); };
  measurement found{op.name, counted->shape()};
  const std::function<void(const std::function<void()>&)> again = [&](const std::function<void()>& kernel) {
    std::vector<member> members{{"floor", elements, timed(settings.threads, floor)},
                                {"ours", elements, timed(settings.threads, kernel)}};
    run_side_by_side(settings.rounds, members);
    found.ns = spread_of(members[1].ns).median;
    found.floor_ns = spread_of(members[0].ns).median;
    found.share = spread_of(ratios(members[0].ns, members[1].ns));
  };
  optimized::execution on = optimized::process_execution();
  on.threads = settings.threads;
  r.evaluate({call.type, call.inputs, call.attributes, on, 1, 0, &again});
  return found;
}

}  // namespace

std::vector<measurement> measure_encodings(const options& settings, const heads_shape& shape) {
  std::vector<measurement> all;
  for (const optimized::routine& r : optimized::routines()) {
    const core::operation* op = reference::find_operation(r.name);
    // Recurrences have other shapes, and operations without tokens take too little time.
    if (op == nullptr || reference::forward_of(*op).recurrent || core::axis_with(*op, axis_role::token).empty())
      continue;
    all.push_back(measure_one(settings, shape, r, *op));
  }
  return all;
}

}  // namespace assay::bench
