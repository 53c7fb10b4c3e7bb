// Running bounds against Arb (Johansson 2017): built where Arb is installed, and not tested.
//
//   reference_against_arb [elements]
//
// One thread. For scans and their gradients of some families, in f32 and f64: how many elements violate their bound or
// are rounded wrongly, by balls of 320 bits (of which 0 is right); the largest share of its bound that an error
// reaches, in one double and in two; the share of elements that bounds leave open; and nanoseconds of processor time a
// token, of the bounds, of Arb at 128 bits, and the ratios.
#include <arb.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "reference/core/counter_random.hpp"
#include "reference/registry.hpp"

namespace assay::reference::benchmarks {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t tokens = 512, features = 32;

struct number {
  arb_t x;
  number() { arb_init(x); }
  explicit number(double value) : number() { arb_set_d(x, value); }
  number(const number& other) : number() { arb_set(x, other.x); }
  number& operator=(const number& other) {
    arb_set(x, other.x);
    return *this;
  }
  ~number() { arb_clear(x); }
};

// A state is a number, or -inf.
struct state {
  number value;
  bool is_minus_infinity = false;
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

using draw = std::function<double(core::counter_random&)>;
struct family {
  const char* name;
  draw log_p, h;
};
const std::vector<family>& families() {
  using random = core::counter_random;
  static const std::vector<family> all{
      {"N(0, 1)", [](random& r) { return -std::fabs(r.normal()); }, [](random& r) { return r.normal(); }},
      {"long memory", [](random&) { return -1e-7; }, [](random& r) { return -15 + r.normal(); }},
      {"decays 1e-8 to 0.1", [](random& r) { return -std::exp(r.uniform(std::log(1e-8), std::log(0.1))); },
       [](random& r) { return r.normal(); }},
      {"h to 1e4", [](random& r) { return r.uniform(-69, 0); }, [](random& r) { return r.uniform(-1e4, 1e4); }},
      {"gates 0 and 1, -inf",
       [](random& r) { return r.one_in(20)  ? -infinity
                              : r.one_in(2) ? 0.0
                                            : r.uniform(-90, 0); },
       [](random& r) { return r.one_in(3) ? -infinity : 20 * r.normal(); }}};
  return all;
}

core::request call_of(const core::operation& op, core::dtype type, const family& f, std::uint64_t seed) {
  core::counter_random random(seed);
  core::request call{&op, type, {}};
  for (const core::tensor_declaration& d : op.inputs) {
    core::tensor t = core::zeros(type, core::shape_of(d, {{"B", 1}, {"n", tokens}, {"d", features}}));
    for (double& x : t.values.storage())
      x = core::round_to(type, d.name == "log_p" ? f.log_p(random) : d.name == "h" ? f.h(random) : random.normal());
    call.inputs.emplace(d.name, std::move(t));
  }
  return call;
}

// One lane of a call in balls of `bits` bits.
struct lane_of_balls {
  const core::request& call;
  std::size_t feature;
  slong bits;
  std::vector<state> s{};
  std::vector<number> grad_a{}, grad_h{};
  number grad_s0{};

  [[nodiscard]] double input(const char* name, std::size_t token) const {
    return call.inputs.at(name).values.storage()[token * features + feature];
  }
  void run() {
    state now{number(0.0), std::isinf(input("s0", 0))};
    if (!now.is_minus_infinity) now.value = number(input("s0", 0));
    s.assign(1, now);
    for (std::size_t i = 0; i < tokens; ++i) {
      step(now, input("log_p", i), input("h", i));
      s.push_back(now);
    }
    if (call.operation->is_vjp()) run_back();
  }

