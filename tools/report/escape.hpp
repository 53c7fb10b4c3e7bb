// Text of a candidate in our documents: it may hold anything, and must change nothing but itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::tools {

/// Valid UTF-8 on one line: bad bytes become U+FFFD, control characters and line ends a blank, and characters
/// that reverse the direction of text are dropped.
std::string plain(std::string_view text);

/// For text and quoted attributes of HTML and XML; plain() first.
std::string escape_markup(std::string_view text);

/// For running text in Markdown: no emphasis, link, table cell, HTML or mention comes of it (a word with an @ is a
/// code span); plain() first.
std::string escape_markdown(std::string_view text);
/// The same of a sentence: what stands between two backticks is code.
std::string markdown_sentence(std::string_view text);
std::string markup_sentence(std::string_view text);

/// A link with a text of running Markdown. `address` is one already: url_path, and what stands behind it.
std::string markdown_link(std::string_view text, const std::string& address);

/// A path in an address.
std::string url_path(std::string_view path);

/// A code span of Markdown, outside tables; plain() first.
std::string markdown_code(std::string_view text);

/// A fenced block of Markdown, each line behind `indent`. The lines must be plain().
std::string markdown_block(const std::vector<std::string>& lines, std::string_view language, std::string_view indent);

/// One word of a POSIX shell, quoted only where it must be.
std::string shell_word(std::string_view text);

}  // namespace assay::tools
