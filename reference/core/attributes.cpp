#include "reference/core/attributes.hpp"

#include <array>
#include <charconv>

namespace assay::core {
namespace {

struct shown {
  std::string operator()(bool x) const { return x ? "true" : "false"; }
  std::string operator()(std::int64_t x) const { return std::to_string(x); }
  std::string operator()(double x) const {
    std::array<char, 32> text{};  // the shortest that reads back needs at most 24
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr};
  }
  std::string operator()(const std::string& x) const { return "\"" + x + "\""; }
};

}  // namespace

std::optional<double> as_number(const attribute& value) {
  if (const auto* x = std::get_if<std::int64_t>(&value)) return static_cast<double>(*x);
  if (const auto* x = std::get_if<double>(&value)) return *x;
  return std::nullopt;
}

std::string type_name(const attribute& value) {
  constexpr std::array names{"true or false", "an integer", "a number", "a string"};
  return names[value.index()];
}

std::string to_string(const attribute& value) { return std::visit(shown{}, value); }

std::string to_string(const attributes& all) {
  std::string text;
  for (const auto& [name, value] : all) text += (text.empty() ? "" : ", ") + name + " = " + to_string(value);
  return text;
}

}  // namespace assay::core
