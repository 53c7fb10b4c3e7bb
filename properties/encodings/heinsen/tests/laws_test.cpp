// When the laws of Heinsen's recurrence report that a case tells nothing.
#include <catch2/catch.hpp>
#include <map>

#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using core::dtype;

namespace {

/// One lane without decay, with equal inputs; a derivative has the cotangent 1 of every state.
test_case growing(const char* operation, dtype type, std::size_t tokens) {
  const core::operation* op = reference::find_operation(operation);
  const auto filled = [&](core::shape shape, double x) {
    return core::make_tensor(type, shape, std::vector<double>(core::element_count(shape), x));
  };
  test_case c{{op, type, {}, core::completed(*op, {})}, "mild", 0};
  const std::map<std::string, double> numbers{{"h", 8.0}, {"s0", -8.0}, {"log_p", 0.0}};
  for (const auto& d : op->inputs) {
    const auto number = numbers.find(d.name);
    c.call.inputs.emplace(d.name, filled(d.axes.size() == 3 ? core::shape{1, tokens, 1} : core::shape{1, 1},
                                         number == numbers.end() ? 1.0 : number->second));
  }
  return c;
}

status verdict(const char* law, const test_case& c) {
  return find_property(law)->check(*make_builtin("sequential").value(), c).verdict;
}

}  // namespace

// In bf16 the state after many tokens is known to no digit, and a step cannot be undone: the comparison could not have
// failed. In f64 with few tokens, all laws are informative.
TEST_CASE("heinsen/scan/laws_are_uninformative_where_nothing_could_have_failed", "[property][gate]") {
  struct example {
    const char *law, *operation;
    std::size_t few, many;
  };
  for (const auto& [law, operation, few, many] : {example{"final_state", "heinsen/scan", 4, 512},
                                                  {"inverse_step", "heinsen/scan", 4, 2},
                                                  {"conservation", "heinsen/scan:vjp", 2, 512},
                                                  {"final_state", "heinsen/scan:vjp", 2, 512}}) {
    INFO(law << " of " << operation);
    CHECK(verdict(law, growing(operation, dtype::bf16, many)) == status::uninformative);
    CHECK(verdict(law, growing(operation, dtype::f64, few)) == status::passed);
  }
}
