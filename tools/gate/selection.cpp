#include "tools/gate/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "properties/harness/catalogue.hpp"
#include "properties/harness/runner.hpp"
#include "properties/harness/sizes.hpp"
#include "tools/transports/near_names.hpp"

namespace assay::tools {
namespace {

using usual = properties::run_options::usual;
const effort efforts[] = {
    {.name = "smoke", .cases_per_family = 1, .horizon_tokens = 0, .sizes = usual::none, .values_in_one_dtype = true},
    {.name = "quick", .cases_per_family = 8, .horizon_tokens = 4096, .sizes = usual::some},
    {.name = "full", .cases_per_family = 64, .horizon_tokens = 32768, .sizes = usual::all}};

bool belongs(const core::operation& op, const gate_options& o) {
  const auto is_named = [&](const std::string& name) { return op.name == name || op.forward_name() == name; };
  const auto is_of = [&](const std::string& encoding) { return op.name.starts_with(encoding + "/"); };
  return (o.operations.empty() || std::any_of(o.operations.begin(), o.operations.end(), is_named)) &&
         (o.encodings.empty() || std::any_of(o.encodings.begin(), o.encodings.end(), is_of));
}

// "unknown family 'mildd' (near: mild; there are: mild, wild)"
tl::unexpected<core::error> unknown(const std::string& what, const std::string& name,
                                    const std::vector<std::string>& known) {
  return core::failure(fmt::format("unknown {} '{}' ({}there are: {})", what, name,
                                   transports::near_in_words(name, known), fmt::join(known, ", ")));
}

core::result<void> select_operations(const gate_options& o, selection& s) {
  for (const std::string& name : o.operations)
    if (const auto op = transports::operation_named(name); !op) return tl::make_unexpected(op.error());
  const auto& encodings = reference::encoding_names();
  for (const std::string& name : o.encodings)
    if (std::find(encodings.begin(), encodings.end(), name) == encodings.end())
      return core::failure("unknown encoding '" + name + "' (" +
                           transports::near_in_words(name, {encodings.begin(), encodings.end()}) +
                           "see: assay list encodings)");
  for (const core::operation& op : reference::operations())
    if (belongs(op, o)) s.operations.push_back(&op);
  for (const std::string& name : o.dtypes) {
    const auto t = core::dtype_named(name);
    if (!t || !core::is_floating(*t)) return unknown("dtype", name, {"f64", "f32", "f16", "bf16"});
    s.dtypes.push_back(*t);
  }
  s.dtypes_named = !s.dtypes.empty();
  if (!s.dtypes_named) s.dtypes.assign(std::begin(core::floating_dtypes), std::end(core::floating_dtypes));
  return {};
}

core::result<void> select_properties(const gate_options& o, selection& s) {
  std::vector<std::string> names;
  for (const properties::property& p : properties::properties()) {
    names.push_back(p.name);
    if (o.properties.empty() || std::find(o.properties.begin(), o.properties.end(), p.name) != o.properties.end())
      s.properties.push_back(&p);
  }
  for (const std::string& name : o.properties)
    if (properties::find_property(name) == nullptr) return unknown("property", name, names);
  s.properties_named = !o.properties.empty();
  return {};
}

core::result<void> select_families(const gate_options& o, selection& s) {
  std::set<std::string> known;
  for (const auto& tests : properties::all_encoding_tests())
    for (const properties::family& f : tests.families) known.insert(f.name);
  for (const std::string& name : o.families)
    if (!known.contains(name)) return unknown("family", name, {known.begin(), known.end()});
  s.families = o.families;
  return {};
}

// Parses "B=8,n=4096" into sizes.
core::result<core::axis_sizes> parse_shape(const std::string& text) {
  core::axis_sizes sizes;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    std::size_t size = 0;
    const char *first = part.data() + std::min(equals, part.size() - 1) + 1, *last = part.data() + part.size();
    const auto [end, error] = std::from_chars(first, last, size);
    if (equals == std::string::npos || equals == 0 || error != std::errc() || end != last || first == last ||
        size == 0 || !sizes.emplace(part.substr(0, equals), size).second)
      return core::failure("--shape " + text + ": '" + part + "' is no size such as n=4096");
  }
  if (sizes.empty()) return core::failure("--shape names no axis, such as n=4096");
  return sizes;
}

core::result<void> select_digits(const gate_options& o, selection& s) {
  for (const std::string& text : o.require_digits) {
    required_digits wanted;
    const char* end = text.data() + text.size();
    const auto [sign, no_digits] = std::from_chars(text.data(), end, wanted.digits);
    const bool has_length = no_digits == std::errc() && sign != end && *sign == '@';
    const auto [last, no_length] = std::from_chars(has_length ? sign + 1 : end, end, wanted.up_to);
    if (!has_length || no_length != std::errc() || last != end || wanted.digits < 1 || wanted.up_to < 1)
      return core::failure("--require-digits " + text + ": must be DIGITS@LENGTH, such as 6@131072");
    s.digits.push_back(wanted);
  }
  return {};
}

bool has_axes(const core::operation& op, const core::axis_sizes& sizes) {
  const std::set<std::string> symbols = core::axis_symbols(op);
  return std::all_of(sizes.begin(), sizes.end(), [&](const auto& axis) { return symbols.contains(axis.first); });
}

// "heinsen/scan has B, d, n; rope/rotate has B, d, h, n": only functions, because derivatives have the same axes.
std::string axes_in_words(const std::vector<const core::operation*>& operations) {
  std::vector<std::string> all;
  for (const core::operation* op : operations)
    if (std::string text = fmt::format("{} has {}", op->forward_name(), fmt::join(core::axis_symbols(*op), ", "));
        std::find(all.begin(), all.end(), text) == all.end())
      all.push_back(std::move(text));
  return fmt::format("{}", fmt::join(all, "; "));
}

// An error unless some operation has the axes of the shape.
core::result<void> check_axes(const std::string& shape, const core::axis_sizes& sizes, const char* which,
                              const std::vector<const core::operation*>& operations) {
  if (std::any_of(operations.begin(), operations.end(), [&](const auto* op) { return has_axes(*op, sizes); }))
    return {};
  return core::failure(
      fmt::format("--shape {}: no {} operation has all of these axes ({})", shape, which, axes_in_words(operations)));
}

core::result<void> check_elements(const std::string& shape, const core::axis_sizes& sizes, const core::operation& op,
                                  std::size_t most) {
  for (const auto* declared : {&op.inputs, &op.outputs})
    for (const core::tensor_declaration& d : *declared) {
      double elements = 1;
      for (const std::string& axis : d.axes)
        for (const auto& [symbol, size] : sizes)
          if (core::axis_of(core::tensor_declaration{"", {axis}}, symbol)) elements *= static_cast<double>(size);
      if (elements > static_cast<double>(most))
        return core::failure(
            fmt::format("--shape {}: '{}' of {} would have {:.4g} elements, more than --max-elements {}", shape, d.name,
                        op.name, elements, most));
    }
  return {};
}

core::result<void> select_shapes(const gate_options& o, selection& s) {
  for (const std::string& text : o.shapes) {
    auto sizes = parse_shape(text);
    if (!sizes) return tl::make_unexpected(sizes.error());
    if (auto ok = check_axes(text, *sizes, "selected", s.operations); !ok) return ok;
    s.shapes.push_back(std::move(*sizes));
  }
  return {};
}

}  // namespace

