// What a formula costs as a program, beside the same one compiled.
//
//   programs_benchmark [small|large]
//
// large: the truth of attention in f32, n = m = 2048, d = 64, one head, and of 2^20 elements of a rotation, in balls of
// one double.
// One thread. A line is an operation of some size in a dtype: the seconds of processor time of the compiled formula in
// balls of two doubles, in the law of rounding errors and of its gradient, and the medians of the ratios of the program
// to these in runs that take turns.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string_view>

#include "reference/core/counter_random.hpp"
#include "reference/formula/tests/recorded_operations.hpp"
#include "reference/registry.hpp"

namespace assay::reference::benchmarks {
namespace {

using formula::program_owner;

double seconds_of(const std::function<void()>& run) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double before = now();
  run();
  return now() - before;
}

core::request call_of(const core::operation& op, const core::axis_sizes& sizes) {
  core::counter_random random(1);
  core::request call{&op, core::dtype::f32, {}};
  for (const core::tensor_declaration& d : op.inputs) {
    core::tensor t = core::zeros(d.type_in(call.type), core::shape_of(d, sizes));
    std::size_t i = 0;
    for (double& x : t.values.storage())
      x = d.own_type ? static_cast<double>(i++) : core::round_to(call.type, std::fabs(random.normal()));
    call.inputs.emplace(d.name, std::move(t));
  }
  return call;
}

void compare(const program_owner& owner, std::size_t number, const char* compiled_name, const core::axis_sizes& sizes,
             int runs) {
  const core::operation &own = owner.operations()[number].declaration, &compiled = *find_operation(compiled_name);
  const core::request own_call = call_of(own, sizes), call = call_of(compiled, sizes);
  const formula_owner& other = owner_of(compiled);
  const core::precisions formats(core::dtype::f32);
  const auto measure = [&](auto f) {
    std::vector<double> ratios;
    double least = HUGE_VAL;
    for (int k = 0; k < runs; ++k) {
      const double before = seconds_of([&] { f(other, call); });
      ratios.push_back(seconds_of([&] { f(owner, own_call); }) / before);
      least = std::min(least, before);
    }
    std::nth_element(ratios.begin(), ratios.begin() + runs / 2, ratios.end());
    return fmt::format("{:9.2e} s {:5.2f}", least, ratios[static_cast<std::size_t>(runs / 2)]);
  };
  fmt::print("{:22} {} {}\n", compiled_name,
             measure([](const formula_owner& of, const core::request& c) { of.enclose_in_two_doubles(c); }),
             measure([&](const formula_owner& of, const core::request& c) {
               of.laws(c, {accuracy_class::sequential}, formats);
             }));
}

void compare_large(const program_owner& owner, std::size_t number, const char* compiled_name,
                   const core::axis_sizes& sizes) {
  const core::operation &own = owner.operations()[number].declaration, &compiled = *find_operation(compiled_name);
  const core::request own_call = call_of(own, sizes), call = call_of(compiled, sizes);
  for (int k = 0; k < 3; ++k) {
    const double before = seconds_of([&] { std::ignore = owner_of(compiled).enclose_in_doubles(call); });
    const double now = seconds_of([&] { std::ignore = owner.enclose_in_doubles(own_call); });
    fmt::print("{:22} {:.2f} s {:.2f}\n", compiled_name, before, now / before);
  }
}

}  // namespace
}  // namespace assay::reference::benchmarks

int main(int count, char** arguments) {
  using namespace assay::reference;
  using namespace assay::reference::formula::owned;
  const bool small = count > 1 && std::string_view(arguments[1]) == "small";
  const formula::program_owner owner("mine", {},
                                     {{declared_as("mine/rotate", "rope/rotate"), recorded_rotation},
                                      {declared_as("mine/output", "attention/output"), recorded_attention}});
  if (count > 1 && std::string_view(arguments[1]) == "large") {
    benchmarks::compare_large(owner, 2, "attention/output",
                              {{"B", 1}, {"h", 1}, {"n", 2048}, {"m", 2048}, {"d", 64}, {"e", 64}});
    benchmarks::compare_large(owner, 0, "rope/rotate", {{"B", 1}, {"n", 1024}, {"h", 16}, {"d", 64}});
    return 0;
  }
  const std::size_t n = small ? 4 : 192;
  const int runs = small ? 1 : 9;
  fmt::print("{:22} {:>17} {:>17}\n", "f32", "two doubles", "law");
  const assay::core::axis_sizes tokens{{"B", 1}, {"n", n}, {"h", 8}, {"d", 64}};
  benchmarks::compare(owner, 0, "rope/rotate", tokens, runs);
  benchmarks::compare(owner, 1, "rope/rotate:vjp", tokens, runs);
  const assay::core::axis_sizes heads{{"B", 1}, {"h", 2}, {"n", n}, {"m", n}, {"d", 64}, {"e", 64}};
  benchmarks::compare(owner, 2, "attention/output", heads, runs);
  benchmarks::compare(owner, 3, "attention/output:vjp", heads, runs);
}
