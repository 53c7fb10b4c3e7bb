#include "tools/bench/stored_scans.hpp"

#include "optimized/benchmarks/scan_arrays.hpp"
#include "optimized/encodings/heinsen.hpp"
#include "tools/bench/side_by_side.hpp"

namespace assay::bench {
namespace {

using optimized::dense;
using optimized::benchmarks::array;
using optimized::benchmarks::floor;
namespace heinsen = optimized::heinsen;

// `count` 16-bit numbers in an array of half as many floats.
template <class Storage>
struct stored_array {
  explicit stored_array(std::size_t count) : memory((count + 1) / 2) {}
  [[nodiscard]] Storage* data() const { return static_cast<Storage*>(static_cast<void*>(memory.data)); }
  array memory;
};

template <class Storage>
class stored_problem {
 public:
  stored_problem(const options& settings, const scan_shape& shape, bool long_memory)
      : settings_(settings),
        shape_(shape),
        long_memory_(long_memory),
        log_p_(shape.size()),
        g_(shape.size()),
        h_(shape.size()),
        grad_s_(shape.size()),
        to_(shape.size()),
        also_to_(shape.size()),
        states_(shape.batch * shape.features),
        on_(optimized::process_execution()) {
    on_.threads = settings.threads;
    array log_p(shape.size()), g(shape.size()), h(shape.size()), grad_s(shape.size());
    fill_scan_inputs(long_memory, log_p, g, h, grad_s, shape.size());
    const auto round = optimized::storage_for<Storage>(*on_.kernels).round;
    round(log_p.data, log_p_.data(), shape.size()), round(g.data, g_.data(), shape.size());
    round(h.data, h_.data(), shape.size()), round(grad_s.data, grad_s_.data(), shape.size());
  }

  measurement scan(bool gated) {
    return beside_floor(gated ? "heinsen/gated_scan" : "heinsen/scan", {log_p_.memory.data, h_.memory.data},
                        {also_to_.memory.data}, [&] {
                          const heinsen::scan_outputs<Storage> out{rows(to_), state()};
                          gated ? heinsen::gated_scan(on_, inputs(gated), out) : heinsen::scan(on_, inputs(gated), out);
                        });
  }
  measurement adjoint(bool gated) {
    return beside_floor(gated ? "heinsen/gated_scan:vjp" : "heinsen/scan:vjp",
                        {log_p_.memory.data, h_.memory.data, grad_s_.memory.data, g_.memory.data},
                        {to_.memory.data, also_to_.memory.data}, [&] {
                          const heinsen::scan_cotangents<Storage> after{{}, read(grad_s_)};
                          const heinsen::scan_gradients<Storage> out{rows(to_), rows(also_to_), state()};
                          gated ? heinsen::gated_scan_vjp(on_, inputs(gated), after, out)
                                : heinsen::scan_vjp(on_, inputs(gated), after, out);
                        });
  }

 private:
  auto rows(const stored_array<Storage>& a) const {
    return dense<Storage, 3>(a.data(), {shape_.batch, shape_.tokens, shape_.features});
  }
  optimized::view<const Storage, 3> read(const stored_array<Storage>& a) const { return rows(a); }
  auto state() { return dense<float, 2>(states_.data(), {shape_.batch, shape_.features}); }
  heinsen::scan_inputs<Storage> inputs(bool gated) const { return {read(gated ? g_ : log_p_), read(h_)}; }

  template <class Ours>
  measurement beside_floor(const char* operation, std::vector<const float*> from, std::vector<float*> to, Ours ours) {
    const auto elements = static_cast<double>(shape_.size());
    const std::size_t floats = shape_.size() / 2;
    std::vector<member> members{
        {"floor", elements, timed(settings_.threads, [&] { floor<false>(settings_.threads, from, to, floats); })},
        {"floor past the caches", elements,
         timed(settings_.threads, [&] { floor<true>(settings_.threads, from, to, floats); })},
        {"ours", elements, timed(settings_.threads, ours)}};
    run_side_by_side(settings_.rounds, members);
    measurement m = beside_best_floor(operation, {shape_.batch, shape_.tokens, shape_.features}, members);
    m.dtype = std::is_same_v<Storage, optimized::float16> ? "f16" : "bf16";
    m.long_memory = long_memory_;
    return m;
  }

  const options& settings_;
  scan_shape shape_;
  bool long_memory_;
  stored_array<Storage> log_p_, g_, h_, grad_s_, to_, also_to_;
  std::vector<float> states_;
  optimized::execution on_;
};

template <class Storage>
void add_all(const options& settings, const scan_shape& shape, bool long_memory, std::vector<measurement>& all) {
  stored_problem<Storage> p(settings, shape, long_memory);
  for (const bool gated : {false, true}) all.push_back(p.scan(gated));
  for (const bool gated : {false, true}) all.push_back(p.adjoint(gated));
}

}  // namespace

std::vector<measurement> measure_stored_scans(const options& settings, const scan_shape& shape, bool long_memory) {
  std::vector<measurement> all;
  add_all<optimized::bfloat16>(settings, shape, long_memory, all);
  add_all<optimized::float16>(settings, shape, long_memory, all);
  return all;
}

}  // namespace assay::bench
