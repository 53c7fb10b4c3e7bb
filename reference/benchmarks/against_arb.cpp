// Running bounds compared with Arb (Johansson 2017). It is built where Arb is installed, and is not tested.
//
//   reference_against_arb [elements]
//
// One thread. It prints for scans and their gradients of some families, in f32 and f64: how many elements violate their
// bound or are rounded wrongly, checked by balls of 320 bits (0 is right); the largest share of its bound that an error
// reaches, in one double and in two; the share of elements that bounds leave undecided; and nanoseconds of processor
// time for each token, for the bounds and for Arb at 128 bits, and their ratios.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

#include "reference/benchmarks/lane_of_balls.hpp"
#include "reference/core/counter_random.hpp"
#include "reference/oracle.hpp"
#include "reference/registry.hpp"

namespace assay::reference::benchmarks {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t tokens = 512, features = 32;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

using draw = std::function<double(core::counter_random&)>;
// A family of decays and of gate logits.
struct family {
  const char* name;
  draw log_p, g, h;
};
const std::vector<family>& families() {
  using random = core::counter_random;
  static const std::vector<family> all{
      {"N(0, 1)", [](random& r) { return -std::fabs(r.normal()); }, [](random& r) { return r.normal(); },
       [](random& r) { return r.normal(); }},
      {"long memory", [](random&) { return -1e-7; }, [](random& r) { return 16 + r.normal(); },
       [](random& r) { return -15 + r.normal(); }},
      {"decays 1e-8 to 0.1", [](random& r) { return -std::exp(r.uniform(std::log(1e-8), std::log(0.1))); },
       [](random& r) { return r.uniform(2, 18); }, [](random& r) { return r.normal(); }},
      {"h to 1e4", [](random& r) { return r.uniform(-69, 0); }, [](random& r) { return r.uniform(-69, 69); },
       [](random& r) { return r.uniform(-1e4, 1e4); }},
      {"gates 0 and 1, -inf",
       [](random& r) { return r.one_in(20)  ? -infinity
                              : r.one_in(2) ? 0.0
                                            : r.uniform(-90, 0); },
       [](random& r) { return r.one_in(20)  ? -infinity
                              : r.one_in(2) ? infinity
                                            : r.uniform(-900, 900); },
       [](random& r) { return r.one_in(3) ? -infinity : 20 * r.normal(); }}};
  return all;
}

core::request call_of(const core::operation& op, core::dtype type, const family& f, std::uint64_t seed) {
  core::counter_random random(seed);
  core::request call{&op, type, {}};
  for (const core::tensor_declaration& d : op.inputs) {
    core::tensor t = core::zeros(type, core::shape_of(d, {{"B", 1}, {"n", tokens}, {"d", features}}));
    for (double& x : t.values.storage())
      x = core::round_to(type, d.name == "log_p" ? f.log_p(random)
                               : d.name == "g"   ? f.g(random)
                               : d.name == "h"   ? f.h(random)
                                                 : random.normal());
    call.inputs.emplace(d.name, std::move(t));
  }
  return call;
}

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
  // 320 bits cannot resolve errors that small.
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
    const bool is_jvp = outputs.count("tangent_s") != 0;
    const char* decay = outputs.count("grad_g") != 0 ? "grad_g" : "grad_log_p";
    for (std::size_t j = 0; j < features; ++j) {
      lane_of_balls lane(call, j, 320);
      lane.run();
      for (std::size_t i = 0; i < tokens; ++i) {
        const std::size_t index = i * features + j;
        if (op.is_forward()) compare(outputs.at("s"), index, lane.s[i + 1], words, found);
        if (is_jvp) compare(outputs.at("tangent_s"), index, {lane.tangent_s[i]}, words, found);
        if (op.is_vjp()) compare(outputs.at(decay), index, {lane.grad_decay[i]}, words, found);
        if (op.is_vjp()) compare(outputs.at("grad_h"), index, {lane.grad_h[i]}, words, found);
      }
      if (op.is_vjp()) compare(outputs.at("grad_s0"), j, {lane.grad_s0}, words, found);
    }
  }
  const double before = processor_seconds();
  for (std::size_t j = 0; j < features; ++j) lane_of_balls(call, j, 128).run();
  found.seconds_of_arb += processor_seconds() - before;
}

int run(double elements) {
  fmt::print("{:22} {:4} {:20} {:>9} {:>10} {:>5} {:>14} {:>17} {:>24} {:>10}\n", "", "", "", "elements", "violations",
             "wrong", "share of bound", "left open", "ns a token: one two Arb", "ratios");
  std::size_t all = 0, violations = 0;
  for (const char* operation : {"heinsen/scan", "heinsen/scan:vjp", "heinsen/scan:jvp", "heinsen/gated_scan",
                                "heinsen/gated_scan:vjp", "heinsen/gated_scan:jvp"})
    for (const core::dtype type : {core::dtype::f32, core::dtype::f64})
      for (const family& f : families()) {
        findings found;
        std::uint64_t seed = 0;
        for (; static_cast<double>(found.elements) < elements / 60; ++seed)
          measure(call_of(*find_operation(operation), type, f, seed), found);
        const double unit = 1e9 / static_cast<double>(seed * tokens * features);
        const auto share = [&](int k) {
          return static_cast<double>(found.open[k]) / static_cast<double>(found.elements);
        };
        fmt::print(
            "{:22} {:4} {:20} {:9} {:10} {:5} {:7.3f}{:7.3f} {:8.1e} {:8.1e} {:8.1f}{:8.1f}{:8.0f} {:5.0f}{:5.0f}\n",
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
  // The time in which the system provides new memory for every call is not measured.
  mallopt(M_MMAP_THRESHOLD, 1 << 28);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return assay::reference::benchmarks::run(argc > 1 ? std::atof(argv[1]) : 1e5);
}
