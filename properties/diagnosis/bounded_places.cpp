#include "properties/diagnosis/bounded_places.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace assay::properties {
namespace {

// Powers of two and of ten, up to a million.
std::set<double> usual_lengths() {
  constexpr double longest = 0x1p20;
  std::set<double> all;
  for (double length = 2; length <= longest; length *= 2) all.insert(length);
  for (double length = 10; length <= longest; length *= 10) all.insert(length);
  return all;
}

dictionary_entry entry_of(const std::vector<std::string>& names, const std::string& what,
                          std::function<double(double)> change) {
  const std::string words = fmt::format("{} {}", fmt::join(names, " and "), what);
  dictionary_entry e{entry_source::declared, words, words};
  e.answered = [names, change = std::move(change)](const request& call) {
    request edited = call;
    for (const std::string& name : names)
      for (double& x : edited.inputs.at(name).values.storage()) x = change(x);
    return core::check_request(edited) ? edited : call;
  };
  return e;
}

}  // namespace

std::vector<dictionary_entry> bounded_places(const core::operation& op) {
  std::vector<std::string> names;
  for (const core::tensor_declaration& d : op.inputs)
    if (d.role == core::input_role::position && d.own_type) names.push_back(d.name);
  std::vector<dictionary_entry> all;
  if (names.empty()) return all;
  const bool one = names.size() == 1;
  for (const double length : usual_lengths()) {
    for (const double last : {length - 1, length})
      all.push_back(entry_of(names, fmt::format("{} at most {}", one ? "is" : "are", last),
                             [last](double x) { return std::min(x, last); }));
    all.push_back(entry_of(names, fmt::format("{} anew at {}", one ? "begins" : "begin", length),
                           [length](double x) { return x - length * std::floor(x / length); }));
  }
  return all;
}

}  // namespace assay::properties
