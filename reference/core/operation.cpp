#include "reference/core/operation.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace assay::core {
namespace {

struct axis {
  std::size_t factor = 1;
  std::string_view symbol;
};

// "2d" is twice the size of d.
axis parse_axis(std::string_view text) {
  axis a;
  const auto [end, ignored] = std::from_chars(text.data(), text.data() + text.size(), a.factor);
  a.symbol = text.substr(static_cast<std::size_t>(end - text.data()));
  return a;
}

const tensor_declaration* find(const std::vector<tensor_declaration>& all, std::string_view name) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const auto& d) { return d.name == name; });
  return it == all.end() ? nullptr : &*it;
}

std::string declared_shape(const tensor_declaration& d) {
  std::string text = "[";
  for (std::size_t i = 0; i < d.axes.size(); ++i) text += (i ? ", " : "") + d.axes[i];
  return text + "]";
}

std::string join_names(const std::vector<tensor_declaration>& all) {
  std::string text;
  for (const auto& d : all) text += (text.empty() ? "" : ", ") + d.name;
  return text;
}

// Presence, dtype and rank of every declared tensor, and none besides.
result<void> check_presence(const std::string& op, const char* what, const std::vector<tensor_declaration>& declared,
                            dtype type, const tensors& given) {
  for (const auto& d : declared) {
    const auto it = given.find(d.name);
    if (it == given.end()) return failure(op + ": " + what + " '" + d.name + "' is missing");
    if (it->second.type != type)
      return failure(op + ": " + what + " '" + d.name + "' must be " + std::string(name_of(type)) + " but is " +
                     std::string(name_of(it->second.type)));
    if (it->second.shape().size() != d.axes.size())
      return failure(op + ": " + what + " '" + d.name + "' must have shape " + declared_shape(d) + " but has " +
                     to_string(it->second.shape()));
  }
  for (const auto& [name, t] : given)
    if (find(declared, name) == nullptr)
      return failure(op + ": unknown " + what + " '" + name + "' (expected: " + join_names(declared) + ")");
  return {};
}

}  // namespace

bool value_domain::contains(double x) const {
  if (x == -std::numeric_limits<double>::infinity()) return minus_infinity;
  return std::isfinite(x) && x >= low && x <= high;
}

const tensor_declaration* operation::input(std::string_view wanted) const { return find(inputs, wanted); }
const tensor_declaration* operation::output(std::string_view wanted) const { return find(outputs, wanted); }

derivative operation::kind() const {
  if (name.ends_with(":vjp")) return derivative::vjp;
  return name.ends_with(":jvp") ? derivative::jvp : derivative::none;
}

operation vjp_of(const operation& forward) {
  operation vjp{forward.name + ":vjp", forward.inputs, {}, std::nullopt, forward.source};
  for (const auto& out : forward.outputs)
    vjp.inputs.push_back({"grad_" + out.name, out.axes, {}, false, "cotangent of " + out.name});
  for (const auto& in : forward.inputs)
    if (in.differentiable) vjp.outputs.push_back({"grad_" + in.name, in.axes, {}, false, "gradient in " + in.name});
  return vjp;
}

operation jvp_of(const operation& forward) {
  operation jvp{forward.name + ":jvp", forward.inputs, {}, std::nullopt, forward.source};
  for (const auto& in : forward.inputs)
    if (in.differentiable) jvp.inputs.push_back({"tangent_" + in.name, in.axes, {}, false, "tangent of " + in.name});
  for (const auto& out : forward.outputs)
    jvp.outputs.push_back({"tangent_" + out.name, out.axes, {}, false, "directional derivative of " + out.name});
  return jvp;
}

std::set<std::string> axis_symbols(const operation& op) {
  std::set<std::string> symbols;
  for (const auto& d : op.inputs)
    for (const std::string& text : d.axes) symbols.emplace(parse_axis(text).symbol);
  return symbols;
}

