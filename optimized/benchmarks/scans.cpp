// Measures the time of scans and of their derivatives, and the time that memory takes for the same arrays.
//
//   scan_benchmark [small] [rounds=N] [threads=N] [target=NAME] [only=WORD]
//
// The floor adds the arrays that are read into each array that is written. It writes through the caches or past them,
// whichever is faster. The variants take turns. In each round, the time of a variant is compared with the floor of that
// round. The lines give the median time of an element, and the median and the quartiles of the shares floor / time.
// With one thread, times are processor times; with several threads, they are wall-clock times. `scalar` is a plain loop
// over std::exp and std::log1p on a part of the arrays.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/benchmarks/scan_arrays.hpp"
#include "optimized/encodings/heinsen.hpp"

namespace assay::optimized::benchmarks {
namespace {

struct options {
  bool small = false;
  int rounds = 15, threads = 2;
  std::string target, only;
};

double now(int threads) {
  if (threads == 1) {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct variant {
  std::string name;
  double elements;  ///< number of elements that one run computes
  std::function<void()> run;
  std::vector<double> seconds = {};  ///< time of an element, in each round
};

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

// The first two variants are floors.
void compare(const std::string& title, const options& settings, int threads, std::vector<variant> all) {
  const double least_elements = settings.small ? 2e3 : 2e5;  // number of elements in a measured time
  for (int k = -1; k < settings.rounds; ++k)
    for (variant& v : all) {
      const int repeats = std::max(1, static_cast<int>(least_elements / v.elements));
      const double start = now(threads);
      for (int i = 0; i < repeats; ++i) v.run();
      if (k >= 0) v.seconds.push_back((now(threads) - start) / repeats / v.elements);
    }
  fmt::print("{}, {} thread{}\n", title, threads, threads == 1 ? "" : "s");
  for (const variant& v : all) {
    std::vector<double> share;
    for (std::size_t k = 0; k < v.seconds.size(); ++k)
      share.push_back(std::min(all[0].seconds[k], all[1].seconds[k]) / v.seconds[k]);
    fmt::print("  {:<26} {:>8.3f} ns   share {:.3f}  [{:.3f}, {:.3f}]\n", v.name, 1e9 * quantile(v.seconds, 0.5),
               quantile(share, 0.5), quantile(share, 0.25), quantile(share, 0.75));
  }
  std::fflush(stdout);
}

struct shape {
  std::size_t batch, tokens, features;
  [[nodiscard]] std::size_t size() const { return batch * tokens * features; }
  [[nodiscard]] std::string name() const { return fmt::format("({}, {}, {})", batch, tokens, features); }
};

// The scans of one shape, forward, backward and along a direction, each beside the memory traffic that it needs.
class scans_of_shape {
 public:
  scans_of_shape(const options& settings, const shape& size, bool long_memory, int threads)
      : settings_(settings),
        size_(size),
        threads_(threads),
        title_(size.name() + (long_memory ? " long memory" : "")),
        on_(process_execution()) {
    fill_scan_inputs(long_memory, log_p_, g_, h_, grad_s_, size.size());
    on_.threads = threads;
  }

  void forward() {
    const std::size_t part = std::min<std::size_t>(size_.tokens, 1 + 400000 / size_.features);
    std::vector<variant> all = floors({log_p_.data, h_.data}, {grad_decay_.data});
    all.push_back({"scan", elements(), [&] {
                     heinsen::scan<float>(on_, inputs(log_p_), {rows(s_.data), states(s_n_)});
                   }});
    all.push_back({"gated_scan", elements(), [&] {
                     heinsen::gated_scan<float>(on_, inputs(g_), {rows(grad_h_.data), states(s_n_)});
                   }});
    if (threads_ == 1)
      all.push_back({"scalar", static_cast<double>(part * size_.features),
                     [&, part] { scalar_scan(log_p_.data, h_.data, grad_h_.data, part, size_.features); }});
    compare(title_ + " forward", settings_, threads_, std::move(all));
  }

  void backward() {
    const heinsen::scan_cotangents<float> cotangents{rows(std::as_const(s_.data)), rows(std::as_const(grad_s_.data))};
    const heinsen::scan_gradients<float> out{rows(grad_decay_.data), rows(grad_h_.data), states(grad_s0_)};
    std::vector<variant> all = floors({log_p_.data, h_.data, grad_s_.data, s_.data}, {grad_decay_.data, grad_h_.data});
    all.push_back({"scan:vjp", elements(), [&] { heinsen::scan_vjp<float>(on_, inputs(log_p_), cotangents, out); }});
    all.push_back(
        {"gated_scan:vjp", elements(), [&] { heinsen::gated_scan_vjp<float>(on_, inputs(g_), cotangents, out); }});
    compare(title_ + " backward", settings_, threads_, std::move(all));
  }

  void along_direction() {
    const heinsen::scan_direction<float> direction{rows(std::as_const(grad_s_.data)),
                                                   rows(std::as_const(grad_decay_.data))};
    const heinsen::scan_outputs<float> with_states{rows(s_.data), states(s_n_)};
    const heinsen::scan_tangents<float> tangents{rows(grad_h_.data), states(grad_s0_)};
    std::vector<variant> all = floors({log_p_.data, h_.data, grad_s_.data, grad_decay_.data}, {s_.data, grad_h_.data});
    all.push_back({"scan:jvp", elements(),
                   [&] { heinsen::scan_jvp<float>(on_, inputs(log_p_), direction, with_states, tangents); }});
    all.push_back({"gated_scan:jvp", elements(),
                   [&] { heinsen::gated_scan_jvp<float>(on_, inputs(g_), direction, with_states, tangents); }});
    compare(title_ + " along a direction", settings_, threads_, std::move(all));
  }

 private:
  [[nodiscard]] double elements() const { return static_cast<double>(size_.size()); }
  template <class T>
  [[nodiscard]] view<T, 3> rows(T* data) const {
    return dense<T, 3>(data, {size_.batch, size_.tokens, size_.features});
  }
  [[nodiscard]] view<float, 2> states(std::vector<float>& x) const {
    return dense<float, 2>(x.data(), {size_.batch, size_.features});
  }
  [[nodiscard]] heinsen::scan_inputs<float> inputs(const array& decay) const {
    return {rows(std::as_const(decay.data)), rows(std::as_const(h_.data))};
  }
  // The time in which memory gives these arrays and takes those, through the caches and past them.
  std::vector<variant> floors(const std::vector<const float*>& read, const std::vector<float*>& written) const {
    return {{fmt::format("floor, read {} write {}", read.size(), written.size()), elements(),
             [=, this] { floor<false>(threads_, read, written, size_.size()); }},
            {"floor, past the caches", elements(), [=, this] { floor<true>(threads_, read, written, size_.size()); }}};
  }

  const options& settings_;
  shape size_;
  int threads_;
  std::string title_;
  execution on_;
  array log_p_{size_.size()}, g_{size_.size()}, h_{size_.size()}, s_{size_.size()}, grad_s_{size_.size()},
      grad_decay_{size_.size()}, grad_h_{size_.size()};
  std::vector<float> s_n_ = std::vector<float>(size_.batch * size_.features), grad_s0_ = s_n_;
};

void measure(const options& settings, const shape& size, bool long_memory, int threads) {
  scans_of_shape scans(settings, size, long_memory, threads);
  scans.forward();
  scans.backward();
  scans.along_direction();
}

void measure_all(const options& settings) {
  const std::vector<shape> shapes =
      settings.small ? std::vector<shape>{{2, 9, 16}, {1, 300, 1}}
                     : std::vector<shape>{{8, 1000, 1024}, {1, 16384, 1024}, {1, 40, 1024}, {1, 10000000, 1},
                                          {1, 1000000, 8}, {1, 1000, 1},     {1, 1, 1024}};
  for (const shape& size : shapes)
    for (const bool long_memory : {false, true}) {
      if (long_memory && size.features > 64) continue;
      if (!settings.only.empty() && size.name().find(settings.only) == std::string::npos) continue;
      for (int threads = 1; threads <= settings.threads; ++threads) measure(settings, size, long_memory, threads);
    }
}

}  // namespace
}  // namespace assay::optimized::benchmarks

int main(int count, char** words) {
  using namespace assay::optimized;
  benchmarks::options settings;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const auto value = [&] { return std::string(word.substr(word.find('=') + 1)); };
    if (word == "small")
      settings.small = true, settings.rounds = 1;
    else if (word.starts_with("rounds="))
      settings.rounds = std::stoi(value());
    else if (word.starts_with("threads="))
      settings.threads = std::stoi(value());
    else if (word.starts_with("target="))
      settings.target = value();
    else if (word.starts_with("only="))
      settings.only = value();
    else {
      fmt::print(stderr, "usage: {} [small] [rounds=N] [threads=N] [target=NAME] [only=WORD]\n", words[0]);
      return 2;
    }
  }
  if (!force_target(settings.target)) {
    fmt::print(stderr, "{}: this processor lacks the instruction set '{}'\n", words[0], settings.target);
    return 2;
  }
  benchmarks::measure_all(settings);
  return 0;
}
