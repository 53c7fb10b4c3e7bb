// The example candidates answer through the process transport, and are roughly right: a smoke test, not a gate.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include "tools/transports/process.hpp"

namespace {

using namespace assay;
using core::tensors;

constexpr double roughly = 1e-3;

const core::operation& declaration(const std::string& name) {
  static const core::tensor_declaration h{"h", {"B", "n", "d"}}, s0{"s0", {"B", "d"}}, s{"s", {"B", "n", "d"}},
      s_n{"s_n", {"B", "d"}};
  static const std::vector<core::operation> forward{
      {.name = "heinsen/scan", .inputs = {{"log_p", {"B", "n", "d"}}, h, s0}, .outputs = {s, s_n}},
      {.name = "heinsen/gated_scan", .inputs = {{"g", {"B", "n", "d"}}, h, s0}, .outputs = {s, s_n}},
      {.name = "heinsen/embed_position",
       .inputs =
           {{"x", {"B", "n", "e"}}, {"W_H", {"2d", "e"}}, {"b_H", {"2d"}}, {"W_R", {"e", "d"}}, {"b_R", {"e"}}, s0},
       .outputs = {{"y", {"B", "n", "e"}}, s_n}}};
  static const std::vector<core::operation> all = [] {
    std::vector<core::operation> both = forward;
    for (const auto& op : forward) both.push_back(core::vjp_of(op));
    return both;
  }();
  return *std::find_if(all.begin(), all.end(), [&](const auto& op) { return op.name == name; });
}

// Some values in [-3, 0], all different.
tensors inputs_of(const core::operation& op, core::dtype type, const core::axis_sizes& sizes) {
  tensors inputs;
  double next = 0.0;
  for (const auto& declared : op.inputs) {
    core::tensor t = core::zeros(type, core::shape_of(declared, sizes));
    for (double& x : t.values.storage()) x = core::round_to(type, -3 * std::fmod(next += 0.618034, 1.0));
    inputs[declared.name] = std::move(t);
  }
  return inputs;
}

// s and s_n of the recurrence X_i = p_i X_{i-1} + e^{h_i}, X = e^s, in long double.
tensors expected_states(const tensors& in, const core::tensor& log_p) {
  tensors out{{"s", in.at("h")}, {"s_n", in.at("s0")}};
  const core::shape shape = log_p.shape();
  for (std::size_t b = 0; b < shape[0]; ++b)
    for (std::size_t f = 0; f < shape[2]; ++f) {
      long double x = std::exp(static_cast<long double>(in.at("s0").values(b, f)));
      for (std::size_t i = 0; i < shape[1]; ++i) {
        x = std::exp(static_cast<long double>(log_p.values(b, i, f))) * x +
            std::exp(static_cast<long double>(in.at("h").values(b, i, f)));
        out["s"].values(b, i, f) = static_cast<double>(std::log(x));
      }
      if (shape[1] > 0) out["s_n"].values(b, f) = static_cast<double>(std::log(x));
    }
  return out;
}

double largest_difference(const core::tensor& a, const core::tensor& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(a.values.data()[i] - b.values.data()[i]);
    if (!(difference <= largest)) largest = difference;  // NaN is the largest
  }
  return largest;
}

tensors answer(transports::process_candidate& candidate, const std::string& name, core::dtype type,
               const tensors& inputs) {
  auto result = candidate.evaluate({&declaration(name), type, inputs});
  INFO(name << ": " << (result ? "" : result.error().message) << candidate.stderr_tail());
  REQUIRE(result.has_value());
  return std::move(*result);
}

void check_states(transports::process_candidate& candidate, core::dtype type, const core::axis_sizes& sizes) {
  for (const std::string name : {"heinsen/scan", "heinsen/gated_scan"}) {
    const tensors in = inputs_of(declaration(name), type, sizes);
    core::tensor log_p = in.begin()->second;  // "g"
    if (name == "heinsen/scan")
      log_p = in.at("log_p");
    else
      for (double& g : log_p.values.storage()) g = -std::log1p(std::exp(-g));
    const tensors expected = expected_states(in, log_p);
    const tensors got = answer(candidate, name, type, in);
    INFO(name);
    for (const auto& [output, t] : expected) CHECK(largest_difference(got.at(output), t) < roughly);
  }
}

