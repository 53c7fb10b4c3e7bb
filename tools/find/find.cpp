// `assay find WORDS`: the operation that a user's code computes, and text to paste.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "reference/oracle.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/find/known_code.hpp"
#include "tools/report/escape.hpp"

namespace assay::tools {
namespace {

// Only letters and digits, in lower case: "Llama-3.1" and "llama 3.1" are the same name.
std::string folded(const std::string& text) {
  std::string all;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)))
      all += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return all;
}

// "rope/rotate with layout = "half_split""
std::string in_words(const use_of_operation& use) {
  std::string text;
  for (const auto& [name, value] : use.settings)
    text += fmt::format("{}{} = {}", text.empty() ? " with " : ", ", name, core::to_string(value));
  return use.operation + text;
}

std::string as_python(const core::attribute& value) {
  const bool* truth = std::get_if<bool>(&value);
  return truth == nullptr ? core::to_string(value) : *truth ? "True" : "False";
}
std::string check_in_python(const use_of_operation& use) {
  std::string domain;
  for (const auto& [name, value] : use.settings)
    domain += fmt::format("{}\"{}\": [{}]", domain.empty() ? "" : ", ", name, as_python(value));
  return fmt::format("assay.check(FUNCTION, \"{}\"{})", use.operation,
                     domain.empty() ? "" : ", domain={" + domain + "}");
}

void show(const known_code& code) {
  fmt::print("{}: {} ({})\n", code.kind, fmt::join(code.names, ", "), code.source);
  if (!code.note.empty()) fmt::print("  {}\n", code.note);
  for (const use_of_operation& use : code.uses) fmt::print("  {}\n      {}\n", in_words(use), check_in_python(use));
  fmt::print("\n");
}

// How the words fit an entry, the worst first: the texts mention each word; the words are a part of a name; they
// contain a name; a name begins with them; they are a name.
enum fit { none, mentioned, part_of_name, contains_name, begins_name, whole_name };
// The fit, and for contains_name the length of the name.
using rank = std::pair<fit, std::size_t>;

// Whether a word of the text begins with `word`. A long word may also span several words of the text.
bool is_word_of(const std::string& word, const std::string& text) {
  std::string one;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      one += c;
      continue;
    }
    if (folded(one).starts_with(word)) return true;
    one.clear();
  }
  return folded(text).find(word) != std::string::npos && word.size() > 5;  // "flashattention" fits "flash-attention"
}

rank rank_of(const std::vector<std::string>& words, const std::vector<std::string>& names, const std::string& rest) {
  std::string wanted;
  for (const std::string& word : words) wanted += folded(word);
  rank best{none, 0};
  for (const std::string& name : names) {
    const std::string known = folded(name);
    const fit by_name = known == wanted                                         ? whole_name
                        : known.starts_with(wanted)                             ? begins_name
                        : known.size() > 3 && wanted.find(known) != wanted.npos ? contains_name
                        : wanted.size() > 2 && known.find(wanted) != known.npos ? part_of_name
                                                                                : none;
    best = std::max(best, rank{by_name, by_name == contains_name ? known.size() : 0});
  }
  const auto is_said = [&](const std::string& word) {
    return folded(word).empty() || is_word_of(folded(word), rest) ||
           std::ranges::any_of(names, [&](const std::string& name) { return is_word_of(folded(word), name); });
  };
  return std::max(best, rank{std::ranges::all_of(words, is_said) ? mentioned : none, 0});
}

// The best matches. If a name begins with the words, all matches without such a name are dropped. Else, if the words
// contain a name, only those with the longest such name stay.
template <class Thing>
std::vector<const Thing*> best_of(const std::vector<Thing>& all, std::size_t most, auto rank_of_one) {
  std::vector<std::pair<rank, const Thing*>> found;
  for (const Thing& one : all)
    if (const rank match = rank_of_one(one); match.first != none) found.emplace_back(match, &one);
  std::ranges::stable_sort(found, std::ranges::greater(), &std::pair<rank, const Thing*>::first);
  if (!found.empty()) {
    const rank top = found.front().first;
    std::erase_if(found, [&](const auto& entry) {
      return top.first >= begins_name ? entry.first.first < begins_name
                                      : top.first == contains_name && entry.first < top;
    });
  }
  std::vector<const Thing*> best;
  for (std::size_t k = 0; k < std::min(most, found.size()); ++k) best.push_back(found[k].second);
  return best;
}

