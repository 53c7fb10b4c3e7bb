#include "reference/core/operation.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

namespace assay::core {
namespace {

struct axis {
  std::size_t factor = 1;
  std::string_view symbol;
  std::string_view each{};                    // the symbol whose size is a further factor
  std::size_t more = 0, less = 0, parts = 1;  // the numbers that are added, subtracted and divided by
  std::string_view behind{};                  // the symbol whose size is added

  [[nodiscard]] bool is_plain() const {
    return factor == 1 && each.empty() && more == 0 && less == 0 && parts == 1 && behind.empty();
  }
  // The factor by which the size of the symbol is multiplied.
  [[nodiscard]] std::size_t times(const axis_sizes& sizes) const {
    return factor * (each.empty() ? 1 : sizes.at(std::string(each)));
  }
  // The size of the axis for a size of the symbol; size_in() is the inverse.
  [[nodiscard]] std::size_t size_for(std::size_t size, const axis_sizes& sizes) const {
    const std::size_t all = times(sizes) * size / parts + more + (behind.empty() ? 0 : sizes.at(std::string(behind)));
    return all - std::min(all, less);
  }
  [[nodiscard]] std::size_t size_in(std::size_t own, const axis_sizes& sizes) const {
    return own == 0 ? 0 : (own - more + less) * parts / times(sizes);
  }
};

// "2d" is twice the size of d; "h*u" holds u for each h, where u is the size of a setting; "s+1" is one more than s;
// "2s-1" is one less than twice s, the distances between s places; "1", without a symbol, is a size by itself. "h*w+k",
// of an output, means the elements of a grid and k more.
axis parse_axis(std::string_view text) {
  axis a;
  const auto [end, ignored] = std::from_chars(text.data(), text.data() + text.size(), a.factor);
  a.symbol = text.substr(static_cast<std::size_t>(end - text.data()));
  if (const std::size_t plus = a.symbol.find('+'); plus != std::string_view::npos) {
    const auto number = std::from_chars(a.symbol.data() + plus + 1, a.symbol.data() + a.symbol.size(), a.more);
    if (number.ec != std::errc()) a.behind = a.symbol.substr(plus + 1);
    a.symbol = a.symbol.substr(0, plus);
  }
  if (const std::size_t minus = a.symbol.find('-'); minus != std::string_view::npos) {
    std::from_chars(a.symbol.data() + minus + 1, a.symbol.data() + a.symbol.size(), a.less);
    a.symbol = a.symbol.substr(0, minus);
  }
  if (const std::size_t slash = a.symbol.find('/'); slash != std::string_view::npos) {
    std::from_chars(a.symbol.data() + slash + 1, a.symbol.data() + a.symbol.size(), a.parts);
    a.parts = std::max<std::size_t>(a.parts, 1);
    a.symbol = a.symbol.substr(0, slash);
  }
  if (const std::size_t star = a.symbol.find('*'); star != std::string_view::npos) {
    a.each = a.symbol.substr(star + 1);
    a.symbol = a.symbol.substr(0, star);
  }
  return a;
}

template <class Declaration>
const Declaration* find(const std::vector<Declaration>& all, std::string_view name) {
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

// Checks presence, dtype and rank of every declared tensor, and that there are no others.
result<void> check_presence(const std::string& op, const char* what, const std::vector<tensor_declaration>& declared,
                            dtype type, const tensors& given) {
  for (const auto& d : declared) {
    const auto it = given.find(d.name);
    if (it == given.end()) return failure(op + ": " + what + " '" + d.name + "' is missing");
    if (it->second.type != d.type_in(type))
      return failure(op + ": " + what + " '" + d.name + "' must be " + std::string(name_of(d.type_in(type))) +
                     " but is " + std::string(name_of(it->second.type)));
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
  return x >= low && x <= high;  // +inf belongs to a domain whose upper end it is
}

tensor_declaration parameter(std::string name, std::vector<std::string> axes, std::string meaning,
                             value_domain domain) {
  return {.name = std::move(name),
          .axes = std::move(axes),
          .meaning = std::move(meaning),
          .domain = domain,
          .role = input_role::parameter};
}

tensor_declaration integers(std::string name, std::vector<std::string> axes, std::string meaning, value_domain domain,
                            input_role role) {
  return {.name = std::move(name),
          .axes = std::move(axes),
          .meaning = std::move(meaning),
          .domain = domain,
          .differentiable = false,
          .own_type = dtype::i64,
          .role = role};
}

tensor_declaration truths(std::string name, std::vector<std::string> axes, std::string meaning, input_role role) {
  tensor_declaration d = integers(std::move(name), std::move(axes), std::move(meaning), {0, 1}, role);
  d.own_type = dtype::boolean;
  return d;
}

const tensor_declaration* operation::input(std::string_view wanted) const { return find(inputs, wanted); }
const tensor_declaration* operation::output(std::string_view wanted) const { return find(outputs, wanted); }
const attribute_declaration* operation::attribute(std::string_view wanted) const { return find(attributes, wanted); }
bool operation::has_gradient() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const auto& d) { return d.differentiable; });
}

operation_name::operation_name(std::string_view name) : forward(name.substr(0, name.find(':'))) {
  if (name.size() > forward.size())
    kind = chosen<derivative>(name.substr(forward.size()), {{":vjp", derivative::vjp}, {":jvp", derivative::jvp}});
}

// The name of the derivative, and what it shares with the operation.
operation derivative_of(const operation& forward, const char* suffix) {
  return {.name = forward.name + suffix,
          .source = forward.source,
          .inputs = forward.inputs,
          .attributes = forward.attributes,
          .stages = forward.stages,
          .grows_with = forward.grows_with,
          .independent = forward.independent,
          .axis_roles = forward.axis_roles,
          .conflict = forward.conflict,
          .named_only = forward.named_only};
}

// A tensor that goes with one of the forward operation and has its shape.
tensor_declaration beside(const tensor_declaration& d, const char* prefix, const char* meaning,
                          input_role role = input_role::value) {
  return {.name = prefix + d.name, .axes = d.axes, .meaning = meaning + d.name, .differentiable = false, .role = role};
}

precisions operation::usual_precisions(dtype storage) const {
  if (storage != dtype::f16 && storage != dtype::bf16) return storage;
  if (stages.empty()) return dtype::f32;
  std::vector<dtype> formats;
  for (const stage_declaration& s : stages) formats.push_back(s.narrow ? storage : dtype::f32);
  return {stages, std::move(formats)};
}

operation vjp_of(const operation& forward) {
  operation vjp = derivative_of(forward, ":vjp");
  for (const auto& out : forward.outputs)
    vjp.inputs.push_back(beside(out, "grad_", "cotangent of ", input_role::cotangent));
  for (const auto& in : forward.inputs)
    if (in.differentiable) vjp.outputs.push_back(beside(in, "grad_", "gradient in "));
  return vjp;
}

operation jvp_of(const operation& forward) {
  operation jvp = derivative_of(forward, ":jvp");
  for (const auto& in : forward.inputs)
    if (in.differentiable) jvp.inputs.push_back(beside(in, "tangent_", "tangent of ", input_role::tangent));
  for (const auto& out : forward.outputs) jvp.outputs.push_back(beside(out, "tangent_", "directional derivative of "));
  return jvp;
}

std::set<std::string> axis_symbols(const operation& op) {
  std::set<std::string> symbols;
  for (const auto& d : op.inputs)
    for (const std::string& text : d.axes)
      if (const axis a = parse_axis(text); !a.symbol.empty()) symbols.emplace(a.symbol);
  for (const auto& a : op.attributes)
    if (!a.axis.empty()) symbols.insert(a.axis);
  return symbols;
}

std::set<std::string> free_axes(const operation& op) {
  std::set<std::string> symbols = axis_symbols(op);
  for (const auto& a : op.attributes) symbols.erase(a.axis);
  return symbols;
}

const attribute_declaration* attribute_of_axis(const operation& op, std::string_view symbol) {
  for (const auto& a : op.attributes)
    if (!a.axis.empty() && a.axis == symbol) return &a;
  return nullptr;
}

std::string conflict_within(const operation& op, const core::attributes& settings,
                            const std::map<std::string, size_bounds>& bounds) {
  if (op.conflict == nullptr) return "";
  axis_sizes sizes;
  for (const auto& a : op.attributes)
    if (!a.axis.empty()) sizes[a.axis] = static_cast<std::size_t>(setting<std::int64_t>(settings, a.name));
  const std::set<std::string> free = free_axes(op);
  std::string conflict_of_largest;
  for (std::size_t low = 0; low < std::size_t{1} << free.size(); ++low) {  // a bit for each axis at its lower bound
    std::size_t bit = 1;
    for (const std::string& symbol : free) {
      const auto given = bounds.find(symbol);
      const size_bounds bound = given == bounds.end() ? size_bounds{} : given->second;
      sizes[symbol] = (low & bit) != 0 ? bound.low : bound.high;
      bit *= 2;
    }
    const std::string why = op.conflict(settings, sizes);
    if (why.empty()) return "";
    if (low == 0) conflict_of_largest = why;
  }
  return conflict_of_largest;
}

shape shape_of(const tensor_declaration& declaration, const axis_sizes& sizes) {
  shape s;
  for (const std::string& text : declaration.axes) {
    const axis a = parse_axis(text);
    const auto it = sizes.find(std::string(a.symbol));
    ASSAY_EXPECTS(a.symbol.empty() || it != sizes.end());
    s.push_back(a.size_for(a.symbol.empty() ? 1 : it->second, sizes));
  }
  return s;
}

std::vector<double> error_scales(const tensor_declaration& output, dtype type, const shape& s,
                                 std::span<const double> truth) {
  std::vector<double> scales(truth.size(), 1.0);
  if (!is_floating(type)) return scales;
  const double least = output.scale == error_scale::absolute ? 1.0 : smallest_normal(type);
  for (std::size_t i = 0; i < truth.size(); ++i)
    scales[i] = std::isfinite(truth[i]) ? std::max(least, std::fabs(truth[i])) : least;
  if (output.scale != error_scale::by_row || s.empty() || s.back() == 0) return scales;
  const auto width = static_cast<std::ptrdiff_t>(s.back());
  for (auto row = scales.begin(); row != scales.end(); row += width)
    std::fill(row, row + width, *std::max_element(row, row + width));
  return scales;
}

std::string_view words_for(error_scale scale) {
  switch (scale) {
    case error_scale::absolute:
      return "max(1, |x|)";
    case error_scale::relative:
      return "|x|";
    case error_scale::by_row:
      return "the largest |x| of its row";
  }
  throw contract_violation("there is no such scale of errors");
}

std::optional<std::size_t> axis_of(const tensor_declaration& declaration, std::string_view symbol) {
  const auto it = std::find(declaration.axes.begin(), declaration.axes.end(), symbol);
  if (it == declaration.axes.end()) return std::nullopt;
  return static_cast<std::size_t>(it - declaration.axes.begin());
}

namespace {

// The size of an axis, found from an input that has the axis alone.
std::size_t size_of_axis(const operation& op, const tensors& inputs, std::string_view symbol) {
  for (const auto& d : op.inputs)
    if (const auto i = axis_of(d, symbol)) return inputs.at(d.name).shape()[*i];
  return 0;
}

// Replaces indices of positions by the indices that these positions have now; an index of a position that is gone
// becomes that of some other one. Offsets become the number of kept positions before them.
void renumber(tensor& indices, value_rule rule, const std::vector<std::size_t>& positions) {
  if (rule == value_rule::offsets) {
    for (double& x : indices.values.storage())
      x = static_cast<double>(
          std::count_if(positions.begin(), positions.end(), [&](std::size_t p) { return static_cast<double>(p) < x; }));
    return;
  }
  for (double& x : indices.values.storage()) {
    const auto old = static_cast<std::size_t>(x);
    const auto now = std::find(positions.begin(), positions.end(), old);
    x = static_cast<double>(now == positions.end() ? old % positions.size()
                                                   : static_cast<std::size_t>(now - positions.begin()));
  }
}

}  // namespace

tensors restrict_axis(const operation& op, const tensors& inputs, std::string_view symbol,
                      const std::vector<std::size_t>& positions) {
  tensors out = inputs;
  const std::size_t size = size_of_axis(op, inputs, symbol);
  // A cotangent whose axis is made of several symbols no longer fits: then this is no valid call, and nobody runs it.
  for (const auto& d : op.inputs) {
    if (d.index_into == symbol && !positions.empty()) renumber(out.at(d.name), d.rule, positions);
    for (std::size_t i = 0; i < d.axes.size(); ++i) {
      const axis a = parse_axis(d.axes[i]);
      if (a.symbol != symbol && a.behind != symbol) continue;
      tensor& t = out.at(d.name);
      std::vector<std::size_t> kept;
      if (a.behind == symbol) {  // kept positions come after everything that stands before them
        const std::size_t before = t.shape()[i] - std::min(t.shape()[i], size);
        for (std::size_t k = 0; k < before; ++k) kept.push_back(k);
        for (const std::size_t p : positions) kept.push_back(before + p);
        t = take(t, i, kept);
        continue;
      }
      if (!a.each.empty()) {
        const std::size_t each = size == 0 ? 0 : t.shape()[i] / size;
        for (const std::size_t p : positions)
          for (std::size_t k = 0; k < each; ++k) kept.push_back(p * each + k);
        t = take(t, i, kept);
        continue;
      }
      if (a.more > 0) {  // the ends of the kept parts: all between two ends belongs to them
        const double last = t.size() == 0 ? 0.0 : t.values.storage().back();
        for (std::size_t k = 0; k < a.more; ++k) kept.push_back(k);
        for (const std::size_t p : positions) kept.push_back(p + a.more);
        t = take(t, i, kept);
        if (d.rule == value_rule::offsets && !kept.empty())
          for (std::size_t end = kept.size(); end <= t.size(); end += kept.size()) t.values.storage()[end - 1] = last;
        continue;
      }
      if (a.less > 0) {  // distances between fewer places
        const std::size_t all = positions.size() * a.factor;
        for (std::size_t k = 0; k + a.less < all; ++k) kept.push_back(k);
        t = take(t, i, kept);
        continue;
      }
      if (a.parts > 1) {
        for (std::size_t k = 0; k < positions.size() / a.parts; ++k) kept.push_back(k);
        t = take(t, i, kept);
        continue;
      }
      const std::size_t block = t.shape()[i] / a.factor;
      for (std::size_t b = 0; b < a.factor; ++b)
        for (const std::size_t p : positions) kept.push_back(b * block + p);
      t = take(t, i, kept);
    }
  }
  return out;
}

attributes completed(const operation& op, const attributes& set) {
  attributes all = set;
  for (const attribute_declaration& a : op.attributes) {
    const auto it = all.try_emplace(a.name, a.standard).first;
    if (std::holds_alternative<double>(a.standard))
      if (const auto x = as_number(it->second)) it->second = *x;
  }
  return all;
}

std::vector<attribute> attribute_declaration::values_of(list_version known) const {
  if (since > known) return {standard};
  std::vector<attribute> all = values;
  for (const auto& [value, came] : later_values)
    if (came > known) all.erase(std::remove(all.begin(), all.end(), value), all.end());
  return all;
}

attributes without_unasked(const operation& op, attributes set) {
  for (const attribute_declaration& a : op.attributes)
    if (const auto it = set.find(a.name); a.is_later() && it != set.end() && it->second == a.standard) set.erase(it);
  return set;
}

result<void> check_attributes(const operation& op, const attributes& set) {
  for (const attribute_declaration& a : op.attributes) {
    const auto it = set.find(a.name);
    if (it == set.end()) continue;
    const auto refuse = [&](const std::string& rule) {
      return failure(op.name + ": attribute '" + a.name + "' must be " + rule + " but is " + to_string(it->second));
    };
    const bool fits = it->second.index() == a.standard.index() ||
                      (std::holds_alternative<double>(a.standard) && as_number(it->second).has_value());
    if (!fits) return refuse(type_name(a.standard));
    if (const auto x = as_number(it->second)) {
      if (!(*x >= a.low && *x <= a.high))
        return refuse("from " + to_string(attribute(a.low)) + " to " + to_string(attribute(a.high)));
    } else if (std::find(a.values.begin(), a.values.end(), it->second) == a.values.end()) {
      std::string known;
      for (const attribute& value : a.values) known += (known.empty() ? "" : ", ") + to_string(value);
      return refuse("one of " + known);
    }
  }
  return {};
}

result<void> check_declared(const operation& op, const attributes& set) {
  for (const auto& [name, value] : set)
    if (op.attribute(name) == nullptr) return failure(op.name + " has no attribute '" + name + "'");
  return {};
}

namespace {

// Sizes, and the name that has fixed each: an attribute, or the first input with the axis.
class found_sizes {
 public:
  explicit found_sizes(const operation& op) : op_(op) {}

