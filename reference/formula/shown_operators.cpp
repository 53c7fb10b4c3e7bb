#include "reference/formula/shown_operators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace assay::reference::formula {
namespace {

constexpr std::size_t longest_shown_name = 64;

std::string list_of(const std::vector<std::int64_t>& all) { return fmt::format("[{}]", fmt::join(all, ", ")); }

expression shown_number(double x) {
  if (std::isnan(x)) return {"nan"};
  return {fmt::format("{}", x), std::signbit(x) ? binding::sign : binding::whole};
}

// x sign y, from left to right: y needs parentheses where it binds equally loosely.
expression infix(const expression& x, std::string_view sign, const expression& y, binding outermost) {
  return {fmt::format("{} {} {}", x.at_least(outermost), sign, y.above(outermost)), outermost};
}

expression shown_power(const expression& x, std::int64_t p, std::int64_t q) {
  const std::string exponent = q != 1  ? fmt::format("({}/{})", p, q)
                               : p < 0 ? fmt::format("({})", p)
                                       : fmt::format("{}", p);
  return {x.above(binding::power) + "^" + exponent, binding::power};
}

// "log_sum_exp over axes 0, 1 of x".
expression shown_over(std::string_view name, const std::vector<std::int64_t>& axes, const expression& x) {
  return {fmt::format("{} over {} {} of {}", name, axes.size() == 1 ? "axis" : "axes", fmt::join(axes, ", "),
                      x.at_least(binding::sign)),
          binding::choice};
}

// f(x, y, more).
expression shown_call(std::string_view name, const std::vector<expression>& in, const std::string& more = "") {
  std::vector<std::string> words;
  const std::size_t shown = std::min(in.size(), most_shown_inputs);
  const bool is_alone = in.size() == 1 && more.empty();
  for (std::size_t k = 0; k < shown; ++k) words.push_back(is_alone ? in[k].text : in[k].above(binding::choice));
  if (shown < in.size()) words.push_back(fmt::format("... {} more", in.size() - shown));
  if (!more.empty()) words.push_back(more);
  return {fmt::format("{}({})", name, fmt::join(words, ", "))};
}

expression shown_contraction(const contraction& letters, const expression& x, const expression& y) {
  std::string summed;
  for (const char letter : letters.x)
    if (letters.result.find(letter) == std::string::npos) summed += letter;
  const std::string product = indexed(x, letters.x) + " " + indexed(y, letters.y);
  if (summed.empty()) return {product, binding::product};
  return {fmt::format("sum_{} {}", fmt::join(summed, ","), product), binding::choice};
}

expression shown_movement(const node& n, const std::vector<expression>& in) {
  const std::string_view name = row_of(n.what).name;
  switch (n.what) {
    case op::slice:
      return shown_call(name, in,
                        fmt::format("start {}, stop {}, step {}", list_of(n.integers[0]), list_of(n.integers[1]),
                                    list_of(n.integers[2])));
    case op::update:
      return shown_call(name, in, "at " + list_of(n.integers[0]));
    case op::reshape:
    case op::transpose:
    case op::broadcast:
      return shown_call(name, in, list_of(n.integers[0]));
    default:
      return shown_call(name, in, fmt::format("axis {}", n.integer(0)));
  }
}

}  // namespace

std::string shown_name(const std::string& name) {
  std::string shown;
  bool is_plain = true;
  for (const char c : name.substr(0, longest_shown_name)) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    is_plain = is_plain && is_letter;
    shown += c >= ' ' && c <= '~' && c != '\'' ? c : '?';
  }
  if (name.size() > longest_shown_name) shown += "...";
  return is_plain && name.size() <= longest_shown_name ? shown : "'" + shown + "'";
}

std::string indexed(const expression& x, const std::string& letters) {
  return x.at_least(binding::whole) + (letters.empty() ? "" : fmt::format("[{}]", fmt::join(letters, ",")));
}

expression shown_leaf(const node& n) {
  switch (n.what) {
    case op::input:
      return {shown_name(n.text)};
    case op::number:
    case op::setting:
      return shown_number(n.number);
    case op::data:
      return {fmt::format("data({} numbers)", n.values.size())};
    case op::fraction:
      if (n.integer(1) == 1) return shown_number(static_cast<double>(n.integer(0)));
      return {fmt::format("{}/{}", n.integer(0), n.integer(1)), binding::product};
    case op::integer:
      return {fmt::format("{}", n.integer(0)), n.integer(0) < 0 ? binding::sign : binding::whole};
    case op::boolean:
      return {n.integer(0) != 0 ? "true" : "false"};
    case op::iota:
      return {fmt::format("iota({})", n.integer(0))};
    default:
      return {std::string(row_of(n.what).name)};
  }
}

expression shown_operator(const node& n, const std::vector<expression>& in) {
  const std::string_view name = row_of(n.what).name;
  switch (n.what) {
    case op::add:
      return infix(in[0], "+", in[1], binding::sum);
    case op::subtract:
      return infix(in[0], "-", in[1], binding::sum);
    case op::multiply:
      return infix(in[0], "*", in[1], binding::product);
    case op::divide:
      return infix(in[0], "/", in[1], binding::product);
    case op::floor_divide:
      return infix(in[0], "//", in[1], binding::product);
    case op::remainder:
      return infix(in[0], "%", in[1], binding::product);
    case op::negative:
      return {"-" + in[0].above(binding::sign), binding::sign};
    case op::magnitude:
      return {"|" + in[0].text + "|"};
    case op::power:
      return shown_power(in[0], n.integer(0), n.integer(1));
    case op::pow:
      return {in[0].above(binding::power) + "^" + in[1].above(binding::power), binding::power};
    case op::less:
    case op::less_equal:
    case op::equal: {
      const std::string_view sign = n.what == op::less ? "<" : n.what == op::equal ? "=" : "<=";
      return {fmt::format("{} {} {}", in[0].above(binding::comparison), sign, in[1].above(binding::comparison)),
              binding::comparison};
    }
    case op::both:
      return infix(in[0], "and", in[1], binding::both);
    case op::either_one:
      return infix(in[0], "or", in[1], binding::either_one);
    case op::negation:
      return {"not " + in[0].at_least(binding::negation), binding::negation};
    case op::where:
      return {fmt::format("{} where {}, else {}", in[1].above(binding::choice), in[0].above(binding::choice),
                          in[2].above(binding::choice)),
              binding::choice};
    case op::sum:
    case op::mean:
    case op::largest:
    case op::log_sum_exp:
    case op::any:
    case op::all:
    case op::softmax:
    case op::cumulative_sum:
      return shown_over(name, n.integers[0], in[0]);
    case op::geometric_frequencies:
      return {fmt::format("{}^(-t/{}) for t = {}..{}", in[0].above(binding::power), n.integer(2), n.integer(0),
                          n.integer(0) + n.integer(1) - 1),
              binding::choice};
    case op::contract:
    case op::contract_at:
      return shown_contraction(*contraction_of(n.text), in[0], in[1]);
    case op::contract_where:
      return {shown_contraction(*contraction_of(n.text), in[0], in[1]).text + " where " + in[2].above(binding::choice),
              binding::choice};
    case op::maximum:
      return shown_call("max", in);
    case op::minimum:
      return shown_call("min", in);
    default:
      return row_of(n.what).kind == family::movement ? shown_movement(n, in) : shown_call(name, in);
  }
}

}  // namespace assay::reference::formula
