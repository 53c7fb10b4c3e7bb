// Faults with drawn conditions on sizes: the conditions that a diagnosis states are true for all sizes.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <regex>

#include "properties/tests/changed.hpp"
#include "reference/core/counter_random.hpp"

using namespace assay;
using namespace assay::properties;

namespace {

using drawn_sizes = core::axis_sizes;
using size_predicate = std::function<bool(const drawn_sizes&)>;

// A condition on one or two of the axes. There are no words for some of them.
size_predicate drawn_condition(const std::vector<std::string>& axes, core::counter_random& random) {
  const auto below = [&](std::size_t n) { return random.below(n); };
  const std::size_t first = below(axes.size()), second = (first + 1 + below(axes.size() - 1)) % axes.size();
  const std::string x = axes[first], y = axes[second];
  const std::size_t a = 1 + below(40), b = 1 + below(9), k = std::size_t{2} << below(4), r = below(k);
  switch (below(12)) {
    case 0:
      return [=](const drawn_sizes& s) { return s.at(x) > a && s.at(y) > b; };
    case 1:
      return [=](const drawn_sizes& s) { return s.at(x) % k == r && s.at(y) > b; };
    case 2:
      return [=](const drawn_sizes& s) { return s.at(x) == s.at(y); };
    case 3:
      return [=](const drawn_sizes& s) { return s.at(x) < s.at(y) && s.at(x) > b; };
    case 4:
      return [=](const drawn_sizes& s) { return s.at(x) * s.at(y) > a; };
    case 5:
      return [=](const drawn_sizes& s) { return s.at(x) + s.at(y) > a; };
    case 6:
      return [=](const drawn_sizes& s) { return s.at(x) > a || s.at(y) > b; };
    case 7:
      return [=](const drawn_sizes& s) { return s.at(x) > b && s.at(x) < a + b + 2 && s.at(y) > 1; };
    case 8:
      return [=](const drawn_sizes& s) { return s.at(x) > s.at(y) + b; };
    case 9:
      return [=](const drawn_sizes& s) { return s.at(x) % k != 0 && s.at(x) > b; };
    case 10:
      return [=](const drawn_sizes& s) { return s.at(x) % (8 * k) != 0 && s.at(x) > 8 * k && s.at(y) > 1; };
    default:
      return [=](const drawn_sizes& s) { return s.at(x) * s.at(y) % k == 0; };
  }
}

bool holds_part(const std::string& part, const drawn_sizes& s) {
  std::smatch m;
  const auto matches = [&](const char* form) { return std::regex_match(part, m, std::regex(form)); };
  const auto number = [&](std::size_t i) { return static_cast<std::size_t>(std::stoul(m[i])); };
  if (matches("(\\w) is more than (\\d+)")) return s.at(m[1]) > number(2);
  if (matches("(\\w) (\\w) is more than (\\d+)")) return s.at(m[1]) * s.at(m[2]) > number(3);
  if (matches("(\\w) is less than (\\d+)")) return s.at(m[1]) < number(2);
  if (matches("(\\w) is (even|odd)")) return (s.at(m[1]) % 2 == 0) == (m[2] == "even");
  if (matches("(\\w) is a multiple of (\\d+)")) return s.at(m[1]) % number(2) == 0;
  if (matches("(\\w) is no multiple of (\\d+)")) return s.at(m[1]) % number(2) != 0;
  if (matches("(\\w) is (\\d+) more than a multiple of (\\d+)")) return s.at(m[1]) % number(3) == number(2);
  if (matches("(\\w) = (\\w)")) return s.at(m[1]) == s.at(m[2]);
  if (matches("(\\w) = (\\w) > (\\d+)")) return s.at(m[1]) == s.at(m[2]) && s.at(m[1]) > number(3);
  if (matches("(\\w) is not (\\w)")) return s.at(m[1]) != s.at(m[2]);
  if (matches("(\\w) is less than (\\w)")) return s.at(m[1]) < s.at(m[2]);
  if (matches("(\\w) is at most (\\w)")) return s.at(m[1]) <= s.at(m[2]);
  FAIL("unknown words: " << part);
  return false;
}

// The condition on sizes that a sentence states; nothing if it only speaks of sizes that were tried.
std::optional<size_predicate> said_condition(const std::string& said) {
  const std::string end = said.substr(said.find("on mild inputs") + 14);
  std::smatch m;
  if (end.find(" tried") != std::string::npos || end.find(", not ") != std::string::npos) return std::nullopt;
  if (end == " of every size tried") return std::nullopt;
  if (std::regex_match(end, m, std::regex(" from (\\d+) tokens on")))
    return [n = std::stoul(m[1])](const drawn_sizes& s) { return s.at("n") >= n; };
  if (end == " when there is more than one token") return [](const drawn_sizes& s) { return s.at("n") > 1; };
  if (end == " for a single token") return [](const drawn_sizes& s) { return s.at("n") == 1; };
  if (std::regex_match(end, m, std::regex(" for fewer than (\\d+) tokens")))
    return [n = std::stoul(m[1])](const drawn_sizes& s) { return s.at("n") < n; };
  if (std::regex_match(end, m, std::regex(" for (even|odd) lengths")))
    return [even = m[1] == "even"](const drawn_sizes& s) { return (s.at("n") % 2 == 0) == even; };
  if (std::regex_match(end, m, std::regex(" where the length is (no|a) multiple of (\\d+)")))
    return [a = m[1] == "a", k = std::stoul(m[2])](const drawn_sizes& s) { return (s.at("n") % k == 0) == a; };
  REQUIRE(end.starts_with(" where "));
  const std::string all = std::regex_replace(end.substr(7), std::regex(" and "), ", ");
  std::vector<std::string> parts;
  for (std::size_t from = 0; from < all.size();) {
    const std::size_t to = std::min(all.find(", ", from), all.size());
    parts.push_back(all.substr(from, to - from));
    from = to + 2;
  }
  return [parts](const drawn_sizes& s) {
    return std::all_of(parts.begin(), parts.end(), [&](const std::string& part) { return holds_part(part, s); });
  };
}

// Calls visit with sizes of three axes, the small ones first, until it returns true.
template <class Visit>
bool any_sizes(const std::vector<std::string>& axes, drawn_sizes s, Visit visit) {
  const std::size_t tried[] = {1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 24, 33, 41, 50, 64};
  for (const std::size_t most : tried)
    for (const std::size_t x : tried)
      for (const std::size_t y : tried)
        for (const std::size_t z : tried) {
          if (std::max({x, y, z}) != most) continue;
          s[axes[0]] = x, s[axes[1]] = y, s[axes[2]] = z;
          if (visit(s)) return true;
        }
  return false;
}

struct drawn_operation {
  const char* name;
  std::vector<std::string> axes;
  drawn_sizes others;
};

}  // namespace

