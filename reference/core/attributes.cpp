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

std::string to_string(const attribute& value) { return std::visit(shown{}, value); }

std::string to_string(const attributes& all) {
  std::string text;
  for (const auto& [name, value] : all) text += (text.empty() ? "" : ", ") + name + " = " + to_string(value);
  return text;
}

}  // namespace assay::core
