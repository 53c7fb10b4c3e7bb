#include "reference/registry.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "reference/encoding_owner.hpp"
#include "reference/evaluate_in.hpp"
#include "reference/oracle.hpp"

namespace assay::reference {

namespace encodings {
#define ASSAY_ENCODING(name) struct name;
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
}  // namespace encodings

namespace {

using owner_list = std::vector<std::unique_ptr<const formula_owner>>;

constexpr std::array names_of_the_list{
#define ASSAY_ENCODING(name) std::string_view(#name),
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
};

owner_list encodings_of_the_list() {
  owner_list all;
#define ASSAY_ENCODING(name) all.push_back(make_encoding_owner<encodings::name>());
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
  return all;
}

void check_algorithms(const declared_operation& d) {
  const auto& own = d.algorithms;
  if (own.empty() || own.front() != accuracy_class::sequential || !std::is_sorted(own.begin(), own.end()))
    throw core::contract_violation(d.declaration.name + ": its algorithms do not begin with sequential, or do not ascend");
}

void check_owner(const formula_owner& owner) {
  const std::string name(owner.name());
  if (name.empty() || name.find_first_of("/:") != std::string::npos)
    throw core::contract_violation("'" + name + "' is no name of an owner of formulas");
  std::unordered_set<std::string_view> names;
  for (const declared_operation& d : owner.operations()) {
    const core::operation& op = d.declaration;
    if (!op.name.starts_with(name + "/"))
      throw core::contract_violation("'" + name + "' has the operation '" + op.name +
                                     "', which is not called after it");
    if (!names.insert(op.name).second) throw core::contract_violation("there is another '" + op.name + "'");
    if (!op.is_forward() && !names.contains(core::operation_name(op.name).forward))
      throw core::contract_violation("no function stands before its derivative '" + op.name + "'");
    core::check_roles(op);
    check_algorithms(d);
  }
}

// The owners that were added before the first look-up.
struct added_owners {
  std::mutex mutex;
  std::vector<std::string> names{};
  owner_list owners{};
  bool is_closed = false;
};
added_owners& added_until_now() {
  static added_owners all;
  return all;
}

// The operations and names of all owners. It holds no operation: the operations stay with their owners.
struct look_up {
  owner_list owners;
  std::vector<std::string> names{};
  operation_list operations{};
  std::unordered_map<std::string_view, const formula_owner*> owner_named{};
  std::unordered_map<std::string_view, const declared_operation*> operation_named{};

  explicit look_up(owner_list all) : owners(std::move(all)) {
    std::vector<const core::operation*> in_order;
    for (const auto& owner : owners) {
      names.emplace_back(owner->name());
      owner_named.emplace(owner->name(), owner.get());
      for (const declared_operation& d : owner->operations()) {
        in_order.push_back(&d.declaration);
        operation_named.emplace(d.declaration.name, &d);
      }
    }
    operations = operation_list(std::move(in_order));
  }
};

owner_list all_owners() {
  owner_list all = encodings_of_the_list();
  for (const auto& owner : all) check_owner(*owner);
  added_owners& added = added_until_now();
  const std::lock_guard lock(added.mutex);
  added.is_closed = true;
  for (auto& owner : added.owners) all.push_back(std::move(owner));
  added.owners.clear();
  return all;
}

const look_up& registry() {
  static const look_up closed(all_owners());
  return closed;
}

template <class Entry>
const Entry* find_in(const std::unordered_map<std::string_view, const Entry*>& all, std::string_view name) {
  const auto it = all.find(name);
  return it == all.end() ? nullptr : it->second;
}

}  // namespace

void add_formula_owner(std::unique_ptr<const formula_owner> added) {
  ASSAY_EXPECTS(added != nullptr);
  check_owner(*added);
  added_owners& all = added_until_now();
  const std::lock_guard lock(all.mutex);
  const std::string name(added->name());
  if (std::find(names_of_the_list.begin(), names_of_the_list.end(), name) != names_of_the_list.end() ||
      std::find(all.names.begin(), all.names.end(), name) != all.names.end())
    throw core::contract_violation("there is another '" + name + "'");
  if (all.is_closed) throw core::contract_violation("'" + name + "' is added after the first look-up of an operation");
  all.names.push_back(name);
  all.owners.push_back(std::move(added));
}

const std::vector<std::unique_ptr<const formula_owner>>& formula_owners() { return registry().owners; }

const formula_owner& owner_of(const core::operation& op) {
  const std::string_view name = std::string_view(op.name).substr(0, op.name.find('/'));
  const formula_owner* owner = find_in(registry().owner_named, name);
  if (owner == nullptr) throw core::contract_violation("no encoding has the operation '" + op.name + "'");
  return *owner;
}

const declared_operation& declaration_of(const core::operation& op) {
  const declared_operation* declared = find_in(registry().operation_named, op.name);
  if (declared == nullptr) throw core::contract_violation("there is no operation '" + op.name + "'");
  return *declared;
}

const operation_list& operations() { return registry().operations; }

const std::vector<std::string>& encoding_names() { return registry().names; }

const core::encoding_summary& summary_of(std::string_view encoding) {
  const formula_owner* owner = find_in(registry().owner_named, encoding);
  ASSAY_EXPECTS(owner != nullptr);
  return owner->summary();
}

const std::vector<accuracy_class>& algorithms_of(const core::operation& op) { return declaration_of(op).algorithms; }

const core::operation* find_operation(std::string_view name) {
  const declared_operation* declared = find_in(registry().operation_named, name);
  return declared == nullptr ? nullptr : &declared->declaration;
}

const core::operation& forward_of(const core::operation& op) {
  if (op.is_forward()) return op;
  const core::operation* forward = find_operation(op.forward_name());
  ASSAY_EXPECTS(forward != nullptr);
  return *forward;
}

core::tensors evaluate(const core::request& call, accuracy_class c) { return evaluate_in(call, call.type, c); }

core::tensors evaluate_in(const core::request& call, const core::precisions& formats, accuracy_class c) {
  ASSAY_EXPECTS(c != accuracy_class::uniform);
  return owner_of(*call.operation).evaluate_in(call, formats, c);
}

std::map<std::string, xt::xarray<double>> derivative_along(const core::request& call, const core::tensors& direction) {
  ASSAY_EXPECTS(call.operation->is_forward());
  return owner_of(*call.operation).tangent(call, direction);
}

}  // namespace assay::reference
