#include "tools/explore/cell.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <sstream>
#include <string_view>
#include <vector>

namespace assay::explore {
namespace {

// A candidate's specification may contain white space, which ends a word.
std::string escaped(const std::string& name) {
  std::string text;
  for (const char c : name)
    if (c == '%' || std::isspace(static_cast<unsigned char>(c)) != 0)
      text += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    else
      text += c;
  return text;
}

std::string unescaped(const std::string& text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      name += static_cast<char>(code);
      i += 2;
    } else {
      name += text[i];
    }
  }
  return name;
}

template <class Number>
bool read_number(const std::string& word, std::string_view name, Number& x) {
  const std::string start = std::string(name) + "=";
  if (word.compare(0, start.size(), start) != 0) return false;
  const char *first = word.data() + start.size(), *last = word.data() + word.size();
  const auto [end, wrong] = std::from_chars(first, last, x);
  return wrong == std::errc() && end == last;
}

}  // namespace

std::string text_of(const cell& c) {
  return fmt::format("{} {} {} {} {} decay={} scale={} size={} seed={}", c.measure, escaped(c.implementation),
                     c.arithmetic, c.storage, escaped(c.family), c.decay, c.scale, c.size, c.seed);
}

core::result<cell> read_cell(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  const auto wrong = [&](const std::string& what) {
    return core::failure(fmt::format("'{}' is no cell: {}", text, what));
  };
  if (words.size() == 8) words.insert(words.begin() + 4, "");  // a measure without families
  if (words.size() != 9)
    return wrong("expected MEASURE IMPLEMENTATION ARITHMETIC STORAGE [FAMILY] decay=X scale=X size=N seed=N");
  cell c{words[0], unescaped(words[1]), words[2], words[3], unescaped(words[4])};
  if (!read_number(words[5], "decay", c.decay)) return wrong("'" + words[5] + "' is no decay=X");
  if (!read_number(words[6], "scale", c.scale)) return wrong("'" + words[6] + "' is no scale=X");
  if (!read_number(words[7], "size", c.size)) return wrong("'" + words[7] + "' is no size=N");
  if (!read_number(words[8], "seed", c.seed)) return wrong("'" + words[8] + "' is no seed=N");
  return c;
}

}  // namespace assay::explore
