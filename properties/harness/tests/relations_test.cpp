// Relations between the sizes of axes: their text, and sizes that are moved until the relations hold.
#include "properties/harness/relations.hpp"

#include <catch2/catch.hpp>

using namespace assay;
using properties::axis_relation;
using properties::parse_relation;

namespace {

core::axis_sizes moved(
    core::axis_sizes sizes, const std::vector<std::string>& texts,
    const properties::size_allowed& allowed = [](const auto&, std::size_t size) { return size > 0; }) {
  std::vector<axis_relation> relations;
  for (const std::string& text : texts) relations.push_back(parse_relation(text).value());
  return related(std::move(sizes), relations, allowed);
}

}  // namespace

TEST_CASE("properties/relations/texts") {
  for (const char* text : {"n <= m", "n = m", "2 r = d", "3 n <= 2 m"}) CHECK(parse_relation(text)->text() == text);
  CHECK(parse_relation("m>=n")->text() == "n <= m");
  CHECK(parse_relation(" 2r=d ")->text() == "2 r = d");
  for (const char* text :
       {"", "n", "n < m", "n = n", "n = ", "= m", "0 n = m", "n = m = k", "n + 1 = m", "-n = m", "2 = d"})
    CHECK_FALSE(parse_relation(text).has_value());
}

TEST_CASE("properties/relations/hold") {
  const axis_relation at_most = *parse_relation("n <= m"), twice = *parse_relation("2 r = d");
  CHECK(at_most.holds({{"n", 3}, {"m", 3}}));
  CHECK_FALSE(at_most.holds({{"n", 4}, {"m", 3}}));
  CHECK(at_most.holds({{"n", 4}}));  // the other axis is missing
  CHECK(twice.holds({{"r", 4}, {"d", 8}}));
  CHECK_FALSE(twice.holds({{"r", 4}, {"d", 9}}));
}

TEST_CASE("properties/relations/sizes_are_moved_until_they_hold") {
  using sizes = core::axis_sizes;
  CHECK(moved({{"n", 2}, {"m", 5}}, {"n <= m"}) == sizes{{"n", 2}, {"m", 5}});
  CHECK(moved({{"n", 5}, {"m", 2}}, {"n <= m"}) == sizes{{"n", 2}, {"m", 5}});
  // A long axis and a short one: their product stays the same.
  CHECK(moved({{"n", 90000}, {"m", 1}}, {"n = m"}) == sizes{{"n", 300}, {"m", 300}});
  CHECK(moved({{"r", 3}, {"d", 9}}, {"2 r = d"}) == sizes{{"r", 3}, {"d", 6}});
  CHECK(moved({{"n", 4}, {"m", 7}, {"d", 3}, {"e", 5}}, {"n <= m", "e = d"}) ==
        sizes{{"n", 4}, {"m", 7}, {"d", 3}, {"e", 3}});
  // Some sizes are declared, or fixed.
  const auto fixed = [](const std::string& axis, std::size_t size) { return axis == "d" ? size == 9 : size % 3 == 0; };
  CHECK(moved({{"e", 3}, {"d", 9}}, {"e = d"}, fixed) == sizes{{"e", 9}, {"d", 9}});
  CHECK(moved({{"e", 12}, {"d", 9}}, {"e <= d"}, fixed) == sizes{{"e", 9}, {"d", 9}});
  CHECK(moved({{"e", 12}, {"d", 9}}, {"2 e = d"}, fixed) == sizes{{"e", 12}, {"d", 9}});  // none fit
}

TEST_CASE("properties/relations/positions_that_belong_together") {
  const std::vector<axis_relation> relations{*parse_relation("2 r = d"), *parse_relation("n = m")};
  CHECK(tied_to("r", relations) == std::vector<properties::multiple_of_axis>{{"d", 2}});
  CHECK(tied_to("m", relations) == std::vector<properties::multiple_of_axis>{{"n", 1}});
  CHECK(tied_to("d", relations).empty());
}
