// manifest.json of a golden set: what its files hold and how their values are proved.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "golden/set_file.hpp"

namespace assay::golden {

inline constexpr const char* manifest_name = "manifest.json";
inline constexpr std::uint64_t largest_manifest = std::uint64_t{16} << 20;

struct listed_file {
  set_file file;  ///< without what it reveals
  std::string sha256;
};

struct manifest {
  std::string recipe, recipe_sha256;
  std::uint64_t version = 1;  ///< of the set
  std::vector<listed_file> files;
};

/// The text of manifest.json, schema "assay-golden/2". The same manifest gives the same text.
std::string manifest_text(const manifest& m);

/// Reads it strictly: known operations, dtypes and axes, whole hashes, file names that follow from the
/// entries, and for every output the statement of its proof; nothing besides, and written as manifest_text
/// does. The error names the file, the entry and the rule.
core::result<manifest> read_manifest(const std::filesystem::path& folder);

}  // namespace assay::golden
