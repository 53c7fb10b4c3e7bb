// The roles of axes and inputs: of every operation of the list, and of an operation whose axes and inputs have other
// names.
#include <catch2/catch.hpp>

#include "reference/oracle.hpp"

using namespace assay;
using namespace assay::core;

namespace {

const value_domain anywhere{};

operation with_other_names() {
  return {.name = "other/turn",
          .inputs = {{.name = "u", .axes = {"R", "t", "2c"}},
                     integers("where", {"R", "t"}, "", anywhere, input_role::position),
                     parameter("angle", {"c"}, "")},
          .outputs = {{.name = "w", .axes = {"R", "t", "2c"}}},
          .grows_with = with_position,
          .independent = {"R", "t"},
          .axis_roles = {{"R", axis_role::batch}, {"t", axis_role::token}, {"c", axis_role::pairs}}};
}

operation pairs_operation() {
  return {.name = "other/bias",
          .inputs = {integers("of_key", {"s"}, "", anywhere, input_role::position),
                     integers("of_query", {"t"}, "", anywhere, input_role::position)},
          .outputs = {{.name = "w", .axes = {"t", "s"}}},
          .grows_with = with_distance,
          .axis_roles = {{"t", axis_role::token}, {"s", axis_role::key}}};
}

tensor numbers(const std::vector<double>& x) { return make_tensor(dtype::i64, {x.size()}, x); }

}  // namespace

TEST_CASE("core/roles/every_operation_has_them", "[unit]") {
  for (const operation& op : reference::operations()) {
    INFO(op.name);
    CHECK_NOTHROW(check_roles(op));
    // Where errors grow with positions or distances, the operation has such inputs; where they grow with tokens or
    // keys, it has such an axis.
    if (!op.grows_with) continue;
    if (op.grows_with->along) CHECK(!axis_with(op, *op.grows_with->along).empty());
    if (!op.grows_with->along) CHECK(places_of(op).own != nullptr);
    if (op.grows_as(with_distance))
      CHECK((places_of(op).key != nullptr || places_of(op).own->role == input_role::distance));
  }
}

TEST_CASE("core/roles/follow_from_declarations_not_from_names", "[unit]") {
  const operation op = with_other_names(), vjp = vjp_of(op);
  CHECK(role_of(op, "2c") == axis_role::pairs);
  CHECK(axis_with(op, axis_role::token) == "t");
  CHECK(axis_with(op, axis_role::key).empty());
  CHECK(sizes_by_role(op, {{axis_role::batch, 2}, {axis_role::pairs, 3}, {axis_role::head, 4}}) ==
        axis_sizes{{"R", 2}, {"c", 3}});
  CHECK(integer_positions(op)->name == "where");
  CHECK_NOTHROW(check_roles(vjp));
  CHECK(axis_with(vjp, axis_role::token) == "t");
  CHECK(vjp.input("grad_w")->role == input_role::cotangent);
  CHECK(jvp_of(op).input("tangent_u")->role == input_role::tangent);
  const tensors inputs{{"where", make_tensor(dtype::i64, {1, 3}, {5, -9, 2})}};
  CHECK(op.grows_with->value(op, inputs, {}) == 9);
  CHECK(with_tokens.value(op, inputs, {{"t", 3}}) == 3);
  CHECK(with_tokens.words(op, 3) == "t = 3");
}

TEST_CASE("core/roles/a_position_is_of_queries_or_of_keys_as_its_axis_says", "[unit]") {
  const operation op = pairs_operation();
  CHECK_NOTHROW(check_roles(op));
  CHECK(places_of(op).own->name == "of_query");
  CHECK(places_of(op).key->name == "of_key");
  CHECK(integer_positions(op) == nullptr);
  CHECK(with_distance.value(op, {{"of_query", numbers({4, 7})}, {"of_key", numbers({1, 30})}}, {}) == 26);
}