// <grad, J v> by central differences of the candidate's own f64 forward function, compared with <J^T grad, v>.
void check_vjp(transports::process_candidate& candidate, const std::string& name, const core::axis_sizes& sizes) {
  const tensors in = inputs_of(declaration(name + ":vjp"), core::dtype::f64, sizes);
  const auto along = [&](double step) {
    tensors moved;
    for (const auto& declared : declaration(name).inputs) {
      moved[declared.name] = in.at(declared.name);
      double sign = 1.0;
      for (double& x : moved[declared.name].values.storage()) x += step * (sign = -0.9 * sign);
    }
    double sum = 0.0;
    for (const auto& [output, t] : answer(candidate, name, core::dtype::f64, moved))
      for (std::size_t i = 0; i < t.size(); ++i) sum += t.values.data()[i] * in.at("grad_" + output).values.data()[i];
    return sum;
  };
  double product = 0.0;
  for (const auto& [gradient, t] : answer(candidate, name + ":vjp", core::dtype::f64, in)) {
    double sign = 1.0;
    for (std::size_t i = 0; i < t.size(); ++i) product += t.values.data()[i] * (sign = -0.9 * sign);
  }
  constexpr double step = 1e-5;
  INFO(name << ":vjp");
  CHECK(std::fabs((along(step) - along(-step)) / (2 * step) - product) < roughly);
}

void check_example(const std::string& script, const std::string& module) {
  // This version of the test framework cannot skip; CTest recognises the words.
  if (std::system(("/usr/bin/python3 -c 'import " + module + "' 2>/dev/null").c_str()) != 0) {
    WARN("skipped because /usr/bin/python3 has no " << module);
    return;
  }
  auto started = transports::process_candidate::start({"/usr/bin/python3", ASSAY_EXAMPLES "/" + script}, script);
  INFO((started ? "" : started.error().message));
  REQUIRE(started.has_value());
  transports::process_candidate& candidate = **started;
  const core::axis_sizes all_sizes[] = {
      {{"B", 2}, {"n", 40}, {"d", 3}, {"e", 5}}, {{"B", 1}, {"n", 1}, {"d", 1}, {"e", 1}},
      {{"B", 2}, {"n", 0}, {"d", 3}, {"e", 5}},  {{"B", 0}, {"n", 3}, {"d", 3}, {"e", 5}},
      {{"B", 2}, {"n", 3}, {"d", 0}, {"e", 5}},  {{"B", 2}, {"n", 3}, {"d", 3}, {"e", 0}}};
  for (const core::axis_sizes& sizes : all_sizes) {
    INFO("B " << sizes.at("B") << ", n " << sizes.at("n") << ", d " << sizes.at("d") << ", e " << sizes.at("e"));
    for (const core::dtype type : {core::dtype::f32, core::dtype::f64}) {
      check_states(candidate, type, sizes);
      const auto& embed = declaration("heinsen/embed_position");
      answer(candidate, embed.name, type, inputs_of(embed, type, sizes));
    }
    for (const std::string name : {"heinsen/scan", "heinsen/gated_scan", "heinsen/embed_position"})
      if (candidate.describe().offers(name + ":vjp", core::dtype::f64)) check_vjp(candidate, name, sizes);
  }
  CHECK(candidate.restarts() == 0);
}

}  // namespace

TEST_CASE("examples/torch_step_loop") { check_example("torch_step_loop.py", "torch"); }
TEST_CASE("examples/torch_cumsum") { check_example("torch_cumsum.py", "torch"); }
TEST_CASE("examples/numpy_step_loop") { check_example("numpy_step_loop.py", "numpy"); }