  void take_attributes(const attributes& settings) {
    for (const attribute_declaration& a : op_.attributes)
      if (!a.axis.empty()) set(a.axis, static_cast<std::size_t>(as_number(settings.at(a.name)).value()), a.name);
  }
  // Takes the size of one axis of an input; an error where it contradicts another.
  result<void> take(const tensor_declaration& d, const shape& s, std::size_t i) {
    const axis a = parse_axis(d.axes[i]);
    const std::string symbol(a.symbol);
    if (symbol.empty()) return s[i] == a.factor ? result<void>() : failure(wanted(d) + " but has " + to_string(s));
    const auto known = sizes_.find(symbol);
    if (known == sizes_.end()) {
      const std::size_t times = a.times(sizes_);
      if (s[i] < a.more) return failure(wanted(d) + " but has " + to_string(s));
      if (s[i] != 0 && (s[i] - a.more + a.less) % times != 0)
        return failure(wanted(d) + " but has " + to_string(s) + ": axis " + std::to_string(i) +
                       (a.less > 0 ? " and " + std::to_string(a.less) + " more" : "") + " must be a multiple of " +
                       std::to_string(times));
      set(symbol, a.size_in(s[i], sizes_), d.name);
    } else if (s[i] != a.size_for(known->second, sizes_)) {
      return failure(wanted(d) + " with " + symbol + " = " + std::to_string(known->second) + " (from '" +
                     *fixed_by_.at(symbol) + "')" + (a.each.empty() ? "" : " and " + with_setting(a)) + " but has " +
                     to_string(s));
    }
    return {};
  }
  [[nodiscard]] const axis_sizes& sizes() const { return sizes_; }

