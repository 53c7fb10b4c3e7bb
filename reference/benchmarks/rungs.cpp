// The cost of each rung of the ladder of precisions, and the share that it decides.
//
//   reference_benchmark [small]
//
// One thread. Each line is an operation in a dtype. It has the nanoseconds of processor time for each output element:
// by running bounds in one double and in two, in balls of one double and of two, and in intervals of 35 digits. It has
// the medians of their ratios to the intervals, from runs that take turns; and the share of elements whose rounding is
// left undecided by bounds and balls. The last column is the time of the first law of rounding errors. Inputs are of
// order 1; decays are between 1 and e^-1.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/core/counter_random.hpp"
#include "reference/oracle.hpp"
#include "reference/registry.hpp"

namespace assay::reference::benchmarks {
namespace {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_of(const std::function<void()>& run) {
  const double before = processor_seconds();
  run();
  return processor_seconds() - before;
}

double median(std::vector<double> x) { return boost::math::statistics::median(x); }

// Positions are counted, decays lie in [-1, 0], everything else is normal.
core::request call_of(const core::operation& op, core::dtype type, const core::axis_sizes& sizes) {
  core::counter_random random(1);
  core::request call{&op, type, {}, core::completed(op, {})};
  for (const core::tensor_declaration& d : op.inputs) {
    core::tensor t = core::zeros(d.type_in(type), core::shape_of(d, sizes));
    std::size_t i = 0;
    for (double& x : t.values.storage())
      x = d.own_type                               ? static_cast<double>(i++)
          : d.name == "log_p" || d.name == "log_f" ? core::round_to(type, -random.uniform())
                                                   : core::round_to(type, random.normal());
    call.inputs.emplace(d.name, std::move(t));
  }
  return call;
}

double share_open(const rung_outputs& outputs) {
  std::size_t open = 0, all = 0;
  for (const auto& [name, o] : outputs) {
    open += static_cast<std::size_t>(std::count(o.decided.begin(), o.decided.end(), 0));
    all += o.decided.size();
  }
  return static_cast<double>(open) / static_cast<double>(std::max<std::size_t>(all, 1));
}

// A rung below the intervals; its runs and those of the intervals take turns.
struct timed_rung {
  std::function<rung_outputs()> run;
  std::vector<double> seconds{}, ratios{};
};

void measure(const std::string& operation, core::dtype type, const core::axis_sizes& sizes, int turns) {
  const core::operation& op = *find_operation(operation);
  const core::request call = call_of(op, type, sizes);
  const formula_owner& r = owner_of(op);
  const running_bound& bound = declaration_of(op).bound;
  double elements = 0;
  for (const core::tensor_declaration& d : op.outputs)
    elements += static_cast<double>(core::element_count(core::shape_of(d, sizes)));
  std::vector<timed_rung> rungs{{[&] { return bound ? bound(call, doubles::one) : rung_outputs{}; }},
                                {[&] { return bound ? bound(call, doubles::two) : rung_outputs{}; }},
                                {[&] { return r.enclose_in_doubles(call); }},
                                {[&] { return r.enclose_in_two_doubles(call); }}};
  std::vector<double> digits, law;
  for (int turn = 0; turn < turns; ++turn) {
    digits.push_back(seconds_of([&] { r.enclose(call, precision_digits[0]); }));
    law.push_back(seconds_of([&] { allow(call, type, accuracy_class::sequential); }));
    for (timed_rung& rung : rungs) {
      rung.seconds.push_back(seconds_of([&] { rung.run(); }));
      rung.ratios.push_back(digits.back() / rung.seconds.back());
    }
  }
  const double unit = 1e9 / elements;
  const auto on_rungs = [&](const char* form, auto number) {
    for (std::size_t k = 0; k < rungs.size(); ++k)
      if (k < first_ball_rung && bound == nullptr)
        fmt::print("{:>9}", "-");
      else
        fmt::print(fmt::runtime(form), number(rungs[k]));
  };
  fmt::print("{:22} {:4}", operation, core::name_of(type));
  on_rungs("{:9.1f}", [&](const timed_rung& rung) { return median(rung.seconds) * unit; });
  fmt::print("{:8.0f} ", median(digits) * unit);
  on_rungs("{:9.0f}", [](const timed_rung& rung) { return median(rung.ratios); });
  on_rungs("{:9.1e}", [](const timed_rung& rung) { return share_open(rung.run()); });
  fmt::print("{:8.1f}\n", median(law) * unit);
}

int run(bool small) {
  const std::size_t n = small ? 20 : 2000;
  fmt::print("{:27}{:^36}{:>8} {:^36}{:^36}{:>8}\n", "", "ns an element", "", "times faster than 35 digits",
             "left open", "");
  fmt::print("{:27}", "");
  for (const char* behind : {" 35 dig. ", "", "     law\n"}) {
    for (const char* name : {"bound", "two", "ball", "two"}) fmt::print("{:>9}", name);
    fmt::print("{}", behind);
  }
  for (const core::dtype type : {core::dtype::f32, core::dtype::f64}) {
    const auto on = [&](const std::string& operation, const core::axis_sizes& sizes) {
      measure(operation, type, sizes, small ? 1 : 5);
    };
    for (const char* operation : {"heinsen/scan", "heinsen/scan:vjp", "heinsen/scan:jvp", "heinsen/gated_scan",
                                  "heinsen/gated_scan:vjp", "heinsen/gated_scan:jvp"})
      on(operation, {{"B", 1}, {"n", n / 4}, {"d", 64}});
    on("rope/rotate", {{"B", 1}, {"n", n / 10}, {"h", 2}, {"d", 32}});
    on("fox/decay", {{"B", 1}, {"n", n / 20}, {"h", 1}});
    on("attention/output", {{"B", 1}, {"h", 1}, {"n", n / 100 + 1}, {"m", n / 20}, {"d", 16}, {"e", 16}});
    on("sinusoidal/table", {{"n", n / 2}, {"d", 8}});
  }
  return 0;
}

}  // namespace
}  // namespace assay::reference::benchmarks

int main(int argc, char** argv) {
  // The time in which the system provides new memory for every call is not measured.
  mallopt(M_MMAP_THRESHOLD, 1 << 28);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return assay::reference::benchmarks::run(argc > 1 && std::string_view(argv[1]) == "small");
}
