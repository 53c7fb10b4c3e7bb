// `assay find WORDS`: the operation that somebody's code is, and what to paste.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "reference/oracle.hpp"
#include "tools/commands.hpp"
#include "tools/find/known_code.hpp"
#include "tools/report/escape.hpp"

namespace assay::tools {
namespace {

// Letters and digits alone, in lower case: "Llama-3.1" and "llama 3.1" are the same name.
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

// How well a word fits: 3 a whole name, 2 the beginning of one, 1 anything else that is said of it.
int fit(const std::string& word, const std::vector<std::string>& names, const std::string& rest) {
  int best = folded(rest).find(word) == std::string::npos ? 0 : 1;
  for (const std::string& name : names) {
    const std::string known = folded(name);
    if (known == word) best = std::max(best, 3);
    if (known.starts_with(word)) best = std::max(best, 2);
    if (known.find(word) != std::string::npos) best = std::max(best, 1);
  }
  return best;
}
// All words as one name, or else each of them; 0 where one is nowhere.
int fit(const std::vector<std::string>& words, const std::vector<std::string>& names, const std::string& rest) {
  std::string together;
  for (const std::string& word : words) together += folded(word);
  const int as_one = fit(together, names, rest);
  int least = 3;
  for (const std::string& word : words) least = std::min(least, fit(folded(word), names, rest));
  return as_one > 0 ? 3 * as_one : std::min(least, 2);
}

template <class Thing>
std::vector<const Thing*> best_of(const std::vector<Thing>& all, std::size_t most, auto fit_of) {
  std::vector<std::pair<int, const Thing*>> found;
  for (const Thing& one : all)
    if (const int how = fit_of(one); how > 0) found.emplace_back(how, &one);
  std::ranges::stable_sort(found, std::ranges::greater(), &std::pair<int, const Thing*>::first);
  // Whole names leave out what only mentions the words.
  if (!found.empty() && found.front().first == 9)
    std::erase_if(found, [](const auto& entry) { return entry.first < 9; });
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

}  // namespace

int find(const std::vector<std::string>& words, bool as_markdown) {
  if (as_markdown) {
    show_as_markdown();
    return all_passed;
  }
  if (std::ranges::all_of(words, [](const std::string& w) { return folded(w).empty(); })) {
    complain("find what? A model, a kernel or a function, such as: assay find llama 3.1");
    return wrong_input;
  }
  constexpr std::size_t most = 6;
  std::vector<core::operation> forward;
  for (const core::operation& op : reference::operations())
    if (op.is_forward()) forward.push_back(op);
  const auto known = best_of(all_known_code(), most, [&](const known_code& code) {
    std::string rest = code.source + " " + code.note;
    for (const use_of_operation& use : code.uses) rest += " " + in_words(use);
    return fit(words, code.names, rest);
  });
  const auto operations = best_of(forward, most, [&](const core::operation& op) {
    return fit(words, {op.name, op.name.substr(0, op.name.find('/'))}, what_is_said_of(op));
  });
  for (const known_code* code : known) show(*code);
  if (known.empty() || std::ranges::any_of(operations, [&](const core::operation* op) {
        return fit(words, {op->name, op->name.substr(0, op->name.find('/'))}, "") > 0;
      }))
    for (const core::operation* op : operations)
      fmt::print("operation: {}\n      assay list operations {}\n\n", op->name, op->name);
  if (known.empty() && operations.empty()) {
    complain(fmt::format(
        "nothing is known by \"{}\"; a formula of your own: assay check-formula; all operations: assay list operations",
        fmt::join(words, " ")));
    return wrong_input;
  }
  fmt::print("From a command line: assay gate --candidate python:MODULE:FUNCTION@OPERATION\n");
  return all_passed;
}

}  // namespace assay::tools