shape shape_of(const tensor_declaration& declaration, const axis_sizes& sizes) {
  shape s;
  for (const std::string& text : declaration.axes) {
    const axis a = parse_axis(text);
    const auto it = sizes.find(std::string(a.symbol));
    ASSAY_EXPECTS(it != sizes.end());
    s.push_back(a.factor * it->second);
  }
  return s;
}

std::optional<std::size_t> axis_of(const tensor_declaration& declaration, std::string_view symbol) {
  const auto it = std::find(declaration.axes.begin(), declaration.axes.end(), symbol);
  if (it == declaration.axes.end()) return std::nullopt;
  return static_cast<std::size_t>(it - declaration.axes.begin());
}

tensors restrict_axis(const operation& op, const tensors& inputs, std::string_view symbol,
                      const std::vector<std::size_t>& positions) {
  tensors out = inputs;
  for (const auto& d : op.inputs)
    for (std::size_t i = 0; i < d.axes.size(); ++i) {
      const axis a = parse_axis(d.axes[i]);
      if (a.symbol != symbol) continue;
      tensor& t = out.at(d.name);
      const std::size_t block = t.shape()[i] / a.factor;
      std::vector<std::size_t> kept;
      for (std::size_t b = 0; b < a.factor; ++b)
        for (const std::size_t p : positions) kept.push_back(b * block + p);
      t = take(t, i, kept);
    }
  return out;
}

result<axis_sizes> check_inputs(const operation& op, dtype type, const tensors& inputs) {
  if (auto ok = check_presence(op.name, "input", op.inputs, type, inputs); !ok) return tl::make_unexpected(ok.error());
  // Sizes come from plain symbols first; then every axis, multiples included, must agree.
  axis_sizes sizes;
  std::map<std::string, std::string> fixed_by;
  for (const bool multiples : {false, true})
    for (const auto& d : op.inputs) {
      const shape s = inputs.at(d.name).shape();
      for (std::size_t i = 0; i < s.size(); ++i) {
        const axis a = parse_axis(d.axes[i]);
        if ((a.factor != 1) != multiples) continue;
        const std::string symbol(a.symbol);
        const auto known = sizes.find(symbol);
        if (known == sizes.end()) {
          if (s[i] % a.factor != 0)
            return failure(op.name + ": input '" + d.name + "' must have shape " + declared_shape(d) + " but has " +
                           to_string(s) + ": axis " + std::to_string(i) + " must be a multiple of " +
                           std::to_string(a.factor));
          sizes[symbol] = s[i] / a.factor;
          fixed_by[symbol] = d.name;
        } else if (s[i] != a.factor * known->second) {
          return failure(op.name + ": input '" + d.name + "' must have shape " + declared_shape(d) + " with " + symbol +
                         " = " + std::to_string(known->second) + " (from '" + fixed_by[symbol] + "') but has " +
                         to_string(s));
        }
      }
    }
  return sizes;
}

result<void> check_outputs(const operation& op, dtype type, const axis_sizes& sizes, const tensors& outputs) {
  if (auto ok = check_presence(op.name, "output", op.outputs, type, outputs); !ok) return ok;
  for (const auto& d : op.outputs) {
    const shape expected = shape_of(d, sizes);
    const shape came = outputs.at(d.name).shape();
    if (came != expected)
      return failure(op.name + ": output '" + d.name + "' must have shape " + to_string(expected) + " but has " +
                     to_string(came));
  }
  return {};
}

result<void> check_domain(const operation& op, const tensors& inputs) {
  for (const auto& d : op.inputs) {
    const tensor& t = inputs.at(d.name);
    for (std::size_t i = 0; i < t.size(); ++i)
      if (const double x = t.values.data()[i]; !d.domain.contains(x))
        return failure(op.name + ": input '" + d.name + "' at index " + index_text(t.shape(), i) + " is " +
                       std::to_string(x) + ", outside the domain of the operation");
  }
  return {};
}

}  // namespace assay::core
