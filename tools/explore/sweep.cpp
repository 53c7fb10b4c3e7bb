#include "tools/explore/sweep.hpp"

// With some malformed headers, such as "[=", an assertion in the parser of keys of toml++ 3.3 fails. It would end
// the program, and with NDEBUG the compiler may rely on it. Here it becomes an error in the text like any other.
namespace {
struct toml_assertion {};
[[noreturn]] void fail_toml_assertion() { throw toml_assertion(); }
}  // namespace
#undef NDEBUG
#define TOML_ASSERT(condition) ((condition) ? void() : fail_toml_assertion())

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <set>

#include "golden/formats/file.hpp"
#include "tools/explore/measure.hpp"

namespace assay::explore {
namespace {

constexpr std::size_t most_cells = 10'000'000;
constexpr std::uint64_t largest_file = std::uint64_t{1} << 20;

/// Reads one table and keeps the first error.
class table_reader {
 public:
  table_reader(const toml::table& table, std::string origin) : table_(table), origin_(std::move(origin)) {}

  /// Reads a value or a list of values; a missing key leaves `to` unchanged.
  template <class T>
  void read(const char* key, std::vector<T>& to, bool required = false) {
    seen_.insert(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) {
      if (required) fail(table_.source(), fmt::format("'{}' is missing", key));
      return;
    }
    to.clear();
    if (const toml::array* list = node->as_array())
      for (const toml::node& entry : *list) add(key, entry, to);
    else
      add(key, *node, to);
    if (to.empty()) fail(node->source(), fmt::format("'{}' is an empty list", key));
  }
  void read(const char* key, std::string& to, bool required = false) {
    std::vector<std::string> all{to};
    read(key, all, required);
    if (all.size() == 1)
      to = all.front();
    else
      fail(table_.source(), fmt::format("'{}' must be one string", key));
  }
  void ignore(const char* key) { seen_.insert(key); }
  /// An error if a key is unknown or a value was wrong.
  core::result<void> end() {
    for (const auto& [key, node] : table_)
      if (!seen_.contains(std::string(key.str())))
        fail(node.source(), fmt::format("there is no '{}' here", std::string(key.str())));
    return wrong_.empty() ? core::result<void>() : core::failure(wrong_);
  }

 private:
  template <class T>
  void add(const char* key, const toml::node& node, std::vector<T>& to) {
    if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (const auto x = node.value_exact<std::int64_t>(); x && *x >= 0) return to.push_back(static_cast<T>(*x));
      fail(node.source(), fmt::format("'{}' must hold whole numbers from 0 on", key));
    } else if constexpr (std::is_same_v<T, double>) {
      if (const auto x = node.value<double>(); x && node.is_number()) return to.push_back(*x);
      fail(node.source(), fmt::format("'{}' must hold numbers", key));
    } else {
      if (auto x = node.value_exact<std::string>()) return to.push_back(std::move(*x));
      fail(node.source(), fmt::format("'{}' must hold strings", key));
    }
  }
  void fail(const toml::source_region& region, const std::string& what) {
    if (wrong_.empty()) wrong_ = fmt::format("{}: line {}: {}", origin_, region.begin.line, what);
  }

  const toml::table& table_;
  std::string origin_, wrong_;
  std::set<std::string> seen_;
};

core::result<grid> read_grid(const toml::table& table, const std::string& origin) {
  grid g;
  table_reader reader(table, origin);
  reader.read("measure", g.measure, true);
  reader.read("implementation", g.implementation, true);
  reader.read("arithmetic", g.arithmetic, true);
  reader.read("storage", g.storage);
  reader.read("family", g.family);
  reader.read("decay", g.decay);
  reader.read("scale", g.scale);
  reader.read("size", g.size, true);
  reader.read("seed", g.seed);
  if (auto done = reader.end(); !done) return tl::make_unexpected(done.error());
  const measure* m = find_measure(g.measure);
  if (g.family == std::vector<std::string>{"each"} && m != nullptr && m->each_family != nullptr) {
    g.family = m->each_family();
    g.drops_unfit_cells = true;
  }
  return g;
}

const preset* find_preset(std::string_view name) {
  for (const preset& p : presets())
    if (p.name == name) return &p;
  return nullptr;
}

std::string preset_names() {
  std::string names;
  for (const preset& p : presets()) names += fmt::format("{}{}", names.empty() ? "" : ", ", p.name);
  return names;
}

core::result<sweep> from_table(const toml::table& table, const std::string& origin) {
  sweep s;
  table_reader reader(table, origin);
  std::vector<std::string> included;
  reader.read("name", s.name, true);
  reader.read("question", s.question);
  reader.read("include", included);
  reader.ignore("grid");
  if (auto done = reader.end(); !done) return tl::make_unexpected(done.error());
  for (const std::string& name : included) {
    const preset* p = find_preset(name);
    if (p == nullptr)
      return core::failure(
          fmt::format("{}: include: there is no preset '{}'; there are {}", origin, name, preset_names()));
    auto other = read_sweep(p->text, "preset " + name);
    if (!other) return other;
    s.grids.insert(s.grids.end(), other->grids.begin(), other->grids.end());
  }
  if (const toml::node* grids = table.get("grid")) {
    if (!grids->is_array_of_tables()) return core::failure(origin + ": 'grid' must be written as [[grid]]");
    for (const toml::node& entry : *grids->as_array()) {
      auto g = read_grid(*entry.as_table(), origin);
      if (!g) return tl::make_unexpected(g.error());
      s.grids.push_back(std::move(*g));
    }
  }
  if (s.grids.empty()) return core::failure(origin + ": there is no [[grid]] in it");
  return s;
}

// toml++ 3.3 has undefined behaviour (unicode_autogenerated.h) for most non-ASCII characters outside strings and
// comments, where TOML allows none. This function recognises strings as TOML does, up to the first mistake, at which
// toml++ stops. But when toml++ looks for the end of a number, it reads through a quote; so a string must stand where a
// value or a key begins.
bool is_ascii_but_for_texts(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return true;
  if (text.find("\"\"\"") != std::string_view::npos || text.find("'''") != std::string_view::npos) return false;
  char quote = 0;  // '#' means inside a comment
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n')
      quote = 0;
    else if (quote == 0 && (c == '"' || c == '\'' || c == '#')) {
      constexpr std::string_view openers = " \t\n=[,{.";
      if (c != '#' && i > 0 && openers.find(text[i - 1]) == std::string_view::npos) return false;
      quote = c;
    } else if (quote == '"' && c == '\\')
      ++i;
    else if (quote != '#' && c == quote)
      quote = 0;
    else if (quote == 0 && !is_ascii(c))
      return false;
  }
  return true;
}

}  // namespace

