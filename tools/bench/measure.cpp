#include "tools/bench/measure.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "optimized/benchmarks/scan_arrays.hpp"
#include "optimized/encodings/heinsen.hpp"
#include "tools/bench/embedding.hpp"
#include "tools/bench/encodings.hpp"
#include "tools/bench/side_by_side.hpp"
#include "tools/bench/simd_loops.hpp"
#include "tools/bench/stored_scans.hpp"

namespace assay::bench {
namespace {

using optimized::benchmarks::array;
using optimized::benchmarks::floor;
namespace heinsen = optimized::heinsen;

// Peers compute at most about this many elements: they are slow, and the cumsum form loses a digit with each power of
// ten.
constexpr std::size_t most_of_peer = 100000;

double sum_of(const float* x, std::size_t count) { return std::accumulate(x, x + count, 0.0); }
double size_of(const float* x, std::size_t count) {
  return std::accumulate(x, x + count, 0.0, [](double sum, float y) { return sum + std::fabs(y); });
}

class problem {
 public:
  problem(const options& settings, const scan_shape& shape, bool long_memory)
      : settings_(settings),
        shape_(shape),
        long_memory_(long_memory),
        part_{1, std::clamp<std::size_t>(most_of_peer / shape.features, 1, shape.tokens), shape.features},
        log_p_(shape.size()),
        g_(shape.size()),
        h_(shape.size()),
        s_(shape.size()),
        grad_s_(shape.size()),
        grad_decay_(shape.size()),
        grad_h_(shape.size()),
        peer_s_(part_.size()),
        states_(2 * shape.batch * shape.features),
        on_(optimized::process_execution()) {
    on_.threads = settings.threads;
    fill_scan_inputs(long_memory, log_p_, g_, h_, grad_s_, shape.size());
  }

  measurement scan(bool gated) {
    const std::vector<const float*> read{log_p_.data, h_.data};
    std::vector<member> members = floors(read, {grad_decay_.data});
    members.push_back({"ours", elements(shape_), timed(settings_.threads, [&] { forward(gated, shape_); })});
    std::vector<double> sums;
    add_one_thread(members, sums, s_, [this, gated] { forward(gated, shape_); });
    std::unique_ptr<torch_peer> torch;
    if (!gated) {
      add_loop(members, sums, "scalar C++", optimized::benchmarks::scalar_scan);
      if (shape_.features % 16 == 0)
        for (const simd_loop& loop : simd_loops()) add_loop(members, sums, loop.name, loop.scan);
      torch = add_torch(members, sums, {{"PyTorch, cumsum form", "cumsum"}, {"PyTorch, step loop", "loop"}});
    }
    forward(gated, part_);
    const double ours = sum_of(s_.data, part_.size()), size = size_of(s_.data, part_.size());
    run_side_by_side(settings_.rounds, members);
    return measured(gated ? "heinsen/gated_scan" : "heinsen/scan", members, sums, ours, size);
  }

  measurement adjoint(bool gated) {
    forward(gated, shape_);
    const std::vector<const float*> read{log_p_.data, h_.data, grad_s_.data, s_.data};
    std::vector<member> members = floors(read, {grad_decay_.data, grad_h_.data});
    members.push_back({"ours", elements(shape_), timed(settings_.threads, [&] { backward(gated, shape_); })});
    std::vector<double> sums;
    add_one_thread(members, sums, grad_h_, [this, gated] { backward(gated, shape_); });
    backward(gated, shape_);
    const double ours = sum_of(grad_h_.data, part_.size()), size = size_of(grad_h_.data, part_.size());
    run_side_by_side(settings_.rounds, members);
    return measured(gated ? "heinsen/gated_scan:vjp" : "heinsen/scan:vjp", members, sums, ours, size);
  }

