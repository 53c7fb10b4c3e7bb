#include "tools/report/snippet.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "golden/formats/number_text.hpp"
#include "properties/harness/verdict.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {
namespace {

constexpr const char* program = R"(# Assay counterexample: {summary}
# Property: {property}. {message}
# Runs with python3 and NumPy. Put the call of your own function into `yours`.
import numpy as np


def tensor(dtype, shape, *values):
    return np.array([float.fromhex(x) for x in values], dtype=dtype).reshape(shape)


inputs = {{
{inputs}}}
settings = {{{settings}}}
expected = {{  # the certified truth, rounded once
{expected}}}
recorded = {{  # what the candidate gave, where that is known
{recorded}}}


def yours({parameters}**settings):
    return recorded  # put your call here: a dictionary of the outputs by name


for name, got in yours(**inputs, **settings).items():
    if name not in expected:
        continue
    print(f"{{name}} expected\n{{expected[name]}}\n{{name}} got\n{{got}}")
    with np.errstate(all="ignore"):
        difference = np.abs(np.asarray(got, dtype=np.float64) - expected[name])
    print(f"{{name}} largest difference {{np.max(difference, initial=0.0)}}")
)";

const char* numpy_name(core::dtype type) {
  switch (type) {
    case core::dtype::f64:
      return "float64";
    case core::dtype::f16:
      return "float16";
    case core::dtype::i64:
      return "int64";
    case core::dtype::i32:
      return "int32";
    case core::dtype::boolean:
      return "bool";
    default:
      return "float32";
  }
}

std::string entries(const core::tensors& all) {
  std::string text;
  for (const auto& [name, t] : all) {
    std::string shape, values;
    for (const std::size_t size : t.shape()) shape += fmt::format("{}, ", size);
    for (const double x : t.values.storage()) values += fmt::format(", \"{}\"", formats::number_text(x));
    text += fmt::format("    \"{}\": tensor(np.{}, ({}){}),\n", name, numpy_name(t.type), shape, values);
  }
  return text;
}

// Text in a comment: one line.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char x) { return x == '\n' || x == '\r'; }, ' ');
  return text;
}

}  // namespace

bool is_too_large_to_show(const core::tensors& all) {
  constexpr std::size_t most_elements = 16384;
  std::size_t elements = 0;
  for (const auto& [name, t] : all) elements += core::element_count(t.shape());
  return elements > most_elements;
}

std::string python_snippet(const properties::check_result& c) {
  ASSAY_EXPECTS(c.found.has_value());
  const properties::request& call = c.found->minimal.call;
  if (is_too_large_to_show(call.inputs) || is_too_large_to_show(c.found->shown.expected))
    return fmt::format(
        "# Assay counterexample: {}\n# Property: {}. {}\n"
        "print(\"The tensors of this case are too large for a text. {} holds the inputs: assay replay runs it.\")\n",
        summary(c.found->minimal), c.checked->name, one_line(c.found->shown.message), counterexample_name(c));
  core::tensors expected, recorded;
  // The dtype's own arithmetic: the truth does not depend on it.
  for (const auto& [name, proved] : properties::expect(call, call.type)->truth) {
    expected.emplace(name, proved.rounded);
    const auto given = c.found->shown.actual.find(name);
    if (given != c.found->shown.actual.end() && given->second.shape() == proved.rounded.shape())
      recorded.emplace(name, given->second);
  }
  std::string parameters;
  for (const auto& d : call.operation->inputs) parameters += d.name + ", ";
  std::string settings;
  for (const auto& [name, value] : call.attributes) {
    const auto* flag = std::get_if<bool>(&value);
    settings += fmt::format("{}\"{}\": {}", settings.empty() ? "" : ", ", name,
                            flag ? (*flag ? "True" : "False") : core::to_string(value));
  }
  return fmt::format(fmt::runtime(program), fmt::arg("summary", summary(c.found->minimal)),
                     fmt::arg("property", c.checked->name), fmt::arg("message", one_line(c.found->shown.message)),
                     fmt::arg("settings", settings), fmt::arg("inputs", entries(call.inputs)),
                     fmt::arg("expected", entries(expected)), fmt::arg("recorded", entries(recorded)),
                     fmt::arg("parameters", parameters));
}

std::string snippet_name(const properties::check_result& c) {
  const std::string name = counterexample_name(c);
  return name.substr(0, name.rfind('.')) + ".py";
}

}  // namespace assay::tools
