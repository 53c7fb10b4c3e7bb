#include "reference/operation_record.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "reference/readings/rounded.hpp"

using namespace assay;
using namespace assay::reference;

namespace {

struct no_scheme {};
using record = operation_record<rounded, no_scheme>;

fields<rounded> answer(double x) { return {{"y", field<rounded>(std::vector<std::size_t>{1}, rounded(x))}}; }
fields<rounded> forward(const arguments<rounded>&, const no_scheme&) { return answer(1.0); }
fields<rounded> backward(const arguments<rounded>&, const no_scheme&) { return answer(2.0); }
fields<rounded> along(const arguments<rounded>&, const no_scheme&) { return answer(3.0); }

/// Two operations; one of them has derivatives along a direction.
struct two_operations {
  template <class R>
  using scheme = no_scheme;
  template <class R>
  static std::vector<operation_record<R, no_scheme>> records() {
    return {{.declaration = {.name = "two/along", .inputs = {{.name = "x", .axes = {"n"}}}},
             .algorithms = one_algorithm,
             .forward = forward,
             .vjp = backward,
             .jvp = along},
            {.declaration = {.name = "two/smooth", .inputs = {{.name = "x", .axes = {"n"}}}},
             .algorithms = {accuracy_class::sequential, accuracy_class::cumsum},
             .forward = forward,
             .vjp = backward,
             .jvp = not_offered}};
  }
};

double result_of(const std::string& operation) {
  return evaluate<two_operations, rounded>({operation, {}}, {}).at("y").storage()[0].number;
}

// Each of these leaves one member out.
template <class Record>
constexpr bool without_forward = requires(core::operation d) {
  Record{.declaration = d, .algorithms = one_algorithm, .vjp = backward, .jvp = not_offered};
};
template <class Record>
constexpr bool without_vjp = requires(core::operation d) {
  Record{.declaration = d, .algorithms = one_algorithm, .forward = forward, .jvp = not_offered};
};
template <class Record>
constexpr bool without_jvp = requires(core::operation d) {
  Record{.declaration = d, .algorithms = one_algorithm, .forward = forward, .vjp = backward};
};
template <class Record>
constexpr bool without_algorithms = requires(core::operation d) {
  Record{.declaration = d, .forward = forward, .vjp = backward, .jvp = not_offered};
};
template <class Record>
constexpr bool complete = requires(core::operation d) {
  Record{.declaration = d, .algorithms = one_algorithm, .forward = forward, .vjp = backward, .jvp = not_offered};
};

}  // namespace

TEST_CASE("core/record/what_is_left_out_does_not_compile", "[unit]") {
  STATIC_REQUIRE(complete<record>);
  STATIC_REQUIRE_FALSE(without_forward<record>);
  STATIC_REQUIRE_FALSE(without_vjp<record>);
  STATIC_REQUIRE_FALSE(without_jvp<record>);
  STATIC_REQUIRE_FALSE(without_algorithms<record>);
}

TEST_CASE("core/record/an_operation_is_found_by_its_whole_name", "[unit]") {
  CHECK(result_of("two/along") == 1.0);
  CHECK(result_of("two/smooth") == 1.0);
  CHECK(result_of("two/smooth:vjp") == 2.0);
  CHECK(result_of("two/along:jvp") == 3.0);
  for (const char* unknown : {"two/smooth:jvp", "two/smooth:hessian", "two/smoot", "two/smooth2", ""})
    CHECK_THROWS_AS(result_of(unknown), core::contract_violation);
}

TEST_CASE("core/record/declares_the_derivatives_that_it_has", "[unit]") {
  std::vector<std::string> names;
  for (const auto& d : declared_operations<two_operations, rounded>()) names.push_back(d.declaration.name);
  CHECK(names ==
        std::vector<std::string>{"two/along", "two/along:vjp", "two/along:jvp", "two/smooth", "two/smooth:vjp"});
}

TEST_CASE("core/attributes/a_choice_that_is_not_there_throws", "[unit]") {
  const core::attributes settings{{"form", std::string("b")}};
  CHECK(core::chosen<int>(settings, "form", {{"a", 1}, {"b", 2}}) == 2);
  CHECK_THROWS_AS(core::chosen<int>(settings, "form", {{"a", 1}, {"c", 2}}), core::contract_violation);
}