core::result<selection> select(const gate_options& o) {
  selection s;
  for (const auto part : {select_operations, select_properties, select_families, select_shapes, select_digits})
    if (auto ok = part(o, s); !ok) return tl::make_unexpected(ok.error());
  for (const std::string& name : o.require_class) {
    const auto c = reference::accuracy_class_named(name);
    if (!c) return unknown("accuracy class", name, {"uniform", "sequential", "tree", "linear", "cumsum"});
    s.good_enough.insert(*c);
  }
  s.level = std::find_if(std::begin(efforts), std::end(efforts), [&](const effort& e) { return e.name == o.effort; });
  if (s.level == std::end(efforts)) return unknown("effort", o.effort, {"smoke", "quick", "full"});
  if (s.level->values_in_one_dtype && !s.properties_named)
    std::erase_if(s.properties, [](const properties::property* p) { return !p->decides_class; });
  s.most_elements = o.most_elements;
  return s;
}

std::vector<const core::operation*> offered_operations(const selection& s, const properties::description& about) {
  std::vector<const core::operation*> offered;
  for (const core::operation* op : s.operations)
    if (std::any_of(s.dtypes.begin(), s.dtypes.end(), [&](core::dtype type) { return about.offers(op->name, type); }))
      offered.push_back(op);
  return offered;
}

