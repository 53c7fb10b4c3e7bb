// Text of a candidate in our documents: it may contain anything, and must not affect the text around it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::tools {

/// Valid UTF-8 on one line: bad bytes become U+FFFD, control characters and line ends become a blank, and characters
/// that reverse the direction of text are dropped.
std::string plain(std::string_view text);

/// For text and quoted attributes of HTML and XML. Calls plain() first.
std::string escape_markup(std::string_view text);

/// For running text in Markdown: it makes no emphasis, link, table cell, HTML or mention (a word with an @ becomes a
/// code span). Calls plain() first.
std::string escape_markdown(std::string_view text);
/// The same for a sentence: text between two backticks is code.
std::string markdown_sentence(std::string_view text);
std::string markup_sentence(std::string_view text);

/// A link with a text of running Markdown. `address` is complete: a url_path, with what follows it.
std::string markdown_link(std::string_view text, const std::string& address);

/// A path as part of an address.
std::string url_path(std::string_view path);

/// A code span of Markdown, outside tables. Calls plain() first.
std::string markdown_code(std::string_view text);

/// A fenced block of Markdown, with `indent` before each line. The lines must be plain().
std::string markdown_block(const std::vector<std::string>& lines, std::string_view language, std::string_view indent);

/// One word of a POSIX shell, quoted only if necessary.
std::string shell_word(std::string_view text);

}  // namespace assay::tools
