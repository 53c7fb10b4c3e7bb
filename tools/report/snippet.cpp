#include "tools/report/snippet.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "golden/formats/number_text.hpp"
#include "golden/proof.hpp"
#include "properties/harness/verdict.hpp"
#include "reference/error_bound.hpp"
#include "tools/report/escape.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {
namespace {

constexpr const char* program = R"(# Assay counterexample: {summary}
# Property: {property}. {message}
# Runs with python3 and NumPy. Put the call of your own function into `yours`.
# Exit codes: {codes}.
import sys

import numpy as np


def tensor(dtype, shape, *values):
    return np.array([float.fromhex(x) for x in values], dtype=dtype).reshape(shape)


inputs = {{
{inputs}}}
settings = {{{settings}}}
expected = {{  # the certified truth, rounded once
{expected}}}
allowed = {{  # how far an element may be off: what rounding explains
{allowed}}}
recorded = {{  # what the candidate gave, where that is known
{recorded}}}


def yours({parameters}**settings):
    return recorded  # put your call here: a dictionary of the outputs by name


given = yours(**inputs, **settings)
is_wrong = False
for name, truth in expected.items():
    if name not in given or np.shape(given[name]) != truth.shape:
        print(f"{{name}}: there is no output of the shape {{truth.shape}}")
        is_wrong = True
        continue
    got = np.asarray(given[name], dtype=np.float64)
    with np.errstate(all="ignore"):
        difference = np.abs(got - truth)
        right = (got == truth) | (np.isnan(got) & np.isnan(truth)) | (difference <= allowed[name])
    print(f"{{name}} expected\n{{truth}}\n{{name}} got\n{{given[name]}}")
    print(f"{{name}} largest difference {{np.max(difference, initial=0.0)}}")
    print(f"{{name}}: {{np.sum(~right)}} of {{right.size}} elements are wrong")
    is_wrong = is_wrong or not right.all()
{end}
)";

// A property that compares with the truth makes this call; other properties make their own calls from it.
constexpr const char* codes_of_value = "1 where the fault is still there, 0 where it is mended";
constexpr const char* end_of_value = "sys.exit(1 if is_wrong else 0)";
constexpr const char* codes_of_other =
    "1 where these outputs are wrong, 2 where they are right: then only assay replay can tell";
constexpr const char* end_of_other = R"(if not is_wrong:
    print("These outputs are right. The property makes other calls from this one; to run them:", {replay})
sys.exit(1 if is_wrong else 2))";

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

// The error that the elements of an output may have, relative to the rounded truth.
core::tensor allowed_of(const properties::expectation& e, const reference::allowances& laws, const std::string& name) {
  const reference::certified& truth = e.truth.at(name);
  const auto& k = laws.at(name).k[reference::accuracy_classes.size() - 1];
  const core::dtype storage = truth.rounded.type;
  core::tensor allowed = core::zeros(core::dtype::f64, truth.rounded.shape());
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    const double bound = reference::bug_bound(storage, e.compute.unit(), k.storage()[i], truth.truth(i));
    allowed.values.storage()[i] = golden::largest_distance(storage, truth.rounded.values.storage()[i],
                                                           truth.low.storage()[i], bound + truth.radius.storage()[i]);
  }
  return allowed;
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

std::string python_snippet(const gate_report& r, const properties::check_result& c) {
  ASSAY_EXPECTS(c.found.has_value());
  const properties::request& call = c.found->minimal.call;
  if (is_too_large_to_show(call.inputs) || is_too_large_to_show(c.found->shown.expected))
    return fmt::format(
        "# Assay counterexample: {}\n# Property: {}. {}\nimport sys\n\n"
        "print(\"The tensors of this case are too large for a text. {} holds the inputs: assay replay runs it.\")\n"
        "sys.exit(2)\n",
        summary(c.found->minimal), c.checked->name, one_line(c.found->shown.message), counterexample_name(c));
  core::tensors expected, allowed, recorded;
  const auto e = properties::expect(call, r.candidate.precisions_of(call));
  const auto laws = properties::all_laws(*e);
  for (const auto& [name, proved] : e->truth) {
    expected.emplace(name, proved.rounded);
    allowed.emplace(name, allowed_of(*e, *laws, name));
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
  const bool decides = c.checked->decides_class;
  const std::string replay = nlohmann::json(plain(replay_command(r, c))).dump();  // this is a Python string too
  return fmt::format(
      fmt::runtime(program), fmt::arg("summary", summary(c.found->minimal)), fmt::arg("property", c.checked->name),
      fmt::arg("message", one_line(c.found->shown.message)), fmt::arg("settings", settings),
      fmt::arg("inputs", entries(call.inputs)), fmt::arg("expected", entries(expected)),
      fmt::arg("recorded", entries(recorded)), fmt::arg("allowed", entries(allowed)),
      fmt::arg("parameters", parameters), fmt::arg("codes", decides ? codes_of_value : codes_of_other),
      fmt::arg("end", decides ? end_of_value : fmt::format(fmt::runtime(end_of_other), fmt::arg("replay", replay))));
}

std::string snippet_name(const properties::check_result& c) {
  const std::string name = counterexample_name(c);
  return name.substr(0, name.rfind('.')) + ".py";
}

}  // namespace assay::tools
