#include "tools/transports/near_names.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "reference/oracle.hpp"

namespace assay::transports {
namespace {

constexpr std::size_t most_names = 4, fewest_letters = 3;

// The edit distance: the number of letters to insert, drop or replace. The usual table is computed row by row.
std::size_t distance(const std::string& from, const std::string& to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::size_t distance_to_name(const std::string& written, const std::string& name) {
  const std::size_t changes = std::min(distance(written, name), distance(written, name.substr(name.find('/') + 1)));
  const bool holds = written.size() >= fewest_letters && name.find(written) != std::string::npos;
  return holds ? std::min<std::size_t>(changes, 1) : changes;
}

}  // namespace

std::vector<std::string> near_names(const std::string& written, const std::vector<std::string>& known) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& name : known)
    if (const std::size_t d = distance_to_name(written, name); d <= (written.size() + 2) / 3)
      near.emplace_back(d, name);
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (const auto& [d, name] : near)
    if (names.size() < most_names) names.push_back(name);
  return names;
}

std::string near_in_words(const std::string& written, const std::vector<std::string>& known) {
  std::string near;
  for (const std::string& n : near_names(written, known)) near += (near.empty() ? "near: " : ", ") + n;
  return near.empty() ? near : near + "; ";
}

core::result<const core::operation*> operation_named(const std::string& name) {
  if (const core::operation* op = reference::find_operation(name)) return op;
  std::vector<std::string> known;
  for (const core::operation& op : reference::operations()) known.push_back(op.name);
  return core::failure("unknown operation '" + name + "' (" + near_in_words(name, known) +
                       "see: assay list operations)");
}

}  // namespace assay::transports
