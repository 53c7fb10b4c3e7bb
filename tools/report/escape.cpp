#include "tools/report/escape.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <functional>

namespace assay::tools {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

struct decoded {
  std::uint32_t character = 0;
  std::size_t bytes = 0;  ///< 0: not valid UTF-8
};

// Rejects overlong forms, surrogates and code points above U+10FFFF.
decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  std::uint32_t c = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return {};
    c = c << 6 | (byte(i) & 0x3Fu);
  }
  if (c < smallest[length] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return {};
  return {c, length};
}

bool is_control(std::uint32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029; }
bool is_direction(std::uint32_t c) {
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F;
}

std::size_t longest_backticks(std::string_view text) {
  std::size_t run = 0, longest = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

}  // namespace

std::string plain(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const decoded d = decode(text);
    const std::size_t bytes = std::max<std::size_t>(d.bytes, 1);
    if (d.bytes == 0 || (d.character & 0xFFFE) == 0xFFFE)  // not a character of XML
      out += replacement;
    else if (is_control(d.character))
      out += ' ';
    else if (!is_direction(d.character))
      out += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return out;
}

std::string escape_markup(std::string_view text) {
  std::string out;
  for (const char c : plain(text)) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  return out;
}

namespace {

// A mention such as "rotate@rope/rotate" at the beginning of a text, or nothing: outside a code span it would notify a
// user.
std::string_view mention_at_start(std::string_view text) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_/.:+-@").find(c) != std::string::npos;
  };
  const auto end = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_part) - text.begin());
  const std::size_t sign = text.substr(0, end).find('@');
  return sign == std::string_view::npos || sign + 1 == end ? std::string_view() : text.substr(0, end);
}

}  // namespace

// Escapes only characters with an effect: the text is also read on terminals, and copied.
std::string escape_markdown(std::string_view text) {
  constexpr std::string_view always = "\\`*|~", at_start = "#+-=>";
  const std::string words = plain(text);
  const auto is_word = [&](std::size_t i) {
    return i < words.size() && (std::isalnum(static_cast<unsigned char>(words[i])) != 0 || words[i] == '_');
  };
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const char c = words[i];
    const std::string_view after = std::string_view(words).substr(i + 1);
    if (const auto mention = mention_at_start(std::string_view(words).substr(i)); !mention.empty()) {
      out += markdown_code(mention);
      i += mention.size() - 1;
      continue;
    }
    if (c == '<' || c == '&') {
      out += c == '<' ? "&lt;" : "&amp;";
      continue;
    }
    const bool emphasis = c == '_' && !(i > 0 && is_word(i - 1) && is_word(i + 1));
    const bool link = (c == ']' && after.starts_with('(')) || (c == ':' && after.starts_with("//")) ||
                      (c == '.' && std::string_view(words).substr(0, i).ends_with("www"));
    if (always.find(c) != std::string_view::npos || emphasis || link ||
        (i == 0 && at_start.find(c) != std::string_view::npos))
      out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_link(std::string_view text, const std::string& address) {
  std::string shown;
  const std::string escaped = escape_markdown(text);
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] == '[' || escaped[i] == ']') shown += '\\';
    shown += escaped[i];
    if (escaped[i] == '\\' && i + 1 < escaped.size()) shown += escaped[++i];
  }
  return "[" + shown + "](" + address + ")";
}

namespace {

// Text between backticks is code if all backticks come in pairs.
std::string with_code(std::string_view text, std::string (*plain_words)(std::string_view),
                      const std::function<std::string(std::string_view)>& code) {
  if (std::ranges::count(text, '`') % 2 != 0 || text.find("``") != std::string_view::npos) return plain_words(text);
  std::string out;
  for (bool is_code = false;; is_code = !is_code) {
    const std::size_t end = text.find('`');
    const std::string_view part = text.substr(0, end);
    if (!part.empty()) out += is_code ? code(part) : plain_words(part);
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string markdown_sentence(std::string_view text) { return with_code(text, escape_markdown, markdown_code); }
std::string markup_sentence(std::string_view text) {
  return with_code(text, escape_markup,
                   [](std::string_view code) { return "<code>" + escape_markup(code) + "</code>"; });
}

std::string url_path(std::string_view path) {
  constexpr std::string_view digits = "0123456789ABCDEF", safe = "-_.~/";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || safe.find(c) != std::string_view::npos)
      out += c;
    else
      out += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

std::string markdown_code(std::string_view text) {
  const std::string inside = plain(text);
  const std::string fence(longest_backticks(inside) + 1, '`');
  const bool pad = inside.empty() || inside.front() == '`' || inside.back() == '`';
  return fence + (pad ? " " : "") + inside + (pad ? " " : "") + fence;
}

std::string markdown_block(const std::vector<std::string>& lines, std::string_view language, std::string_view indent) {
  std::size_t longest = 2;
  for (const std::string& line : lines) longest = std::max(longest, longest_backticks(line));
  const std::string fence(longest + 1, '`'), before(indent);
  std::string text = before + fence + std::string(language) + "\n";
  for (const std::string& line : lines) text += before + line + "\n";
  return text + before + fence + "\n";
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!text.empty() && text.find_first_not_of(safe) == std::string_view::npos) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace assay::tools
