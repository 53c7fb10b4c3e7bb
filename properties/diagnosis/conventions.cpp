#include "properties/diagnosis/conventions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>

namespace assay::properties {
namespace {

using core::attribute;

// Returns the call with these values of its settings, or the call itself if these values make no valid call.
request with_values(const request& call, const core::attributes& values) {
  request other = call;
  for (const auto& [name, value] : values) other.attributes[name] = value;
  return core::check_request(other) ? other : call;
}

/// The value that an implementation takes in place of the one that is set.
using value_taken = std::function<attribute(const attribute& set)>;

// An entry for an implementation that takes another value of the setting `name`.
dictionary_entry entry_of(std::string words, const std::string& name, value_taken taken) {
  dictionary_entry e{entry_source::setting, words, words};
  e.answered = [name, taken = std::move(taken)](const request& call) {
    return with_values(call, {{name, taken(core::completed(*call.operation, call.attributes).at(name))}});
  };
  return e;
}

// An entry for an implementation that takes these values of one setting or of two, whatever is requested. `requested`
// holds the values of these settings that the wrong probes requested; it is empty if they requested several values.
dictionary_entry behaves_as(const core::attributes& taken, const core::attributes& requested) {
  const auto words_of = [](const core::attributes& values) {
    std::vector<std::string> words;
    for (const auto& [name, value] : values) words.push_back(fmt::format("{} = {}", name, core::to_string(value)));
    return fmt::format("{}", fmt::join(words, " and "));
  };
  const std::string behaves = "behaves as " + words_of(taken);
  const bool is_one_request = requested.size() == taken.size();
  dictionary_entry e{taken.size() == 1 ? entry_source::setting : entry_source::two_settings,
                     is_one_request ? fmt::format("asked for {}, {}", words_of(requested), behaves)
                                    : behaves + ", whatever is asked for",
                     ""};
  e.words = e.id;
  if (is_one_request) e.implied = " where " + words_of(requested);
  e.answered = [taken](const request& call) { return with_values(call, taken); };
  return e;
}

dictionary_entry exchanged(const std::string& name, const attribute& one, const attribute& other) {
  return entry_of(fmt::format("{} = {} and {} are exchanged", name, core::to_string(one), core::to_string(other)), name,
                  [one, other](const attribute& set) {
                    if (set == one) return other;
                    return set == other ? one : set;
                  });
}

// The values of a setting that the wrong probes requested.
std::vector<attribute> requested_values(const std::string& name, const std::vector<probe>& probes) {
  std::vector<attribute> requested;
  for (const probe& p : probes) {
    const auto set = p.c.call.attributes.find(name);
    if (!p.right && set != p.c.call.attributes.end() &&
        std::find(requested.begin(), requested.end(), set->second) == requested.end())
      requested.push_back(set->second);
  }
  return requested;
}

void add_new(std::vector<attribute>& all, const attribute& value) {
  if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
}

// The values of a setting that is a count and that the sizes of a call bound, such as the pairs of coordinates that
// rotate. Empty for other settings.
std::vector<attribute> bounded_counts(const core::attribute_declaration& a, const request& call) {
  constexpr std::int64_t most = 256;
  std::vector<attribute> all;
  if (!std::holds_alternative<std::int64_t>(a.standard)) return all;
  request other = call;
  for (std::int64_t count = 1; count <= most; ++count) {
    other.attributes[a.name] = count;
    if (!core::check_request(other)) return all;
    all.emplace_back(count);
  }
  return {};
}

// Factors, scales and bases that are usual in programs, and their inverses.
std::vector<attribute> usual_numbers(const core::attribute_declaration& a) {
  constexpr double usual[] = {2,    3,     4,     5,     6,      8,      10,     16,      20,      32,      40,
                              50,   64,    100,   128,   256,    512,    1000,   1024,    2048,    4096,    5000,
                              8192, 10000, 20000, 50000, 100000, 160000, 500000, 1000000, 5000000, 10000000};
  std::vector<attribute> all;
  if (!std::holds_alternative<double>(a.standard)) return all;
  all.emplace_back(1.0);
  for (const double x : usual) {
    all.emplace_back(x);
    all.emplace_back(1 / x);
  }
  return all;
}

// The declared values, the requested values, and all counts for which the smallest wrong probe has room.
std::vector<attribute> values_tried(const core::attribute_declaration& a, const std::vector<attribute>& requested,
                                    const std::vector<probe>& probes) {
  std::vector<attribute> all = a.values;
  for (const attribute& value : requested) add_new(all, value);
  const auto wrong = std::find_if(probes.begin(), probes.end(), [](const probe& p) { return !p.right; });
  if (wrong != probes.end())
    for (const attribute& count : bounded_counts(a, wrong->c.call)) add_new(all, count);
  return all;
}

// A setting that is not a size, and its values: those that the wrong probes requested, and the other declared values,
// which a fault may take instead.
struct convention {
  const core::attribute_declaration* setting;
  std::vector<attribute> requested;
  std::vector<attribute> others{};
};

// Adds usual numbers that a setting does not declare. They are tried after the declared values and the hypotheses
// (entry_source), because many large numbers may act alike.
void add_other_numbers(std::vector<dictionary_entry>& all, const std::vector<convention>& conventions,
                       const std::vector<probe>& probes) {
  for (const convention& c : conventions) {
    const std::vector<attribute> declared = values_tried(*c.setting, c.requested, probes);
    core::attributes requested;
    if (c.requested.size() == 1) requested = {{c.setting->name, c.requested.front()}};
    for (const attribute& number : usual_numbers(*c.setting)) {
      if (std::find(declared.begin(), declared.end(), number) != declared.end()) continue;
      all.push_back(behaves_as({{c.setting->name, number}}, requested));
      all.back().from = entry_source::other_number;
    }
  }
}

// Adds all pairs of settings that take other values than the requested ones. Numbers that sizes bound, such as counts
// of pairs, take only their declared values: all pairs of values would be thousands.
void add_pairs(std::vector<dictionary_entry>& all, const std::vector<convention>& conventions) {
  for (std::size_t i = 0; i < conventions.size(); ++i)
    for (std::size_t j = i + 1; j < conventions.size(); ++j) {
      const convention &x = conventions[i], &y = conventions[j];
      core::attributes requested;
      if (x.requested.size() == 1 && y.requested.size() == 1)
        requested = {{x.setting->name, x.requested.front()}, {y.setting->name, y.requested.front()}};
      for (const attribute& x_value : x.others)
        for (const attribute& y_value : y.others)
          all.push_back(behaves_as({{x.setting->name, x_value}, {y.setting->name, y_value}}, requested));
    }
}

}  // namespace

std::vector<dictionary_entry> conventions_of(const core::operation& op, const std::vector<probe>& probes) {
  std::vector<dictionary_entry> all;
  std::vector<convention> conventions;
  for (const core::attribute_declaration& a : op.attributes) {
    if (!a.axis.empty()) continue;  // the setting is a size: another value makes another shape
    const std::vector<attribute> requested = requested_values(a.name, probes);
    const std::vector<attribute> values = values_tried(a, requested, probes);
    core::attributes one_request;
    if (requested.size() == 1) one_request = {{a.name, requested.front()}};
    for (const attribute& value : values) {
      if (requested == std::vector{value}) continue;
      all.push_back(behaves_as({{a.name, value}}, one_request));
      // A program that is older than the setting could not declare the value that it takes.
      if (a.is_later() && requested == std::vector{a.standard})
        all.back().words = all.back().id += ": declare it (domain), or mend it";
    }
    conventions.push_back({&a, requested});
    std::copy_if(a.values.begin(), a.values.end(), std::back_inserter(conventions.back().others),
                 [&](const attribute& value) { return requested != std::vector{value}; });
    if (requested.size() < 2) continue;
    for (std::size_t i = 0; i < values.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) all.push_back(exchanged(a.name, values[j], values[i]));
  }
  add_other_numbers(all, conventions, probes);
  add_pairs(all, conventions);
  return all;
}

}  // namespace assay::properties
