// What each rung of the ladder of precisions costs, and how much it decides.
//
//   reference_benchmark [small]
//
// One thread. A line is an operation in a dtype: nanoseconds of processor time an output element in balls of one double
// and of two and in intervals of 35 digits, the medians of the ratios to the intervals in runs that take turns, the
// time of the first law of rounding errors, and the share of elements whose rounding each kind of ball decides. Inputs
// are of order 1, decays between 1 and e^-1.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/core/counter_random.hpp"
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

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

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

double share_decided(const rung_outputs& outputs) {
  std::size_t decided = 0, all = 0;
  for (const auto& [name, o] : outputs) {
    decided += static_cast<std::size_t>(std::count(o.decided.begin(), o.decided.end(), true));
    all += o.decided.size();
  }
  return static_cast<double>(decided) / static_cast<double>(std::max<std::size_t>(all, 1));
}

void measure(const std::string& operation, core::dtype type, const core::axis_sizes& sizes, int turns) {
  const core::operation& op = *find_operation(operation);
  const core::request call = call_of(op, type, sizes);
  const encoding_routines& r = routines_for(op);
  double elements = 0;
  for (const core::tensor_declaration& d : op.outputs)
    elements += static_cast<double>(core::element_count(core::shape_of(d, sizes)));
  std::vector<double> one, two, digits, law, of_one, of_two;
  for (int turn = 0; turn < turns; ++turn) {
    one.push_back(seconds_of([&] { r.enclose_in_doubles(call); }));
    two.push_back(seconds_of([&] { r.enclose_in_two_doubles(call); }));
    digits.push_back(seconds_of([&] { r.enclose(call, precision_digits[0]); }));
    law.push_back(seconds_of([&] { allow(call, type, accuracy_class::sequential); }));
    of_one.push_back(digits.back() / one.back());
    of_two.push_back(digits.back() / two.back());
  }
  const double unit = 1e9 / elements;
  fmt::print("{:22} {:4} {:8.1f} {:8.1f} {:8.0f} {:8.0f} {:8.1f} {:8.1f} {:11.6f} {:11.6f}\n", operation,
             core::name_of(type), median(one) * unit, median(two) * unit, median(digits) * unit, median(of_one),
             median(of_two), median(law) * unit, share_decided(r.enclose_in_doubles(call)),
             share_decided(r.enclose_in_two_doubles(call)));
}

int run(bool small) {
  const std::size_t n = small ? 20 : 2000;
  fmt::print("{:22} {:4} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>11} {:>11}\n", "ns an element", "", "double", "two",
             "35 dig.", "x faster", "x faster", "law", "decided", "by two");
  for (const core::dtype type : {core::dtype::f32, core::dtype::f64}) {
    const auto on = [&](const std::string& operation, const core::axis_sizes& sizes) {
      measure(operation, type, sizes, small ? 1 : 5);
    };
    on("heinsen/scan", {{"B", 1}, {"n", n}, {"d", 8}});
    on("heinsen/scan:vjp", {{"B", 1}, {"n", n}, {"d", 8}});
    on("heinsen/gated_scan", {{"B", 1}, {"n", n}, {"d", 8}});
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
  return assay::reference::benchmarks::run(argc > 1 && std::string_view(argv[1]) == "small");
}