  /// A scan followed by its adjoint, as in a training step; on several threads without the comparison with one thread.
  measurement scan_and_adjoint() {
    const auto both = [this](const scan_shape& shape) { forward(false, shape), backward(false, shape); };
    const std::vector<const float*> two{log_p_.data, h_.data}, four{log_p_.data, h_.data, grad_s_.data, s_.data};
    std::vector<member> members;
    const auto add_floor = [&](const char* name, auto copy) {
      members.push_back({name, elements(shape_), timed(settings_.threads, [=, this] {
                           copy(settings_.threads, two, {grad_decay_.data}, shape_.size());
                           copy(settings_.threads, four, {grad_decay_.data, grad_h_.data}, shape_.size());
                         })});
    };
    forward(false, shape_);
    add_floor("floor", floor<false>), add_floor("floor past the caches", floor<true>);
    members.push_back({"ours", elements(shape_), timed(settings_.threads, [&] { both(shape_); })});
    std::vector<double> sums;
    const std::unique_ptr<torch_peer> torch = add_torch(members, sums, {{"PyTorch, cumsum form", "cumsum_vjp"}});
    both(part_);
    const double ours = sum_of(grad_h_.data, part_.size()), size = size_of(grad_h_.data, part_.size());
    run_side_by_side(settings_.rounds, members);
    return measured("heinsen/scan, scan:vjp", members, sums, ours, size);
  }

  /// The derivative along a direction, together with the states.
  measurement tangent(bool gated) {
    std::copy_n(grad_s_.data, shape_.size(), grad_decay_.data);
    const std::vector<const float*> read{log_p_.data, h_.data, grad_s_.data, grad_decay_.data};
    std::vector<member> members = floors(read, {s_.data, grad_h_.data});
    members.push_back({"ours", elements(shape_), timed(settings_.threads, [&] { push(gated); })});
    std::vector<double> sums;
    add_one_thread(members, sums, grad_h_, [this, gated] { push(gated); });
    push(gated);
    const double ours = sum_of(grad_h_.data, part_.size()), size = size_of(grad_h_.data, part_.size());
    run_side_by_side(settings_.rounds, members);
    return measured(gated ? "heinsen/gated_scan:jvp" : "heinsen/scan:jvp", members, sums, ours, size);
  }

 private:
  static double elements(const scan_shape& shape) { return static_cast<double>(shape.size()); }
  template <class T>
  static auto rows(T* data, const scan_shape& shape) {
    return optimized::dense<T, 3>(data, {shape.batch, shape.tokens, shape.features});
  }
  auto states(std::size_t which) {
    return optimized::dense<float, 2>(states_.data() + which * shape_.batch * shape_.features,
                                      {shape_.batch, shape_.features});
  }
  heinsen::scan_inputs<float> inputs(bool gated, const scan_shape& shape) const {
    return {rows<const float>(gated ? g_.data : log_p_.data, shape), rows<const float>(h_.data, shape)};
  }

