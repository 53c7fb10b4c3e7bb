#include "tools/gate/shard_file.hpp"

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/file.hpp"
#include "golden/formats/json_file.hpp"
#include "properties/harness/catalogue.hpp"
#include "reference/oracle.hpp"
#include "tools/gate/archive.hpp"

// The members of what a shard holds, beside the types, where argument-dependent lookup finds them.

namespace assay::core {

using nlohmann::json;

json to_scalar(dtype t) { return std::string(name_of(t)); }
void from_scalar(const json& j, dtype& t) {
  const auto named = dtype_named(j.get<std::string>());
  if (!named) throw tools::archive::malformed("unknown dtype " + j.dump());
  t = *named;
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
  a("operation", r.operation);
  a("type", r.type);
  a("inputs", r.inputs);
  a("attributes", r.attributes);
  if (r.operation == nullptr) throw tools::archive::malformed("a call has no operation");
  if (const auto ok = check_request(r); !ok) throw tools::archive::malformed(ok.error().message);
}

}  // namespace assay::core

// core::attribute is a std::variant: its functions must lie in namespace std or here, before the archive is used.
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
json to_scalar(const property* p) { return p->name; }
void from_scalar(const json& j, const property*& p) {
  p = find_property(j.get<std::string>());
  if (p == nullptr) throw tools::archive::malformed("unknown property " + j.dump());
}
template <class Archive>
void members(Archive& a, declared_domain& d) {
  a("low", d.low);
  a("high", d.high);
}
template <class Archive>
void members(Archive& a, description& d) {
  a("name", d.name);
  a("version", d.version);
  a("operations", d.operations);
  a("compute", d.compute);
  a("domain", d.domain);
  a("settings", d.settings);
  a("variants", d.variants);
  a("flush_subnormals", d.flush_subnormals);
  a("deterministic", d.deterministic);
}
template <class Archive>
void members(Archive& a, extent& e) {
  a("range", e.range);
  a("tokens", e.tokens);
}
template <class Archive>
void members(Archive& a, case_key& k) {
  a("operation", k.operation);
  a("type", k.type);
  a("family", k.family);
  a("seed", k.seed);
  a("size", k.size);
  a("settings", k.settings);
}
template <class Archive>
void members(Archive& a, test_case& c) {
  a("call", c.call);
  a("family", c.family);
  a("seed", c.seed);
  a("key", c.key);
}
template <class Archive>
void members(Archive& a, element_report& e) {
  a("output", e.output);
  a("index", e.index);
  a("expected", e.expected);
  a("actual", e.actual);
  a("error", e.error);
  a("ulp", e.ulp);
  a("allowed", e.allowed);
  a("ratio", e.ratio);
}
template <class Archive>
void members(Archive& a, value_report& v) {
  a("passed", v.passed);
  a("informative", v.informative);
  a("ratios", v.ratios);
  a("largest_ulp", v.largest_ulp);
  a("law_ulp", v.law_ulp);
  a("worst", v.worst);
  a("message", v.message);
}
template <class Archive>
void members(Archive& a, call_failure& f) {
  a("kind", f.kind);
  a("message", f.message);
  a("errors", f.errors);
}
template <class Archive>
void members(Archive& a, outcome& o) {
  a("verdict", o.verdict);
  a("message", o.message);
  a("failure", o.failure);
  a("value", o.value);
  a("expected", o.expected);
  a("actual", o.actual);
}
template <class Archive>
void members(Archive& a, counterexample& c) {
  a("original", c.original);
  a("minimal", c.minimal);
  a("shown", c.shown);
  a("reference_passes", c.reference_passes);
}
template <class Archive>
void members(Archive& a, error_at_length& e) {
  a("cases", e.cases);
  a("largest_ulp", e.largest_ulp);
  a("law_ulp", e.law_ulp);
  a("ratios", e.ratios);
  a("failed", e.failed);
}
template <class Archive>
void members(Archive& a, check_result& r) {
  a("checked", r.checked);
  a("operation", r.operation);
  a("type", r.type);
  a("planned", r.planned);
  a("cases", r.cases);
  a("families", r.families);
  a("families_skipped", r.families_skipped);
  a("ratios", r.ratios);
  a("forced_by", r.forced_by);
  a("needed_by", r.needed_by);
  a("largest_ulp", r.largest_ulp);
  a("error_to_allowance", r.error_to_allowance);
  a("by_length", r.by_length);
  a("worst", r.worst);
  a("worst_case", r.worst_case);
  a("found", r.found);
}
template <class Archive>
void members(Archive& a, horizon_mark& m) {
  a("digits", m.digits);
  a("tokens", m.tokens);
  a("reached_end", m.reached_end);
}
template <class Archive>
void members(Archive& a, horizon& h) {
  a("measured", h.measured);
  a("error_at_power", h.error_at_power);
  a("marks", h.marks);
  a("judged", h.judged);
}
template <class Archive>
void members(Archive& a, diagnosis& d) {
  a("explained", d.explained);
  a("facts", d.facts);
}

}  // namespace assay::properties

namespace assay::tools {

template <class Archive>
void members(Archive& a, candidate_limits& l) {
  a("start_seconds", l.start_seconds);
  a("case_seconds", l.case_seconds);
  a("memory_bytes", l.memory_bytes);
}
template <class Archive>
void members(Archive& a, shard& s) {
  a("index", s.index);
  a("count", s.count);
}
template <class Archive>
void members(Archive& a, gate_options& o) {
  a("candidate", o.candidate);
  a("encodings", o.encodings);
  a("operations", o.operations);
  a("dtypes", o.dtypes);
  a("properties", o.properties);
  a("families", o.families);
  a("require_class", o.require_class);
  a("effort", o.effort);
  a("seed", o.seed);
  a("limits", o.limits);
  a("shard", o.shard);
}
template <class Archive>
void members(Archive& a, adapter_fault& f) {
  a("operation", f.operation);
  a("type", f.type);
  a("kind", f.kind);
  a("name", f.name);
  a("message", f.message);
  a("on", f.on);
  a("errors", f.errors);
}
template <class Archive>
void members(Archive& a, complaint& c) {
  a("text", c.text);
  a("kind", c.kind);
  a("errors", c.errors);
}
template <class Archive>
void members(Archive& a, measured_horizon& h) {
  a("operation", h.operation);
  a("type", h.type);
  a("found", h.found);
}
template <class Archive>
void members(Archive& a, part_record& p) {
  a("operation", p.operation);
  a("type", p.type);
  a("checks", p.checks);
  a("horizon", p.horizon);
  a("complaints", p.complaints);
  a("adapter", p.adapter);
  a("on_long_sequences", p.on_long_sequences);
  a("found", p.found);
}
template <class Archive>
void members(Archive& a, shard_record& r) {
  a("options", r.options);
  a("candidate", r.candidate);
  a("parts", r.parts);
}

namespace {

constexpr const char* schema = "assay-shard/1";
constexpr std::uint64_t largest_file = std::uint64_t{1} << 30;

std::filesystem::path file_in(const std::filesystem::path& folder) { return folder / "shard.json"; }

}  // namespace

core::result<void> write_shard(const shard_record& record, const std::filesystem::path& folder) {
  const nlohmann::json j{{"schema", schema}, {"version", ASSAY_VERSION}, {"shard", archive::save(record)}};
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
