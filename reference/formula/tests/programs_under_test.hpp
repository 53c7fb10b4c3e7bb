// Programs written as text, and their gradients computed in two ways.
#pragma once

#include <catch2/catch.hpp>

#include "reference/core/counter_random.hpp"
#include "reference/formula/differentiate.hpp"
#include "reference/formula/interpreter.hpp"
#include "reference/formula/text.hpp"
#include "reference/readings/all.hpp"

namespace assay::reference::formula {

using numbers_by_name = std::map<std::string, std::vector<double>>;

inline program program_from(const std::string& nodes, const std::string& outputs) {
  auto p = read_program(R"({"schema": "assay-program/1", "nodes": [)" + nodes + R"(], "outputs": [)" + outputs + "]}");
  INFO(nodes << ": " << (p ? std::string() : p.error().message));
  REQUIRE(p.has_value());
  return *p;
}
/// A program whose last node is the output y.
inline program program_of(const std::string& nodes) {
  const auto last = std::count(nodes.begin(), nodes.end(), '{') - 1;
  return program_from(nodes, R"({"name": "y", "node": )" + std::to_string(last) + "}");
}

inline std::string real_input(const std::string& name, const std::string& shape) {
  return R"({"op": "input", "name": ")" + name + R"(", "kind": "real", "shape": )" + shape + "}";
}
inline std::string integer_input(const std::string& name, const std::string& shape) {
  return R"({"op": "input", "name": ")" + name + R"(", "kind": "integer", "shape": )" + shape + "}";
}

inline program gradient_of(const program& p) {
  auto g = differentiate(p);
  INFO((g ? std::string() : g.error().message));
  REQUIRE(g.has_value());
  const auto again = read_program(to_text(*g));
  REQUIRE(again.has_value());
  CHECK(to_text(*again) == to_text(*g));
  return *g;
}

template <class R>
typename interpreter<R>::arrays inputs_of(const program& p, const numbers_by_name& x) {
  typename interpreter<R>::arrays in;
  for (const node_id k : p.inputs()) {
    const std::vector<double>& values = x.at(p.nodes()[k].text);
    if (p.type_of(k).kind == number_kind::integer)
      in.emplace(p.nodes()[k].text, integers(values.begin(), values.end()));
    else
      in.emplace(p.nodes()[k].text, reals<R>(values.begin(), values.end()));
  }
  return in;
}

/// The values of the real outputs.
template <class R>
std::map<std::string, std::vector<R>> evaluated(const program& p, const numbers_by_name& x) {
  const auto in = inputs_of<R>(p, x);
  std::map<std::string, std::vector<R>> all;
  for (auto& [name, values] : interpreter<R>(p, in).run())
    if (auto* r = std::get_if<reals<R>>(&values)) all.emplace(name, std::move(*r));
  return all;
}

/// The gradients by dual numbers, input by input, from the cotangents grad_NAME.
inline std::map<std::string, std::vector<value>> by_tangents(const program& p, const numbers_by_name& x) {
  auto in = inputs_of<tangent>(p, x);
  std::map<std::string, std::vector<value>> all;
  for (auto& [name, values] : in) {
    auto* const numbers = std::get_if<reals<tangent>>(&values);
    if (numbers == nullptr) continue;
    std::vector<value>& slopes = all["grad_" + name];
    for (tangent& number : *numbers) {
      number.derivative = value(1.0);
      value sum(0.0);
      for (const auto& [output, made] : interpreter<tangent>(p, in).run())
        if (const auto* y = std::get_if<reals<tangent>>(&made))
          for (std::size_t k = 0; k < y->size(); ++k) sum = sum + (*y)[k].derivative * value(x.at("grad_" + output)[k]);
      slopes.push_back(sum);
      number.derivative = value(0.0);
    }
  }
  return all;
}

/// The largest distance of the ends of an interval from a number.
inline double furthest_from(const value& x, const enclosure& enclosed) {
  double most = 0.0;
  for (const auto end : {enclosed.low(), enclosed.high()}) {
    value y;
    mpfr_set(y.number.backend().data(), end, MPFR_RNDN);
    most = std::max(most, std::fabs((y - x).to_double()));
  }
  return most;
}

/// Checks that the gradient of a program encloses the results of dual numbers, and is not wide.
inline void has_slopes_of_dual_numbers(const program& gradient, const program& p, const numbers_by_name& x) {
  const auto own = evaluated<enclosure>(gradient, x);
  const auto slopes = by_tangents(p, x);
  REQUIRE(own.size() == slopes.size());
  for (const auto& [name, values] : slopes) {
    REQUIRE(own.at(name).size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      INFO(name << " " << i << ": " << to_double(own.at(name)[i]) << ", dual " << values[i].to_double());
      CHECK(furthest_from(values[i], own.at(name)[i]) <= 1e-25);
    }
  }
}

/// Numbers between 0.3 and 1.7 in a random order, all different; integers from 0 to 2.
inline numbers_by_name drawn_inputs(const program& p, std::uint64_t seed) {
  core::counter_random random(seed);
  numbers_by_name all;
  for (const node_id k : p.inputs()) {
    std::vector<double>& x = all[p.nodes()[k].text];
    const bool is_real = p.type_of(k).kind == number_kind::real;
    for (std::size_t i = 0; i < elements_of(p.type_of(k).shape); ++i)
      x.push_back(is_real ? 0.3 + 1.4 / (1 + std::exp(-random.normal())) : static_cast<double>((seed + 2 * i) % 3));
  }
  return all;
}

}  // namespace assay::reference::formula
