#include "tools/gate/shard_file.hpp"

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/file.hpp"
#include "golden/formats/json_file.hpp"
#include "properties/harness/catalogue.hpp"
#include "reference/oracle.hpp"
#include "tools/formula/formula_source.hpp"
#include "tools/gate/archive.hpp"

// Converters for the contents of a shard, in the namespaces of the types, so that argument-dependent lookup finds them.

namespace assay::core {

using nlohmann::json;

json to_scalar(dtype t) { return std::string(name_of(t)); }
void from_scalar(const json& j, dtype& t) {
  const auto named = dtype_named(j.get<std::string>());
  if (!named) throw tools::archive::malformed("unknown dtype " + j.dump());
  t = *named;
}
json to_scalar(list_version v) { return to_string(v); }
void from_scalar(const json& j, list_version& v) {
  const auto read = list_version_from(j.get<std::string>());
  if (!read) throw tools::archive::malformed("unknown list " + j.dump());
  v = *read;
}
json to_scalar(const operation* op) { return op == nullptr ? json() : json(op->name); }
void from_scalar(const json& j, const operation*& op) {
  op = j.is_null() ? nullptr : reference::find_operation(j.get<std::string>());
  if (op == nullptr && !j.is_null()) throw tools::archive::malformed("unknown operation " + j.dump());
}
template <class Archive>
void members(Archive& a, tensor& t) {
  a("type", t.type);
  shape s = t.shape();
  a("shape", s);
  std::vector<double> values(t.values.begin(), t.values.end());
  a("values", values);
  std::size_t count = 1;
  for (const std::size_t size : s)
    if (__builtin_mul_overflow(count, size, &count))
      throw tools::archive::malformed("the shape of a tensor is too large");
  if (count != values.size()) throw tools::archive::malformed("a tensor does not have the size of its shape");
  t = make_tensor(t.type, s, values);
}
template <class Archive>
void members(Archive& a, request& r) {
  auto& [operation, type, inputs, settings] = r;
  ASSAY_ARCHIVE(a, operation, type, inputs);
  a("attributes", settings);
  if (r.operation == nullptr) throw tools::archive::malformed("a call has no operation");
  if (const auto ok = check_request(r); !ok) throw tools::archive::malformed(ok.error().message);
}

}  // namespace assay::core

// core::attribute is a std::variant: its functions must be in namespace std or here, before the archive is used.
namespace assay::tools::archive {

template <>
json save(const core::attribute& value) {
  return formats::to_json(value);
}
template <>
void load(const json& j, core::attribute& value) {
  auto read = formats::attribute_from(j);
  if (!read) throw malformed(read.error().message);
  value = std::move(*read);
}

}  // namespace assay::tools::archive

namespace assay::properties {

using nlohmann::json;

json to_scalar(fault f) { return kind_of(f); }
void from_scalar(const json& j, fault& f) {
  for (int k = 0; k <= static_cast<int>(fault::wrong_id); ++k)
    if (j == kind_of(static_cast<fault>(k))) {
      f = static_cast<fault>(k);
      return;
    }
  throw tools::archive::malformed("unknown fault " + j.dump());
}
json to_scalar(status s) { return static_cast<int>(s); }
void from_scalar(const json& j, status& s) { s = tools::archive::enumerator_from(j, status::outside_domain); }
json to_scalar(suspicion::sign s) { return static_cast<int>(s); }
void from_scalar(const json& j, suspicion::sign& s) {
  s = tools::archive::enumerator_from(j, suspicion::sign::direction);
}
json to_scalar(lengths l) { return static_cast<int>(l); }
void from_scalar(const json& j, lengths& l) { l = tools::archive::enumerator_from(j, lengths::given); }
json to_scalar(const property* p) { return p->name; }
void from_scalar(const json& j, const property*& p) {
  p = find_property(j.get<std::string>());
  if (p == nullptr) throw tools::archive::malformed("unknown property " + j.dump());
}
ASSAY_MEMBERS(declared_domain, low, high)
ASSAY_MEMBERS(declared_precision, all, stages)
ASSAY_MEMBERS(declared_sizes, low, high, multiple_of)
ASSAY_MEMBERS(multiple_of_axis, axis, times)
ASSAY_MEMBERS(axis_relation, left, right, equal)
ASSAY_MEMBERS(description, name, version, written_for, operations, compute, domain, sizes, relations, settings, unasked,
              variants, flush_subnormals, deterministic, takes_empty, recorded, relayed)
ASSAY_MEMBERS(extent, range, tokens, axes)
ASSAY_MEMBERS(case_key, operation, type, family, seed, size, settings, domain, sizes, relations)
ASSAY_MEMBERS(test_case, call, family, seed, key)
ASSAY_MEMBERS(element_report, output, index, expected, actual, error, ulp, allowed, ratio)
ASSAY_MEMBERS(value_report, passed, informative, ratios, largest_ulp, law_ulp, elements, wrong, worst, message)
ASSAY_MEMBERS(call_failure, kind, message, errors)
ASSAY_MEMBERS(refusal, axis, settings, message)
ASSAY_MEMBERS(declined_cases, reason, cases)
ASSAY_MEMBERS(suspicion, seen, output, place, error, deviation, allowed, times)
ASSAY_MEMBERS(outcome, verdict, message, failure, value, expected, actual, refused)
ASSAY_MEMBERS(counterexample, original, minimal, shown, reference_passes)
ASSAY_MEMBERS(error_there, cases, farthest, largest_ulp, law_ulp, ratios, failed, digits_ulp, digits_farthest)
ASSAY_MEMBERS(check_result, checked, operation, type, planned, cases, families, families_skipped, ratios, forced_by,
              needed_by, largest_ulp, largest_sizes, error_to_allowance, by_growth, worst, worst_case, suspicious,
              suspicious_case, found, refused, declined, is_consequence)
ASSAY_MEMBERS(horizon, measured, error_at_power, largest_error, judged)
ASSAY_MEMBERS(diagnosis, explained, named, facts, of_settings, function_is_right, other_bits, vanished, consequences,
              unanswered)

}  // namespace assay::properties

