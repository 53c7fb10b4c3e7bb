// The measure `error` of every operation that declares with what its errors grow, for each of its algorithms.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "reference/oracle.hpp"
#include "tools/explore/cell_operation.hpp"
#include "tools/explore/measure.hpp"
#include "tools/explore/sweep.hpp"
#include "tools/explore/tests/callers.hpp"

using namespace assay;
using namespace assay::explore;

namespace {

// A cell for every operation, as in the preset `digits`.
std::vector<cell> each_cell(const std::string& sizes) {
  return cells_of(
             read_sweep("name = \"each\"\n[[grid]]\nmeasure = \"error\"\nimplementation = \"each\"\nfamily = \"each\"\n"
                        "arithmetic = [\"f32\", \"bf16\"]\nscale = 4\nsize = " +
                            sizes + "\n",
                        "each.toml")
                 .value())
      .value();
}

results measured(const cell& c) {
  const auto r = measure_cell(c, nobody);
  INFO((r ? "" : r.error().message));
  REQUIRE(r);
  return *r;
}

results found(const char* algorithm, const char* type, const char* operation, std::uint64_t size) {
  return measured({"error", algorithm, type, type, operation, 0, 1, size, 1});
}

}  // namespace

TEST_CASE("explore/operations/each_that_declares_what_its_errors_grow_with_is_asked_by_each_algorithm", "[unit]") {
  std::set<std::string> covered;
  for (const cell& c : each_cell("9"))
    covered.insert(fmt::format("{} {} {}", c.family, c.implementation, c.arithmetic));
  for (const core::operation& op : reference::operations())
    for (const char* type : {"f32", "bf16"})
      if (op.is_forward() && op.grows_with)
        for (const std::string& name : algorithm_names(op)) {
          INFO(op.name << " by " << name << " in " << type);
          CHECK(covered.contains(fmt::format("{} {} {}", op.name, name, type)));
        }
  CHECK(covered.contains("cope/positions cumsum bf16"));
  CHECK(covered.contains("cope/positions,open cumsum f32"));  // the family for long axes of keys
}

TEST_CASE("explore/operations/the_size_is_what_errors_grow_with_and_the_law_explains_them", "[property]") {
  for (const cell& c : each_cell("[9, 70]")) {
    INFO(text_of(c));
    const cell_operation what = cell_operation_of(c);
    const core::operation& op = *what.operation;
    const core::request call = call_growing_to_size(what, c);
    CHECK(op.grows_with->value(op, call.inputs, core::sizes_of(call)) == static_cast<double>(c.size));
    const results r = measured(c);
    CHECK(r.at("largest") <= r.at("law"));
    CHECK((r.at("law") > 0 || op.outputs.front().own_type));
  }
}

// The law of a class contains the laws before it. For CoPE's positions and for stick-breaking, sums from the query back
// keep the digits that a total minus a prefix loses.
TEST_CASE("explore/operations/digits_along_keys_by_algorithm", "[property]") {
  for (const char* operation : {"cope/positions", "sba/weights"})
    for (const char* type : {"f32", "bf16"}) {
      double narrower = 0;
      for (const std::string& name : algorithm_names(*reference::find_operation(operation))) {
        INFO(operation << " by " << name << " in " << type);
        const results few = found(name.c_str(), type, operation, 64), many = found(name.c_str(), type, operation, 4096);
        CHECK(few.at("law") < many.at("law"));
        CHECK(many.at("largest") <= many.at("law"));
        CHECK(narrower <= many.at("law"));
        narrower = many.at("law");
      }
    }
  const auto digits = [](const char* algorithm) {
    return found(algorithm, "f32", "cope/positions", 32768).at("digits");
  };
  CHECK(digits("sequential") > digits("cumsum") + 1);
}

TEST_CASE("explore/operations/what_is_no_algorithm_or_too_large_is_said", "[unit]") {
  const auto refused = [](const char* implementation, const char* operation, std::uint64_t size) {
    const auto checked = check_cell({"error", implementation, "f32", "f32", operation, 0, 1, size, 1});
    return checked ? std::string() : checked.error().message;
  };
  CHECK(refused("cumsum", "cope/positions", 1000000).empty());
  CHECK(refused("tree", "cope/positions", 64).find("no algorithm 'tree'; its algorithms: sequential, linear, cumsum") !=
        std::string::npos);
  CHECK(refused("uniform", "cope/positions", 64).find("no implementation 'uniform'") != std::string::npos);
  CHECK(refused("cumsum", "alibi/bias", 64).find("its algorithms: formula") != std::string::npos);
  CHECK(refused("formula", "fox/decay", 5000).find("at most 16777216 pairs of tokens, and it has 25000000") !=
        std::string::npos);
  CHECK(refused("each", "cope/positions", 64).find("no implementation 'each'") != std::string::npos);
  CHECK_FALSE(read_sweep("name = \"x\"\n[[grid]]\nmeasure = \"scan\"\nimplementation = \"each\"\narithmetic = \"f32\"\n"
                         "family = \"each\"\nsize = 9\n",
                         "x.toml")
                  .and_then([](const sweep& s) { return cells_of(s); }));
}
