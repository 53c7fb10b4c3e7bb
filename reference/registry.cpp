#include "reference/registry.hpp"

#include <algorithm>

#include "reference/evaluate_in.hpp"

namespace assay::reference {

namespace encodings {
#define ASSAY_ENCODING(name) struct name;
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
}  // namespace encodings

namespace {

template <class Encoding>
encoding_routines routines_of(std::string_view name) {
  return {.name = name,
          .summary = summary_of<Encoding>(),
          .operations = declare<Encoding>(),
          .enclose_in_doubles = enclose_in_balls<Encoding, double>,
          .enclose_in_two_doubles = enclose_in_balls<Encoding, two_double>,
          .enclose = enclose<Encoding>,
          .laws = laws<Encoding>,
          .algorithm = run_algorithm<Encoding>,
          .tangent = differentiate<Encoding>};
}

}  // namespace

const std::vector<encoding_routines>& registry() {
  static const std::vector<encoding_routines> all = [] {
    std::vector<encoding_routines> made{
#define ASSAY_ENCODING(name) routines_of<encodings::name>(#name),
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
    };
    for (const encoding_routines& r : made)
      for (const declared_operation& d : r.operations) core::check_roles(d.declaration);
    return made;
  }();
  return all;
}

const encoding_routines& routines_for(const core::operation& op) {
  const std::string_view encoding = std::string_view(op.name).substr(0, op.name.find('/'));
  for (const encoding_routines& r : registry())
    if (r.name == encoding) return r;
  throw core::contract_violation("no encoding has the operation '" + op.name + "'");
}

const declared_operation& declaration_of(const core::operation& op) {
  for (const declared_operation& d : routines_for(op).operations)
    if (d.declaration.name == op.name) return d;
  throw core::contract_violation("there is no operation '" + op.name + "'");
}

const std::vector<core::operation>& operations() {
  static const std::vector<core::operation> all = [] {
    std::vector<core::operation> flat;
    for (const encoding_routines& r : registry())
      for (const declared_operation& d : r.operations) flat.push_back(d.declaration);
    return flat;
  }();
  return all;
}

const std::vector<std::string>& encoding_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const encoding_routines& r : registry()) names.emplace_back(r.name);
    return names;
  }();
  return all;
}

const core::encoding_summary& summary_of(std::string_view encoding) {
  const auto& all = registry();
  const auto it = std::find_if(all.begin(), all.end(), [&](const auto& r) { return r.name == encoding; });
  ASSAY_EXPECTS(it != all.end());
  return it->summary;
}

const std::vector<accuracy_class>& algorithms_of(const core::operation& op) { return declaration_of(op).algorithms; }

const core::operation* find_operation(std::string_view name) {
  const auto& all = operations();
  const auto it = std::find_if(all.begin(), all.end(), [&](const auto& op) { return op.name == name; });
  return it == all.end() ? nullptr : &*it;
}

const core::operation& forward_of(const core::operation& op) {
  if (op.is_forward()) return op;
  const core::operation* forward = find_operation(op.forward_name());
  ASSAY_EXPECTS(forward != nullptr);
  return *forward;
}

core::tensors evaluate(const core::request& call, accuracy_class c) {
  ASSAY_EXPECTS(c != accuracy_class::uniform);
  return routines_for(*call.operation).algorithm(call, c);
}

core::tensors evaluate_in(const core::request& call, const core::precisions& formats) {
  const std::string_view encoding = routines_for(*call.operation).name;
#define ASSAY_ENCODING(name) \
  if (encoding == #name) return run_formula<encodings::name>(call, formats);
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
  throw core::contract_violation("no encoding computes '" + call.operation->name + "'");
}

std::map<std::string, xt::xarray<double>> derivative_along(const core::request& call, const core::tensors& direction) {
  ASSAY_EXPECTS(call.operation->is_forward());
  return routines_for(*call.operation).tangent(call, direction);
}

}  // namespace assay::reference