core::result<sweep> read_sweep(std::string_view text, const std::string& origin) {
  if (!is_ascii_but_for_texts(text))
    return core::failure(origin + ": characters beyond ASCII may stand only in strings of one line and in comments");
  try {
    return from_table(toml::parse(text), origin);
  } catch (const toml::parse_error& e) {
    return core::failure(fmt::format("{}: line {}: {}", origin, e.source().begin.line, std::string(e.description())));
  } catch (const toml_assertion&) {
    return core::failure(origin + ": is no TOML: a table must have a name");
  }
}

core::result<sweep> load_sweep(const std::string& name_or_file) {
  if (const preset* p = find_preset(name_or_file)) return read_sweep(p->text, "preset " + name_or_file);
  std::error_code unknown;
  if (!std::filesystem::exists(name_or_file, unknown))
    return core::failure(
        fmt::format("'{}' is neither a file nor a preset; there are {}", name_or_file, preset_names()));
  const auto text = formats::read_any_file(name_or_file, largest_file);
  if (!text) return tl::make_unexpected(text.error());
  return read_sweep(*text, name_or_file);
}

namespace {

std::vector<std::string> implementations_of(const grid& g, const std::string& family) {
  const measure* m = find_measure(g.measure);
  if (m == nullptr || m->each_implementation == nullptr) return g.implementation;
  std::vector<std::string> all;
  for (const std::string& name : g.implementation) {
    const std::vector<std::string> named = name == "each" ? m->each_implementation(family) : std::vector{name};
    all.insert(all.end(), named.begin(), named.end());
  }
  return all;
}

// Whether the measure accepts the cell, and the cell is not expensive. If the measure refuses the cell, its scale is
// set to 1 first: an operation without a width takes no other scale.
bool fits_measure(cell& c) {
  constexpr double most_steps = 1 << 23;
  if (!check_cell(c)) c.scale = 1;
  return check_cell(c) && find_measure(c.measure)->steps({&c, 1}) <= most_steps;
}

}  // namespace

core::result<std::vector<cell>> cells_of(const sweep& s) {
  std::vector<cell> all;
  std::set<std::string> seen;
  for (const grid& g : s.grids) {
    double count = 1;
    for (const std::size_t n : {g.implementation.size(), g.arithmetic.size(), g.storage.size(), g.family.size(),
                                g.decay.size(), g.scale.size(), g.size.size(), g.seed.size()})
      count *= static_cast<double>(n);
    if (count + static_cast<double>(all.size()) > most_cells)
      return core::failure(fmt::format("sweep {}: more than {} cells", s.name, most_cells));
    for (const auto& family : g.family)
      for (const double decay : g.decay)
        for (const double scale : g.scale)
          for (const auto& storage : g.storage)
            for (const auto seed : g.seed)
              for (const auto& implementation : implementations_of(g, family))
                for (const auto& arithmetic : g.arithmetic)
                  for (const auto size : g.size) {
                    cell c{g.measure, implementation, arithmetic, storage == "same" ? arithmetic : storage,
                           family,    decay,          scale,      size,
                           seed};
                    if (g.drops_unfit_cells && !fits_measure(c)) continue;
                    if (const auto checked = check_cell(c); !checked)
                      return core::failure(fmt::format("sweep {}: {}", s.name, checked.error().message));
                    if (seen.insert(text_of(c)).second) all.push_back(std::move(c));
                  }
  }
  return all;
}

}  // namespace assay::explore
