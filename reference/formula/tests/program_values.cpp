// Prints what the second reader of programs (golden/second_oracle/program.py) prints, computed by this engine:
//
//   program_values PROGRAM.json INPUTS.json DTYPE
//   program_values                               lines {"program": {...}, "inputs": {...}, "dtype": "f32"} of stdin
//
// A line with "gradient": true asks for the gradient, and its inputs have grad_NAME for every real output.
// Prints {"y": {"shape": [2], "values": ["0x1p+0", null]}}, with null where no precision decides. The exit code is 2
// where it refuses, and 3 where an element is undecided. For each line it prints {"outputs": {...}} or {"refused":
// "why"}.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reference/formula/differentiate.hpp"
#include "reference/formula/evaluate.hpp"
#include "reference/formula/text.hpp"

namespace {

using namespace assay;
using namespace assay::reference;
using nlohmann::json;

std::string hexadecimal(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%a", x);
  return text;
}

core::result<double> number_from(const json& j) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (j.is_number()) return j.get<double>();
  if (j.is_boolean()) return j.get<bool>() ? 1.0 : 0.0;
  if (j == "inf") return infinity;
  if (j == "-inf") return -infinity;
  if (j == "nan") return std::numeric_limits<double>::quiet_NaN();
  return core::failure("no number: " + j.dump());
}

core::result<core::tensors> inputs_from(const json& j) {
  core::tensors all;
  for (const auto& [name, entry] : j.items()) {
    const auto shape = entry.at("shape").get<core::shape>();
    core::tensor t = core::unwritten(core::dtype::f64, shape);
    if (entry.at("values").size() != t.size()) return core::failure(name + " has another number of elements");
    for (std::size_t i = 0; i < t.size(); ++i) {
      const auto x = number_from(entry["values"][i]);
      if (!x) return tl::make_unexpected(x.error());
      t.values.storage()[i] = *x;
    }
    all.emplace(name, std::move(t));
  }
  return all;
}

json element(const certified& c, std::size_t i) {
  if (c.rung[i] == undecided) return nullptr;
  const double x = c.rounded.values.storage()[i];
  if (c.rounded.type == core::dtype::boolean) return x != 0.0;
  if (c.rounded.type == core::dtype::i64) return static_cast<std::int64_t>(x);
  return hexadecimal(x);
}

core::result<json> outputs_of(const std::string& program_text, const json& inputs, const std::string& dtype,
                              bool wants_gradient) {
  const auto type = core::dtype_named(dtype);
  if (!type || !core::is_floating(*type)) return core::failure("no dtype: " + dtype);
  auto p = formula::read_program(program_text);
  if (p && wants_gradient) p = formula::differentiate(*p);
  if (!p) return tl::make_unexpected(p.error());
  const auto numbers = inputs_from(inputs);
  if (!numbers) return tl::make_unexpected(numbers.error());
  const auto truth = formula::certify(*p, *numbers, *type);
  if (!truth) return tl::make_unexpected(truth.error());
  json out = json::object();
  for (const auto& [name, c] : *truth) {
    json values = json::array();
    for (std::size_t i = 0; i < c.rung.size(); ++i) values.push_back(element(c, i));
    out[name] = {{"shape", c.rounded.shape()}, {"values", std::move(values)}};
  }
  return out;
}

std::string text_of(const char* path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int answer_lines() {
  for (std::string line; std::getline(std::cin, line);) {
    const json j = json::parse(line);
    const auto out = outputs_of(j.at("program").dump(), j.at("inputs"), j.at("dtype"), j.value("gradient", false));
    std::cout << (out ? json{{"outputs", *out}} : json{{"refused", out.error().message}}) << std::endl;
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 1) return answer_lines();
  if (count != 4) return 2;
  const auto out = outputs_of(text_of(words[1]), json::parse(text_of(words[2])), words[3], false);
  if (!out) std::cerr << out.error().message << "\n";
  if (!out) return 2;
  std::cout << *out << "\n";
  for (const auto& [name, t] : out->items())
    for (const json& x : t["values"])
      if (x.is_null()) return 3;
  return 0;
}
