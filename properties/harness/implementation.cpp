#include "properties/harness/implementation.hpp"

#include <algorithm>
#include <iterator>

#include "reference/oracle.hpp"

namespace assay::properties {

namespace {

struct fault_words {
  fault kind;
  const char* precise;  ///< for programs
  const char* coarse;   ///< in plain words; one for all bad outputs
};
constexpr const char* bad_output = "bad output";
// In the order of the enumeration.
constexpr fault_words words_of_faults[] = {
    {fault::unsupported, "unsupported", "unsupported"},
    {fault::error_reply, "error_reply", "error reply"},
    {fault::missing_file, "missing_file", bad_output},
    {fault::bad_file, "bad_file", bad_output},
    {fault::truncated_file, "truncated_file", bad_output},
    {fault::oversized_file, "oversized_file", bad_output},
    {fault::missing_output, "missing_output", bad_output},
    {fault::unknown_output, "unknown_output", bad_output},
    {fault::wrong_dtype, "wrong_dtype", bad_output},
    {fault::wrong_shape, "wrong_shape", bad_output},
    {fault::crashed, "crash", "crash"},
    {fault::exited, "early_exit", "early exit"},
    {fault::closed_stdout, "closed_stdout", "protocol"},
    {fault::timed_out, "hang", "hang"},
    {fault::silent_hello, "silent_hello", "hang"},
    {fault::out_of_memory, "memory_limit", "memory limit"},
    {fault::malformed_hello, "malformed_hello", "protocol"},
    {fault::malformed_reply, "malformed_reply", "protocol"},
    {fault::wrong_id, "wrong_id", "protocol"},
};
constexpr bool are_in_order() {
  for (std::size_t k = 0; k < std::size(words_of_faults); ++k)
    if (words_of_faults[k].kind != static_cast<fault>(k)) return false;
  return std::size(words_of_faults) == static_cast<std::size_t>(fault::wrong_id) + 1;
}
static_assert(are_in_order());

const fault_words& words_of(fault f) { return words_of_faults[static_cast<std::size_t>(f)]; }

}  // namespace

const char* name_of(fault f) { return words_of(f).coarse; }
const char* kind_of(fault f) { return words_of(f).precise; }
bool is_bad_output(fault f) { return words_of(f).coarse == bad_output; }

const std::map<std::string, std::vector<core::attribute>>& description::settings_of(const core::operation& op) const {
  static const std::map<std::string, std::vector<core::attribute>> all_values;
  for (const std::string& declared : {op.name, op.forward_name()})
    if (const auto it = settings.find(declared); it != settings.end()) return it->second;
  return all_values;
}

void leave_later_settings(description& about, const std::map<std::string, std::vector<std::string>>& parameters) {
  for (const auto& [name, types] : about.operations) {
    const core::operation* op = reference::find_operation(name);
    if (op == nullptr) continue;
    const std::vector<std::string>* taken = nullptr;
    for (const std::string& function : {op->forward_name(), op->name})
      if (const auto known = parameters.find(function); known != parameters.end()) taken = &known->second;
    for (const core::attribute_declaration& a : op->attributes) {
      // A program that has a parameter for a setting knows the setting, with the values that existed when the setting
      // came.
      const bool is_taken = taken != nullptr && std::find(taken->begin(), taken->end(), a.name) != taken->end();
      const core::list_version known = is_taken ? std::max(a.since, about.written_for) : about.written_for;
      std::vector<core::attribute> values = a.values_of(known);
      if (values.size() == a.values.size() || about.settings_of(*op).contains(a.name)) continue;
      setting_values all = about.settings_of(*op);
      if (is_taken || taken == nullptr)
        std::copy_if(
            a.values.begin(), a.values.end(), std::back_inserter(about.unasked[op->name][a.name]),
            [&](const core::attribute& v) { return std::find(values.begin(), values.end(), v) == values.end(); });
      all[a.name] = std::move(values);
      about.settings[op->name] = std::move(all);
    }
  }
}

core::attributes requested_attributes(const description& about, const request& call) {
  core::attributes requested = call.attributes;
  const auto& known = about.settings_of(*call.operation);
  for (const core::attribute_declaration& a : call.operation->attributes) {
    if (!a.is_later()) continue;
    const auto values = known.find(a.name);
    const bool is_unnamed = values != known.end() && values->second == std::vector{a.standard};
    const auto set = requested.try_emplace(a.name, a.standard).first;
    if (is_unnamed && set->second == a.standard) requested.erase(set);
  }
  return requested;
}

declared_sizes description::sizes_of_axis(const core::operation& op, const std::string& symbol) const {
  const auto sizes_by_axis = sizes.find(op.name);
  if (sizes_by_axis == sizes.end()) return {};
  const auto size_domain = sizes_by_axis->second.find(symbol);
  return size_domain == sizes_by_axis->second.end() ? declared_sizes{} : size_domain->second;
}

bool description::offers(const std::string& operation, core::dtype type) const {
  const auto it = operations.find(operation);
  return it != operations.end() && std::find(it->second.begin(), it->second.end(), type) != it->second.end();
}

core::precisions description::precisions_of(const core::operation& op, core::dtype storage) const {
  core::precisions usual = op.usual_precisions(storage);
  const auto declared = compute.find(storage);
  if (declared == compute.end()) return usual;
  if (declared->second.all) return *declared->second.all;
  if (op.stages.empty()) return usual;
  std::vector<core::dtype> formats;
  for (std::size_t k = 0; k < op.stages.size(); ++k) {
    const auto named = declared->second.stages.find(op.stages[k].name);
    formats.push_back(named == declared->second.stages.end() ? usual.format(k) : named->second);
  }
  return {op.stages, std::move(formats)};
}

}  // namespace assay::properties