 private:
  // "u = 2 (from 'group')"
  [[nodiscard]] std::string with_setting(const axis& a) const {
    const std::string each(a.each);
    return each + " = " + std::to_string(sizes_.at(each)) + " (from '" + *fixed_by_.at(each) + "')";
  }
  void set(const std::string& symbol, std::size_t size, const std::string& by) {
    sizes_[symbol] = size;
    fixed_by_[symbol] = &by;
  }
  [[nodiscard]] std::string wanted(const tensor_declaration& d) const {
    return op_.name + ": input '" + d.name + "' must have shape " + declared_shape(d);
  }
  const operation& op_;
  axis_sizes sizes_;
  std::map<std::string, const std::string*> fixed_by_;  // names that the operation holds
};

// Whether each row of the last axis holds offsets.
bool are_offsets(const tensor& t, std::size_t size) {
  const std::span<const double> all(t.values.storage());
  const std::size_t width = t.shape().empty() ? 0 : t.shape().back();
  if (width < 2) return false;
  for (std::size_t k = 0; k < all.size(); k += width) {
    const auto row = all.subspan(k, width);
    if (row.front() != 0 || row.back() != static_cast<double>(size) || !std::is_sorted(row.begin(), row.end()))
      return false;
  }
  return true;
}

// The sizes, or an error that names the first index that lies beyond its axis.
result<axis_sizes> check_indices(const operation& op, const tensors& inputs, const axis_sizes& sizes) {
  for (const tensor_declaration& d : op.inputs) {
    if (d.index_into.empty()) continue;
    const std::size_t size = sizes.at(d.index_into);
    if (d.rule == value_rule::offsets) {
      if (!are_offsets(inputs.at(d.name), size))
        return failure(op.name + ": input '" + d.name + "' must ascend from 0 to " + d.index_into + " = " +
                       std::to_string(size));
      continue;
    }
    for (const double x : inputs.at(d.name).values)
      if (!(x >= 0 && x < static_cast<double>(size)))
        return failure(op.name + ": input '" + d.name + "' holds " + std::to_string(static_cast<std::int64_t>(x)) +
                       ", which must be at least 0 and below " + d.index_into + " = " + std::to_string(size));
  }
  return sizes;
}

}  // namespace

result<axis_sizes> check_request(const request& call) {
  const operation& op = *call.operation;
  if (auto ok = check_attributes(op, call.attributes); !ok) return tl::make_unexpected(ok.error());
  if (auto ok = check_presence(op.name, "input", op.inputs, call.type, call.inputs); !ok)
    return tl::make_unexpected(ok.error());
  const attributes settings = completed(op, call.attributes);
  found_sizes found(op);
  found.take_attributes(settings);
  // Sizes come from plain symbols first; then every axis, multiples included, must agree.
  for (const bool plain : {true, false})
    for (const auto& d : op.inputs)
      for (std::size_t i = 0; i < d.axes.size(); ++i)
        if (parse_axis(d.axes[i]).is_plain() == plain)
          if (auto ok = found.take(d, call.inputs.at(d.name).shape(), i); !ok) return tl::make_unexpected(ok.error());
  if (op.conflict != nullptr)
    if (const std::string why = op.conflict(settings, found.sizes()); !why.empty())
      return failure(op.name + ": " + why);
  return check_indices(op, call.inputs, found.sizes());
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

axis_sizes sizes_of(const request& call) {
  axis_sizes sizes;
  for (const attribute_declaration& a : call.operation->attributes) {
    if (a.axis.empty()) continue;
    const auto set = call.attributes.find(a.name);
    const attribute& value = set == call.attributes.end() ? a.standard : set->second;
    sizes[a.axis] = static_cast<std::size_t>(as_number(value).value());
  }
  for (const tensor_declaration& d : call.operation->inputs) {
    const auto& lengths = call.inputs.at(d.name).values.shape();
    for (std::size_t i = 0; i < d.axes.size(); ++i) {
      const axis a = parse_axis(d.axes[i]);
      if (a.symbol.empty()) continue;
      sizes.try_emplace(std::string(a.symbol), a.size_in(lengths[i], sizes));
    }
  }
  return sizes;
}

result<void> check_domain(const operation& op, const tensors& inputs) {
  for (const auto& d : op.inputs) {
    const tensor& t = inputs.at(d.name);
    for (std::size_t i = 0; i < t.size(); ++i)
      if (const double x = t.values.data()[i]; !d.domain.contains(x))
        return failure(op.name + ": input '" + d.name + "' at index " + index_text(t.shape(), i) + " is " +
                       std::to_string(x) + ", outside the domain of the operation");
  }
  return check_rules(op, inputs);
}

namespace {

// Whether a row of the last axis keeps to the rule.
bool keeps_to(value_rule rule, dtype type, std::span<const double> row) {
  switch (rule) {
    case value_rule::unit: {
      const double norm = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
      return std::fabs(norm - 1) <= 4 * unit_roundoff(type);
    }
    case value_rule::ascending:
      return std::is_sorted(row.begin(), row.end());
    case value_rule::one_in_each_row:
      return std::any_of(row.begin(), row.end(), [](double x) { return x != 0; });
    case value_rule::none:
    case value_rule::offsets:
    case value_rule::as_drawn:
      return true;
  }
  throw contract_violation("there is no such rule of values");
}
constexpr std::string_view words_of(value_rule rule) {
  return rule == value_rule::unit        ? "rows of length 1"
         : rule == value_rule::ascending ? "numbers that ascend along its last axis"
                                         : "a truth in each row";
}

}  // namespace

result<void> check_rules(const operation& op, const tensors& inputs) {
  for (const tensor_declaration& d : op.inputs) {
    const tensor& t = inputs.at(d.name);
    if (d.rule == value_rule::none || t.size() == 0 || t.shape().empty()) continue;
    const std::span<const double> all(t.values.storage());
    const std::size_t width = t.shape().back();
    for (std::size_t k = 0; k < all.size(); k += width)
      if (!keeps_to(d.rule, t.type, all.subspan(k, width)))
        return failure(op.name + ": input '" + d.name + "' must have " + std::string(words_of(d.rule)));
  }
  return {};
}

}  // namespace assay::core
