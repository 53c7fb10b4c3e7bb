#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/command_line.hpp"
#include "tools/formula/formula_host.hpp"
#include "tools/gate/assembly.hpp"
#include "tools/gate/checks.hpp"
#include "tools/gate/shard_file.hpp"
#include "tools/shared_options.hpp"

namespace assay::tools {
namespace {

// Why two shards are not from one run; empty if they are.
std::string difference(const shard_record& a, const shard_record& b) {
  const gate_options &x = a.options, &y = b.options;
  if (x.shard.count != y.shard.count) return "the number of shards";
  if (x.seed != y.seed) return "the seed";
  if (x.effort != y.effort) return "the effort";
  if (x.candidate != y.candidate) return "the candidate";
  if (x.encodings != y.encodings || x.operations != y.operations || x.dtypes != y.dtypes ||
      x.properties != y.properties || x.families != y.families || x.require_class != y.require_class ||
      x.require_digits != y.require_digits || x.strict != y.strict || x.shapes != y.shapes ||
      x.most_elements != y.most_elements)
    return "what was asked for";
  if (a.candidate.name != b.candidate.name || a.candidate.version != b.candidate.version ||
      a.candidate.operations != b.candidate.operations || a.candidate.compute != b.candidate.compute)
    return "what the candidate says of itself";
  return "";
}

// All shards of one run, by index.
core::result<std::map<std::size_t, shard_record>> read_shards(const std::vector<std::filesystem::path>& folders) {
  std::map<std::size_t, shard_record> shards;
  for (const auto& folder : folders) {
    auto record = read_shard(folder);
    if (!record) return tl::make_unexpected(record.error());
    const shard& which = record->options.shard;
    if (which.index < 1 || which.index > which.count)
      return core::failure(fmt::format("{}: there is no shard {}/{}", folder.string(), which.index, which.count));
    if (!shards.empty())
      if (const std::string what = difference(shards.begin()->second, *record); !what.empty())
        return core::failure(fmt::format("{}: it is of another run: {} differs", folder.string(), what));
    if (shards.contains(which.index))
      return core::failure(fmt::format("{}: shard {}/{} is there twice", folder.string(), which.index, which.count));
    shards.emplace(which.index, std::move(*record));
  }
  const std::size_t count = shards.empty() ? 1 : shards.begin()->second.options.shard.count;
  for (std::size_t k = 1; k <= count; ++k)
    if (!shards.contains(k)) return core::failure(fmt::format("shard {}/{} is missing", k, count));
  return shards;
}

// Whether the record, and everything in it, is of the planned part.
bool is_record_of(const part_record& record, const planned_part& part) {
  const auto fits = [&](const auto& x) { return x.operation == part.operation && x.type == part.type; };
  return fits(record) && std::all_of(record.checks.begin(), record.checks.end(), fits) &&
         (!record.horizon || fits(*record.horizon)) && (!record.adapter || fits(*record.adapter)) &&
         (!record.on_long_sequences || fits(*record.on_long_sequences));
}

struct merge_options {
  std::vector<std::filesystem::path> shards;       ///< folders of the reports of all shards
  std::filesystem::path baseline, known_failures;  ///< as for the gate
  std::filesystem::path report = "assay-report";
  std::string output_format = "markdown";
};

// The report that one run would have given.
int merge(const merge_options& options) {
  const auto wrong = [](const core::error& e) { return complain(e.message), wrong_input; };
  const auto shards = read_shards(options.shards);
  if (!shards) return wrong(shards.error());
  const shard_record& first = shards->begin()->second;
  gate_options whole = first.options;
  whole.shard = {};
  whole.report = options.report;
  whole.baseline = options.baseline;
  whole.known_failures = options.known_failures;
  const auto selected = select(whole);
  if (!selected) return wrong(selected.error());
  const auto pinned = read_pins(whole);
  if (!pinned) return wrong(pinned.error());

  // The parts in the order of a single run; each shard has its own parts in that order, and nothing else.
  std::vector<part_record> parts;
  std::map<std::size_t, std::size_t> taken;
  const std::size_t count = shards->size();
  const std::vector<planned_part> planned = plan_parts(first.candidate, *selected, {});
  for (std::size_t k = 0; k < planned.size(); ++k) {
    const std::size_t index = k % count + 1;
    const std::vector<part_record>& shard_parts = shards->at(index).parts;
    const std::size_t next = taken[index]++;
    if (next >= shard_parts.size() || !is_record_of(shard_parts[next], planned[k]))
      return wrong({fmt::format("shard {}/{} lacks a part of its run", index, count)});
    parts.push_back(shard_parts[next]);
  }
  for (const auto& [index, record] : *shards)
    if (record.parts.size() > taken[index])
      return wrong({fmt::format("shard {}/{} holds parts of another run", index, count)});
  gate_report report = empty_report(whole);
  report.candidate = first.candidate;
  if (const auto writable = prepare_report(options.report); !writable) return wrong(writable.error());
  assemble(whole, *selected, parts, *pinned, report);
  return publish(report, options.report, options.output_format);
}

}  // namespace

command_work merge_command(CLI::App& app) {
  auto options = std::make_shared<merge_options>();
  app.add_option("shards", options->shards, "folders of the reports")->required();
  app.add_option("--baseline", options->baseline, "an earlier report.json: nothing may have got worse");
  app.add_option("--known-failures", options->known_failures, "checks that are expected to fail, and must");
  app.add_option("--report", options->report, "folder of the merged report")->capture_default_str();
  add_output_format(app, options->output_format);
  return [options](const program_options&) { return with_formula({}, [&] { return merge(*options); }); };
}

}  // namespace assay::tools
