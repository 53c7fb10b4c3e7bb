#include "properties/laws/relations/relations.hpp"

#include <algorithm>

#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

bool is_in_scope(const law_scope& scope, const core::operation& op) {
  if (scope.with) return scope.with(op);
  return std::any_of(scope.operations.begin(), scope.operations.end(), [&](const std::string& name) {
    return name.ends_with('*') ? op.name.starts_with(name.substr(0, name.size() - 1)) : op.name == name;
  });
}

test_case changed(experiment& e, const change& edit) {
  auto other = edit(e.c);
  e.needs(other.has_value());
  return std::move(*other);
}

}  // namespace

property law(const char* name, const char* sentence, const law_scope& scope, statement what) {
  property p{name, sentence, [scope](const core::operation& op) { return is_in_scope(scope, op); },
             [says = std::move(what.says)](implementation& under_test, const test_case& c) {
               experiment e(under_test, c);
               outcome shown;
               try {
                 says(e);
                 shown = e.result();
               } catch (experiment::ended& end) {
                 shown = std::move(end.result);
               }
               shown.refused = e.refused();
               return shown;
             }};
  p.calls = what.calls;
  p.families = scope.families;
  p.of_mild_inputs = scope.of_mild_inputs;
  return p;
}

comparison all_elements() {
  return [](experiment& e, const measured_call& expected, const measured_call& actual, const std::string& what) {
    e.equal(expected, actual, what);
  };
}

comparison times(double factor) {
  return [factor](experiment& e, const measured_call& expected, const measured_call& actual, const std::string& what) {
    for (const auto& [name, t] : expected.outputs)
      for (std::size_t i = 0; i < t.size(); ++i)
        e.equal(element(expected, name, i), exactly(factor) * element(actual, name, i), "{}: {} element {}", what, name,
                i);
  };
}

statement agree_after(change edit, std::string what, comparison rule) {
  return agree_between(unchanged_case(), std::move(edit), std::move(what), std::move(rule));
}

statement agree_between(change one, change other, std::string what, comparison rule) {
  return {2, [one = std::move(one), other = std::move(other), what = std::move(what),
              rule = std::move(rule)](experiment& e) {
            const test_case first = changed(e, one), second = changed(e, other);
            const measured_call& expected = e.call(first);
            rule(e, expected, e.call(second), what);
          }};
}

statement agree_alone(std::string axis,
                      std::function<std::vector<std::size_t>(const test_case&, std::size_t size)> kept,
                      std::string what) {
  return {2, [axis = std::move(axis), kept = std::move(kept), what = std::move(what)](experiment& e) {
            const core::operation& op = *e.c.call.operation;
            const std::vector<std::size_t> positions = kept(e.c, sizes_of(e.c).at(axis));
            e.needs(!positions.empty());
            const measured_call& whole = e.call();
            const measured_call& alone =
                e.call(with_inputs(e.c, core::restrict_axis(op, e.c.call.inputs, axis, positions)));
            e.equal_along(axis, alone, every(positions.size()), whole, positions, experiment::without_axis::left_out,
                          what);
          }};
}

statement identical_after(change edit, std::string output, std::string what) {
  return agree_after(std::move(edit), std::move(what),
                     [output = std::move(output)](experiment& e, const measured_call& expected,
                                                  const measured_call& actual, const std::string& words) {
                       for (std::size_t i = 0; i < expected.outputs.at(output).size(); ++i)
                         e.equal(exactly(element(expected, output, i).value), exactly(element(actual, output, i).value),
                                 "{}: {} element {}", words, output, i);
                     });
}

change each_of(std::vector<std::string> inputs, std::function<double(const test_case&, double)> f) {
  return [inputs = std::move(inputs), f = std::move(f)](const test_case& c) -> std::optional<test_case> {
    test_case other = c;
    for (const std::string& name : inputs)
      for (double& x : other.call.inputs.at(name).values.storage())
        if (!c.call.operation->input(name)->domain.contains(x = f(c, x))) return std::nullopt;
    return other;
  };
}

change with(core::attributes settings) {
  return [settings = std::move(settings)](const test_case& c) -> std::optional<test_case> {
    return with_settings(c, settings);
  };
}

change unchanged_case() {
  return [](const test_case& c) -> std::optional<test_case> { return c; };
}

change then(change first, change second) {
  return [first = std::move(first), second = std::move(second)](const test_case& c) -> std::optional<test_case> {
    const auto once = first(c);
    return once ? second(*once) : std::nullopt;
  };
}

change where(std::function<bool(const test_case&)> holds, change edit) {
  return [holds = std::move(holds), edit = std::move(edit)](const test_case& c) -> std::optional<test_case> {
    return holds(c) ? edit(c) : std::nullopt;
  };
}

void fill_along(const core::operation& op, core::tensors& inputs, const std::string& name, const std::string& axis,
                const std::vector<std::size_t>& positions, double x) {
  core::tensor& t = inputs.at(name);
  for (const std::size_t i : taken(t.shape(), core::axis_of(*op.input(name), axis).value(), positions))
    t.values.storage()[i] = x;
}

bool has_elements(const test_case& c) {
  return std::all_of(c.call.inputs.begin(), c.call.inputs.end(), [](const auto& x) { return x.second.size() > 0; });
}

}  // namespace assay::properties