TEST_CASE("core/roles/declared_axes_may_be_several_of_tokens_or_none", "[unit]") {
  const auto refused = [](operation op, auto change) {
    CHECK_NOTHROW(check_roles(op));
    change(op);
    CHECK_THROWS_AS(check_roles(op), contract_violation);
  };
  const operation windows{
      .name = "other/windows",
      .inputs = {{.name = "u", .axes = {"R", "y", "x", "c"}},
                 integers("row", {"y"}, "", anywhere, input_role::position),
                 parameter("bias", {"y", "x"}, "")},
      .axis_roles = {
          {"R", axis_role::batch}, {"y", axis_role::token}, {"x", axis_role::token}, {"c", axis_role::width}}};
  CHECK(axis_with(windows, axis_role::token) == "y");
  CHECK(axis_with(vjp_of(windows), axis_role::token) == "y");
  CHECK(size_with(windows, {{"y", 5}, {"x", 7}}, axis_role::token) == 5);
  CHECK(sizes_by_role(windows, {{axis_role::token, 6}}) == axis_sizes{{"x", 6}, {"y", 6}});
  refused(windows, [](operation& op) {  // axes "n" and "y", but no role is declared for "n"
    op.inputs[0].axes[2] = op.inputs[2].axes[1] = "n";
    op.axis_roles.erase("x");
  });
  refused(windows, [](operation& op) { op.inputs[1].axes = {"y", "x"}; });
  refused(windows, [](operation& op) { op.inputs[1].axes = {"c"}; });
  refused(windows, [](operation& op) { op.inputs[2].axes = {"R", "y", "x"}; });
  refused(windows, [](operation& op) { op.inputs[2] = parameter("bias", {"n"}, ""); });

  const operation step{
      .name = "other/step",
      .inputs = {{.name = "q", .axes = {"R", "c"}}, integers("at", {"R"}, "", anywhere, input_role::position)},
      .axis_roles = {{"R", axis_role::batch}, {"c", axis_role::width}}};
  CHECK(axis_with(step, axis_role::token).empty());
  CHECK(size_with(step, {{"R", 3}}, axis_role::token) == 1);
  CHECK(places_of(step).own->name == "at");
  refused(step, [](operation& op) { op.axis_roles.erase("R"), op.inputs[0].axes[0] = op.inputs[1].axes[0] = "B"; });
  refused(step, [](operation& op) {
    op.inputs.push_back({.name = "u", .axes = {"t"}}), op.axis_roles["t"] = axis_role::token;
  });
  refused(step, [](operation& op) { op.inputs.push_back({.name = "bias", .axes = {"c"}}); });

  operation one_row = step;
  one_row.inputs[0].axes = {"c"};
  one_row.inputs[1].axes = {};
  refused(one_row, [](operation& op) { op.inputs[0].axes = {"d"}; });
}

// A formula that a program reads from a file declares both when the program starts.
TEST_CASE("core/roles/an_operation_owns_what_its_errors_grow_with_and_its_rule", "[unit]") {
  const auto made_here = [](const std::string& unit, std::size_t most) {
    operation op = with_other_names();
    op.grows_with = error_growth{.quantity = "largest number of a " + unit, .value_words = unit + " {}"};
    op.conflict = [most, unit](const attributes&, const axis_sizes& sizes) {
      return sizes.at("t") > most ? "more of a " + unit + " than " + std::to_string(most) : "";
    };
    return op;
  };
  std::vector<operation> copies{vjp_of(made_here("turn of many words", 2)), jvp_of(made_here("page", 3))};
  copies.push_back(copies.front());
  copies.erase(copies.begin());
  CHECK(copies.back().grows_with->words(copies.back(), 3) == "turn of many words 3");
  CHECK(copies.back().conflict({}, {{"t", 3}}) == "more of a turn of many words than 2");
  CHECK(copies.front().grows_as(*made_here("page", 1).grows_with));
  CHECK_FALSE(copies.front().grows_as(with_position));
  CHECK(conflict_within(copies.front(), {}, {{"t", {4, 5}}}) == "more of a page than 3");
  CHECK(conflict_within(copies.front(), {}, {{"t", {3, 5}}}).empty());
}

TEST_CASE("core/roles/what_is_missing_is_a_contract_violation", "[unit]") {
  const auto refused = [](auto change) {
    operation op = with_other_names();
    change(op);
    CHECK_THROWS_AS(check_roles(op), contract_violation);
  };
  refused([](operation& op) { op.axis_roles.erase("c"); });
  refused([](operation& op) { op.axis_roles["R"] = axis_role::token; });
  refused([](operation& op) { op.inputs[1].axes = {"R", "c"}; });
  refused([](operation& op) { op.inputs[2].role = input_role::value; });
  refused([](operation& op) { op.inputs[0].role = input_role::parameter; });
}