namespace assay::tools {

ASSAY_MEMBERS(formula_options, spec, axes)
ASSAY_MEMBERS(candidate_limits, start_seconds, case_seconds, memory_bytes)
template <class Archive>
void members(Archive& a, shard& s) {
  auto& [index, count, is_kept] = s;  // `is_kept` follows from the existence of the file
  ASSAY_ARCHIVE(a, index, count);
}
template <class Archive>
void members(Archive& a, gate_options& o) {
  // The merging process names its own files.
  auto& [candidate, formula, shown, encodings, operations, dtypes, properties, families, require_class, require_digits,
         strict, effort, shapes, most_elements, seed, limits, baseline, known_failures, report, output_format, part] =
      o;
  ASSAY_ARCHIVE(a, candidate, formula, encodings, operations, dtypes, properties, families, require_class,
                require_digits, strict, effort, shapes, most_elements, seed, limits);
  a("shard", part);
}
ASSAY_MEMBERS(adapter_fault, operation, type, kind, name, message, on, errors, calls, others_answered)
ASSAY_MEMBERS(complaint, text, kind, errors)
ASSAY_MEMBERS(measured_horizon, operation, type, found)
ASSAY_MEMBERS(part_record, operation, type, checks, horizon, complaints, adapter, on_long_sequences, found, not_tried,
              seconds)
ASSAY_MEMBERS(shard_record, options, candidate, parts)

namespace {

constexpr const char* schema = "assay-shard/1";
constexpr std::uint64_t largest_file = std::uint64_t{1} << 30;

std::filesystem::path file_in(const std::filesystem::path& folder) { return folder / "shard.json"; }

std::vector<const core::request*> counterexamples_of(const shard_record& record) {
  std::vector<const core::request*> calls;
  for (const part_record& part : record.parts)
    for (const properties::check_result& c : part.checks)
      if (c.found) calls.push_back(&c.found->minimal.call);
  return calls;
}

}  // namespace

core::result<void> write_shard(const shard_record& record, const std::filesystem::path& folder) {
  nlohmann::json j{{"schema", schema}, {"version", ASSAY_VERSION}, {"shard", archive::save(record)}};
  if (formula_of_process() != nullptr) j["formula"] = formula_record(counterexamples_of(record));
  return formats::replace_file(file_in(folder), j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

core::result<shard_record> read_shard(const std::filesystem::path& folder) {
  const auto path = file_in(folder);
  const auto document = formats::read_json_file(path, largest_file);
  if (!document) return tl::make_unexpected(document.error());
  const nlohmann::json& j = document->value;
  const auto refuse = [&](const std::string& why) { return core::failure(path.string() + ": " + why); };
  if (j.value("schema", nlohmann::json()) != schema) return refuse(std::string("is no ") + schema);
  if (j.value("version", nlohmann::json()) != ASSAY_VERSION)
    return refuse(std::string("was written by another version than ") + ASSAY_VERSION);
  if (j.contains("formula"))
    if (const auto ok = add_recorded_formula(j["formula"]); !ok) return refuse(ok.error().message);
  try {
    shard_record record;
    archive::load(j.at("shard"), record);
    return record;
  } catch (const archive::malformed& e) {
    return refuse(e.what());
  } catch (const nlohmann::json::exception& e) {
    return refuse(e.what());
  }
}

}  // namespace assay::tools