TEST_CASE("properties/diagnosis/conditions_that_are_said_are_true_of_all_sizes", "[property][gate]") {
  const drawn_operation operations[] = {{"heinsen/scan", {"B", "n", "d"}, {}},
                                        {"attention/output", {"n", "m", "h"}, {{"B", 1}, {"d", 1}, {"e", 1}}}};
  std::size_t named = 0, drawn = 0;
  const char* draws = std::getenv("ASSAY_TEST_DRAWS");
  core::counter_random random(testing::seed);
  for (std::size_t k = 0; k < (draws ? std::stoul(draws) : scaled(4)); ++k) {
    const drawn_operation& on = operations[k % 2];
    const size_predicate is_wrong = drawn_condition(on.axes, random);
    drawn_sizes shown;
    if (!any_sizes(on.axes, on.others, [&](const drawn_sizes& s) { return is_wrong(s) && (shown = s, true); }))
      continue;
    const std::string said = testing::said_at(testing::wrong_where(is_wrong), on.name, shown);
    INFO("draw " << k << " of " << on.name << ": " << said);
    if (said.find("on mild inputs") == std::string::npos) continue;
    ++drawn;
    const auto condition = said_condition(said);
    if (!condition) continue;
    ++named;
    std::string sizes_text;
    const bool differs = any_sizes(on.axes, on.others, [&](const drawn_sizes& s) {
      // With one key its value is passed through: a right result there tells nothing.
      if ((*condition)(s) == is_wrong(s) || (s.contains("m") && s.at("m") == 1)) return false;
      for (const auto& [axis, size] : s) sizes_text += fmt::format("{}={} ", axis, size);
      return true;
    });
    INFO("but at " << sizes_text);
    CHECK_FALSE(differs);
  }
  UNSCOPED_INFO(named << " conditions said of " << drawn);
  CHECK(named > 0);
}
