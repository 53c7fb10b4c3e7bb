#include "tools/fuzz/targets.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "golden/formats/file.hpp"
#include "golden/formats/number_text.hpp"
#include "golden/formats/safetensors.hpp"
#include "golden/formats/strict_json.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "golden/manifest.hpp"
#include "golden/recipe.hpp"
#include "tools/case_file.hpp"
#include "tools/explore/sweep.hpp"
#include "tools/fuzz/program_target.hpp"
#include "tools/gate/pinning.hpp"
#include "tools/gate/shard_file.hpp"
#include "tools/transports/call_message.hpp"
#include "tools/transports/protocol.hpp"
#include "tools/transports/recorded.hpp"

namespace assay::fuzz {
namespace {

void require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: broken: %s\n", rule);
  std::abort();
}

// A reader of files gets its bytes in a file of this folder; it is in memory if $TMPDIR is a file system in memory.
const std::filesystem::path& scratch() {
  static const auto folder = formats::temporary_folder::make();
  require(folder.has_value(), "a temporary folder can be made");
  return folder->path();
}

std::filesystem::path in_scratch(const char* name, std::string_view bytes) {
  std::filesystem::path path = scratch() / name;
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

void read_tensors(std::string_view bytes) {
  constexpr formats::read_limits limits{.file_bytes = std::uint64_t{1} << 20, .elements = std::uint64_t{1} << 16};
  const auto tensors = formats::read_safetensors(in_scratch("a.safetensors", bytes), limits);
  if (!tensors) return;
  const auto written = formats::safetensors_bytes(*tensors);
  require(written.has_value(), "tensors that were read can be written");
  const auto again = formats::read_safetensors(in_scratch("b.safetensors", *written), limits);
  require(again.has_value(), "tensors that were written can be read");
  const auto rewritten = formats::safetensors_bytes(*again);
  require(rewritten.has_value() && *rewritten == *written, "the same tensors give the same bytes");
}

void read_json(std::string_view bytes) {
  const bool counts = formats::parse_strict_json(bytes, {.counts_only = true, .max_depth = 3}).has_value();
  const auto document = formats::parse_strict_json(bytes);
  require(!counts || document.has_value(), "what a stricter rule accepts is accepted");
  if (!document) return;
  require(nlohmann::json::accept(bytes), "what is accepted is JSON");
  const auto again = formats::parse_strict_json(document->value.dump());
  require(again.has_value() && again->value == document->value, "a document that was written reads as the same");
}

void read_number(std::string_view bytes) {
  const auto x = formats::parse_number(bytes);
  if (!x) return;
  const auto again = formats::parse_number(formats::number_text(*x));
  require(again.has_value() && core::same_value(*again, *x), "a number that was written reads as the same");
}

void read_recipe(std::string_view bytes) {
  const auto recipe = golden::read_recipe(in_scratch("recipe.json", bytes));
  if (!recipe) return;
  for (const golden::recipe_entry& entry : recipe->entries) {
    require(!golden::is_too_large(entry.axes), "an entry is no larger than allowed");
    std::size_t work = 1;
    for (const auto& [symbol, size] : entry.axes) work *= std::max<std::size_t>(size, 1);
    if (work > 512) continue;
    for (const core::dtype type : entry.dtypes) (void)golden::draw_inputs(entry, type);
  }
}

void read_manifest(std::string_view bytes) {
  in_scratch(golden::manifest_name, bytes);
  const auto manifest = golden::read_manifest(scratch());
  if (manifest) require(golden::manifest_text(*manifest) == bytes, "a manifest is as it is written");
}

void read_case(std::string_view bytes) {
  const auto first = tools::read_case(in_scratch("case.json", bytes));
  if (!first) return;
  const std::string written = to_json(*first).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const auto again = tools::read_case(in_scratch("again.json", written));
  require(again.has_value() && to_json(*again).dump() == written, "a case that was written reads as the same");
}

void read_message(std::string_view bytes) {
  (void)transports::parse_hello(bytes);
  (void)transports::parse_refusal(bytes);
  const auto reply = transports::parse_reply(bytes);
  require(!reply || !(reply->ok && reply->unsupported), "a reply is not both right and unsupported");
  (void)transports::parse_call(bytes);
}

void read_recording(std::string_view bytes) {
  for (const char* name : {"cases.jsonl", "hello.json", "1.in.safetensors", "1.out.safetensors"}) {
    const std::string_view part = bytes.substr(0, bytes.find(separator));
    in_scratch(name, part);
    if (part.empty()) std::filesystem::remove(scratch() / name);
    bytes.remove_prefix(std::min(part.size() + 1, bytes.size()));
  }
  const auto candidate = transports::recorded_candidate::read(scratch());
  if (candidate) require((*candidate)->describe().recorded, "a recording says that it is one");
}

void read_sweep(std::string_view bytes) {
  const auto sweep = explore::read_sweep(bytes, "fuzz");
  if (!sweep) return;
  double cells = 0;
  for (const explore::grid& g : sweep->grids) {
    double count = 1;
    for (const std::size_t n : {g.implementation.size(), g.arithmetic.size(), g.storage.size(), g.family.size(),
                                g.decay.size(), g.scale.size(), g.size.size(), g.seed.size()})
      count *= static_cast<double>(n);
    cells += count;
  }
  if (cells < 2000) (void)explore::cells_of(*sweep);
}

// A baseline is compared with a run that checked nothing, and with a run that checked one thing.
void read_baseline(std::string_view bytes) {
  const auto baseline = tools::read_report(in_scratch("report.json", bytes));
  if (!baseline) return;
  tools::gate_report report;
  tools::compare_with_baseline(*baseline, {}, report);
  properties::check_result& check = report.checks.emplace_back();
  check.checked = properties::find_property("value");
  check.operation = &reference::operations().front();
  check.cases[properties::status::passed] = 1;
  tools::compare_with_baseline(*baseline, {}, report);
}

void read_known_failures(std::string_view bytes) {
  const auto known = tools::read_known_failures(in_scratch("known", bytes));
  if (!known) return;
  tools::gate_report report;
  tools::compare_with_known_failures(*known, {}, report);
  require(report.complaints.size() == known->size(), "what was not run is said of each known failure");
}

void read_shard(std::string_view bytes) {
  in_scratch("shard.json", bytes);
  const auto first = tools::read_shard(scratch());
  if (!first) return;
  const auto text = [&](const tools::shard_record& record) {
    require(tools::write_shard(record, scratch()).has_value(), "a shard that was read can be written");
    return formats::read_file(scratch() / "shard.json", std::uint64_t{1} << 24).value();
  };
  const std::string written = text(*first);
  const auto again = tools::read_shard(scratch());
  require(again.has_value() && text(*again) == written, "a shard that was written reads as the same");
  tools::gate_report report;  // as `assay merge` makes it from planned parts
  report.candidate = first->candidate;
  for (const tools::part_record& part : first->parts)
    for (const auto& check : part.checks)
      if (check.operation != nullptr && check.operation == part.operation && check.type == part.type)
        report.checks.push_back(check);
  (void)to_json(report);
}

}  // namespace

const std::vector<target>& targets() {
  static const std::vector<target> all{{"baseline", read_baseline},   {"case", read_case},
                                       {"json", read_json},           {"known_failures", read_known_failures},
                                       {"manifest", read_manifest},   {"message", read_message},
                                       {"number", read_number},       {"program", read_and_run_program},
                                       {"recipe", read_recipe},       {"recording", read_recording},
                                       {"safetensors", read_tensors}, {"shard", read_shard},
                                       {"sweep", read_sweep}};
  return all;
}

const target* find_target(std::string_view name) {
  for (const target& t : targets())
    if (t.name == name) return &t;
  return nullptr;
}

}  // namespace assay::fuzz
