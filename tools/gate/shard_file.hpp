// The parts of a shard as a file that keeps every bit of every number, for `assay merge`.
#pragma once

#include <filesystem>
#include <vector>

#include "tools/commands.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// The findings of one process of a run.
struct shard_record {
  gate_options options;
  properties::description candidate;
  std::vector<part_record> parts;
};

/// Writes FOLDER/shard.json.
core::result<void> write_shard(const shard_record& record, const std::filesystem::path& folder);

/// Reads FOLDER/shard.json; the error names the file and what is wrong in it.
core::result<shard_record> read_shard(const std::filesystem::path& folder);

}  // namespace assay::tools