 private:
  void step(state& now, double a, double h) const {
    const bool past = !now.is_minus_infinity && !std::isinf(a), in = !std::isinf(h);
    number t(past ? a : 0.0), of_h(in ? h : 0.0), z;
    if (past) arb_add(t.x, t.x, now.value.x, bits);
    now.is_minus_infinity = !past && !in;
    if (!past || !in) {
      now.value = past ? t : of_h;
      return;
    }
    arb_sub(z.x, t.x, of_h.x, bits);
    const bool past_is_larger = arf_sgn(arb_midref(z.x)) >= 0;
    if (past_is_larger) arb_neg(z.x, z.x);
    arb_exp(z.x, z.x, bits);
    arb_log1p(z.x, z.x, bits);
    arb_add(now.value.x, past_is_larger ? t.x : of_h.x, z.x, bits);
  }
  void run_back() {
    grad_a.assign(tokens, number());
    grad_h.assign(tokens, number());
    number carry(input("grad_s_n", 0)), z, e;
    for (std::size_t i = tokens; i-- > 0;) {
      const double a = input("log_p", i), h = input("h", i);
      const bool past = !s[i].is_minus_infinity && !std::isinf(a), in = !std::isinf(h);
      arb_add(carry.x, carry.x, number(input("grad_s", i)).x, bits);
      if (past && in) {
        arb_add(z.x, s[i].value.x, number(a).x, bits);
        arb_sub(z.x, z.x, number(h).x, bits);
        // l / (1 + e^z) in h, l / (1 + e^-z) in a.
        arb_exp(e.x, z.x, bits);
        arb_add_ui(e.x, e.x, 1, bits);
        arb_div(grad_h[i].x, carry.x, e.x, bits);
        arb_neg(z.x, z.x);
        arb_exp(e.x, z.x, bits);
        arb_add_ui(e.x, e.x, 1, bits);
        arb_div(grad_a[i].x, carry.x, e.x, bits);
      } else {
        if (past) grad_a[i] = carry;
        if (in) grad_h[i] = carry;
      }
      carry = grad_a[i];
    }
    grad_s0 = carry;
  }
};

struct findings {
  std::size_t elements = 0, violations = 0, wrong = 0, open[2] = {0, 0};
  double worst[2] = {0, 0}, seconds[2] = {0, 0}, seconds_of_arb = 0;
};

void compare(const rung_output& o, std::size_t i, const state& truth, std::size_t words, findings& found) {
  const double value = o.rounded.values.storage()[i], radius = o.radius.storage()[i];
  found.elements += words == 0 ? 1 : 0;
  found.open[words] += o.decided[i] == 0 ? 1 : 0;
  if (std::isinf(radius)) return;
  if (truth.is_minus_infinity || std::isinf(value)) {
    if (!truth.is_minus_infinity || value != -infinity) ++found.violations;
    return;
  }
  number error;
  arb_sub(error.x, truth.value.x, number(value).x, 320);
  arb_abs(error.x, error.x);
  if (o.decided[i] != 0 && arb_gt(error.x, number(core::half_ulp(o.rounded.type, value)).x)) ++found.wrong;
  arb_sub(error.x, truth.value.x, number(value).x, 320);
  arb_sub(error.x, error.x, number(o.low.storage()[i]).x, 320);
  arb_abs(error.x, error.x);
  if (arb_gt(error.x, number(radius).x)) ++found.violations;
  // 320 bits do not know errors that small.
  if (!(radius > 0.0) || mag_get_d(arb_radref(error.x)) > radius * 0x1p-10) return;
  arb_div(error.x, error.x, number(radius).x, 64);
  found.worst[words] = std::max(found.worst[words], arf_get_d(arb_midref(error.x), ARF_RND_NEAR));
}

void measure(const core::request& call, findings& found) {
  const auto& op = *call.operation;
  for (std::size_t words : {0u, 1u}) {
    const auto bound = [&] { return declaration_of(op).bound(call, words == 0 ? doubles::one : doubles::two); };
    bound();
    const double before = processor_seconds();
    const rung_outputs outputs = bound();
    found.seconds[words] += processor_seconds() - before;
    for (std::size_t j = 0; j < features; ++j) {
      lane_of_balls lane{call, j, 320};
      lane.run();
      for (std::size_t i = 0; i < tokens; ++i) {
        const std::size_t at = i * features + j;
        if (!op.is_vjp()) compare(outputs.at("s"), at, lane.s[i + 1], words, found);
        if (op.is_vjp()) compare(outputs.at("grad_log_p"), at, {lane.grad_a[i]}, words, found);
        if (op.is_vjp()) compare(outputs.at("grad_h"), at, {lane.grad_h[i]}, words, found);
      }
      if (op.is_vjp()) compare(outputs.at("grad_s0"), j, {lane.grad_s0}, words, found);
    }
  }
  const double before = processor_seconds();
  for (std::size_t j = 0; j < features; ++j) lane_of_balls{call, j, 128}.run();
  found.seconds_of_arb += processor_seconds() - before;
}

int run(double elements) {
  fmt::print("{:17} {:4} {:20} {:>9} {:>10} {:>5} {:>14} {:>17} {:>24} {:>10}\n", "", "", "", "elements", "violations",
             "wrong", "share of bound", "left open", "ns a token: one two Arb", "ratios");
  std::size_t all = 0, violations = 0;
  for (const char* operation : {"heinsen/scan", "heinsen/scan:vjp"})
    for (const core::dtype type : {core::dtype::f32, core::dtype::f64})
      for (const family& f : families()) {
        findings found;
        std::uint64_t seed = 0;
        for (; static_cast<double>(found.elements) < elements / 20; ++seed)
          measure(call_of(*find_operation(operation), type, f, seed), found);
        const double unit = 1e9 / static_cast<double>(seed * tokens * features);
        const auto share = [&](int k) {
          return static_cast<double>(found.open[k]) / static_cast<double>(found.elements);
        };
        fmt::print(
            "{:17} {:4} {:20} {:9} {:10} {:5} {:7.3f}{:7.3f} {:8.1e} {:8.1e} {:8.1f}{:8.1f}{:8.0f} {:5.0f}{:5.0f}\n",
            operation, core::name_of(type), f.name, found.elements, found.violations, found.wrong, found.worst[0],
            found.worst[1], share(0), share(1), found.seconds[0] * unit, found.seconds[1] * unit,
            found.seconds_of_arb * unit, found.seconds_of_arb / found.seconds[0],
            found.seconds_of_arb / found.seconds[1]);
        all += found.elements;
        violations += found.violations + found.wrong;
      }
  fmt::print("{} elements, {} violations\n", all, violations);
  return violations == 0 ? 0 : 1;
}

}  // namespace
}  // namespace assay::reference::benchmarks

int main(int argc, char** argv) {
  // What the system takes to hand out memory anew for every call is not measured.
  mallopt(M_MMAP_THRESHOLD, 1 << 28);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return assay::reference::benchmarks::run(argc > 1 ? std::atof(argv[1]) : 1e5);
}