core::result<void> check_shapes(const gate_options& o, const selection& s, const properties::description& about) {
  const auto offered = offered_operations(s, about);
  if (offered.empty()) return {};  // nothing is run; another message says so
  for (std::size_t k = 0; k < s.shapes.size(); ++k) {
    if (auto ok = check_axes(o.shapes[k], s.shapes[k], "offered", offered); !ok) return ok;
    std::string conflict;
    bool is_tried = false;
    for (const core::operation* op : offered) {
      if (!has_axes(*op, s.shapes[k])) continue;
      if (auto ok = check_elements(o.shapes[k], s.shapes[k], *op, o.most_elements); !ok) return ok;
      const std::string why = properties::conflict_of_shape(*op, s.shapes[k]);
      is_tried = is_tried || why.empty();
      if (conflict.empty() && !why.empty()) conflict = fmt::format("--shape {}: {}: {}", o.shapes[k], op->name, why);
    }
    if (!is_tried) return core::failure(conflict);
  }
  return {};
}

std::vector<std::string> sizes_left_out(const gate_options& o, const selection& s,
                                        const properties::description& about) {
  std::vector<std::string> all;
  const auto offered = offered_operations(s, about);
  properties::run_options sizes;
  sizes.sizes = s.level->sizes;
  sizes.most_elements = s.most_elements;
  if (std::any_of(offered.begin(), offered.end(),
                  [&](const auto* op) { return properties::leaves_out_usual_sizes(*op, sizes); }))
    all.push_back(fmt::format("usual sizes of kernels with more than {} elements were not tried", s.most_elements));
  for (std::size_t k = 0; k < s.shapes.size(); ++k)
    for (const core::operation* op : offered) {
      const bool fits = has_axes(*op, s.shapes[k]);
      if (!fits && !op->is_forward() && std::any_of(offered.begin(), offered.end(), [&](const auto* other) {
            return other->name == op->forward_name();
          }))
        continue;  // a derivative has the axes of its function, which is listed
      if (!fits) all.push_back(fmt::format("--shape {} was not tried: {}", o.shapes[k], axes_in_words({op})));
      if (const std::string why = fits ? properties::conflict_of_shape(*op, s.shapes[k]) : ""; !why.empty())
        all.push_back(fmt::format("--shape {} was not tried for {}: {}", o.shapes[k], op->name, why));
      for (const auto& [symbol, size] : s.shapes[k])
        if (fits && !about.sizes_of_axis(*op, symbol).holds(size))
          all.push_back(fmt::format("--shape {} was not tried with {}: the candidate does not declare the size {} = {}",
                                    o.shapes[k], op->name, symbol, size));
      if (const auto declared = about.relations.find(op->name); fits && declared != about.relations.end())
        for (const properties::axis_relation& r : declared->second)
          if (!r.holds(s.shapes[k]))
            all.push_back(fmt::format("--shape {} was tried for {} with other sizes: the candidate declares {} of it",
                                      o.shapes[k], op->name, r.text()));
    }
  return all;
}

}  // namespace assay::tools