  std::vector<member> floors(std::vector<const float*> read, std::vector<float*> written) {
    return {{"floor", elements(shape_),
             timed(settings_.threads, [=, this] { floor<false>(settings_.threads, read, written, shape_.size()); })},
            {"floor past the caches", elements(shape_),
             timed(settings_.threads, [=, this] { floor<true>(settings_.threads, read, written, shape_.size()); })}};
  }
  // On several threads: also measures one thread, which writes the same `result`.
  template <class Work>
  void add_one_thread(std::vector<member>& members, std::vector<double>& sums, const array& result, Work work) {
    if (settings_.threads == 1) return;
    members.push_back({"ours on one thread", elements(shape_), timed(settings_.threads, [this, work] {
                         on_.threads = 1;
                         work();
                         on_.threads = settings_.threads;
                       })});
    members.back().run();
    sums.push_back(sum_of(result.data, part_.size()));
  }
  void add_loop(std::vector<member>& members, std::vector<double>& sums, const char* name,
                void (*loop)(const float*, const float*, float*, std::size_t, std::size_t)) {
    members.push_back({name, elements(part_), timed(1, [this, loop] {
                         loop(log_p_.data, h_.data, peer_s_.data, part_.tokens, part_.features);
                       })});
    members.back().run();
    sums.push_back(sum_of(peer_s_.data, part_.size()));
  }
  // Starts the process that runs the functions, or returns null.
  std::unique_ptr<torch_peer> add_torch(std::vector<member>& members, std::vector<double>& sums,
                                        const std::vector<std::pair<const char*, const char*>>& functions) {
    if (settings_.python.empty()) return nullptr;
    const auto part = [this](const array& x) { return std::span<const float>(x.data, part_.size()); };
    auto torch = torch_peer::start(settings_.python, part_, {part(log_p_), part(h_), part(grad_s_)}, settings_.threads);
    if (!torch) return nullptr;
    for (const auto& [name, word] : functions) {
      sums.push_back(torch->run(word).sum);
      members.push_back({name, elements(part_), [peer = torch.get(), word] { return peer->run(word).seconds; }});
    }
    return torch;
  }
  void forward(bool gated, const scan_shape& shape) {
    auto last = states(0);
    last.shape[0] = shape.batch;
    const heinsen::scan_outputs<float> out{rows(s_.data, shape), last};
    gated ? heinsen::gated_scan<float>(on_, inputs(gated, shape), out)
          : heinsen::scan<float>(on_, inputs(gated, shape), out);
  }
  void backward(bool gated, const scan_shape& shape) {
    auto first = states(1);
    first.shape[0] = shape.batch;
    const heinsen::scan_cotangents<float> given{rows<const float>(s_.data, shape),
                                                rows<const float>(grad_s_.data, shape)};
    const heinsen::scan_gradients<float> out{rows(grad_decay_.data, shape), rows(grad_h_.data, shape), first};
    gated ? heinsen::gated_scan_vjp<float>(on_, inputs(gated, shape), given, out)
          : heinsen::scan_vjp<float>(on_, inputs(gated, shape), given, out);
  }
  void push(bool gated) {
    const heinsen::scan_direction<float> direction{rows<const float>(grad_s_.data, shape_),
                                                   rows<const float>(grad_decay_.data, shape_)};
    const heinsen::scan_outputs<float> with_states{rows(s_.data, shape_), states(0)};
    const heinsen::scan_tangents<float> out{rows(grad_h_.data, shape_), states(1)};
    gated ? heinsen::gated_scan_jvp<float>(on_, inputs(gated, shape_), direction, with_states, out)
          : heinsen::scan_jvp<float>(on_, inputs(gated, shape_), direction, with_states, out);
  }

  // The members are two floors, Assay's code, and peers.
  measurement measured(const char* operation, const std::vector<member>& members, const std::vector<double>& sums,
                       double ours, double size) const {
    const std::vector<double>& own = members[2].ns;
    measurement m = beside_best_floor(operation, {shape_.batch, shape_.tokens, shape_.features}, members);
    m.long_memory = long_memory_;
    for (std::size_t k = 3; k < members.size(); ++k) {
      // A plain loop in f32 adds one rounding per token; the cumsum form loses more.
      const bool loses_digits = members[k].name.ends_with("cumsum form");
      const double tolerance = loses_digits ? 1e-2 : 1e-5 + 0x1p-24 * static_cast<double>(part_.tokens);
      m.peers.push_back({members[k].name, spread_of(members[k].ns).median, spread_of(ratios(members[k].ns, own)),
                         sums[k - 3], ours, std::fabs(sums[k - 3] - ours) <= tolerance * size});
    }
    return m;
  }

  const options& settings_;
  scan_shape shape_;
  bool long_memory_;
  scan_shape part_;  ///< the part that peers compute: the first tokens of the first sequence
  array log_p_, g_, h_, s_, grad_s_, grad_decay_, grad_h_, peer_s_;
  std::vector<float> states_;
  optimized::execution on_;
};

}  // namespace

std::vector<measurement> measure(const options& settings) {
  take_turns();
  std::vector<measurement> all;
  for (const scan_shape& shape : settings.shapes)
    for (const bool long_memory : {false, true}) {
      if (long_memory && shape.features > 64) continue;
      problem p(settings, shape, long_memory);
      for (const bool gated : {false, true}) all.push_back(p.scan(gated));
      for (const bool gated : {false, true}) all.push_back(p.adjoint(gated));
      all.push_back(p.scan_and_adjoint());
      for (const bool gated : {false, true}) all.push_back(p.tangent(gated));
      for (const measurement& m : measure_stored_scans(settings, shape, long_memory)) all.push_back(m);
    }
  for (const embedding_shape& shape : settings.embeddings)
    for (const measurement& m : measure_embedding(settings, shape)) all.push_back(m);
  for (const heads_shape& shape : settings.heads)
    for (const measurement& m : measure_encodings(settings, shape)) all.push_back(m);
  return all;
}

}  // namespace assay::bench