std::string what_is_said_of(const core::operation& op) {
  std::string all = op.source;
  for (const auto* tensors : {&op.inputs, &op.outputs})
    for (const core::tensor_declaration& d : *tensors) all += " " + d.name + " " + d.meaning;
  for (const core::attribute_declaration& a : op.attributes) {
    all += " " + a.name + " " + a.meaning;
    for (const core::attribute& value : a.values) all += " " + core::to_string(value);
  }
  return all;
}

void show_as_markdown() {
  for (const char* kind : {"model", "kernel", "function"}) {
    fmt::print("| {} | is | source |\n|---|---|---|\n", kind);
    for (const known_code& code : all_known_code()) {
      if (code.kind != kind) continue;
      std::vector<std::string> names, uses;
      for (const std::string& name : code.names) names.push_back(escape_markdown(name));
      for (const use_of_operation& use : code.uses) uses.push_back("`" + in_words(use) + "`");
      fmt::print("| {} | {}{} | {} |\n", fmt::join(names, ", "), fmt::join(uses, "; "),
                 code.note.empty() ? "" : ". " + escape_markdown(code.note), escape_markdown(code.source));
    }
    fmt::print("\n");
  }
}

int find(const std::vector<std::string>& words) {
  if (std::ranges::all_of(words, [](const std::string& w) { return folded(w).empty(); })) {
    complain("find needs words: a model, a kernel or a function, such as: assay find llama 3.1");
    return wrong_input;
  }
  constexpr std::size_t most = 6;
  std::vector<core::operation> forward;
  for (const core::operation& op : reference::operations())
    if (op.is_forward()) forward.push_back(op);
  const auto known = best_of(all_known_code(), most, [&](const known_code& code) {
    std::string rest = code.source + " " + code.note;
    for (const use_of_operation& use : code.uses) rest += " " + in_words(use);
    return rank_of(words, code.names, rest);
  });
  const auto names_of = [](const core::operation& op) {
    return std::vector{op.name, op.name.substr(0, op.name.find('/')), op.name.substr(op.name.find('/') + 1)};
  };
  const auto operations = best_of(forward, most, [&](const core::operation& op) {
    const rank by_name = rank_of(words, names_of(op), "");
    return known.empty() || by_name.first >= begins_name ? rank_of(words, names_of(op), what_is_said_of(op))
                                                         : rank{none, 0};
  });
  for (const known_code* code : known) show(*code);
  for (const core::operation* op : operations)
    fmt::print("operation: {}\n      assay list operations {}\n\n", op->name, op->name);
  if (known.empty() && operations.empty()) {
    complain(
        fmt::format("no model, kernel, function or operation fits \"{}\"; your own formula: assay check-formula; "
                    "all operations: assay list operations",
                    fmt::join(words, " ")));
    return wrong_input;
  }
  fmt::print("From a command line: assay gate --candidate python:MODULE:FUNCTION@OPERATION\n");
  return all_passed;
}

}  // namespace

command_work find_command(CLI::App& app) {
  struct find_options {
    std::vector<std::string> words{};
    bool as_markdown = false;
  };
  auto options = std::make_shared<find_options>();
  app.add_option("words", options->words, "a name, such as: llama 3.1, flash_attn_func, apply_rotary_pos_emb");
  app.add_flag("--markdown", options->as_markdown, "all that is known, as tables for a document");
  return [options](const program_options&) -> int {
    if (!options->as_markdown) return find(options->words);
    show_as_markdown();
    return all_passed;
  };
}

}  // namespace assay::tools
