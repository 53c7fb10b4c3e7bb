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
  set_file file;  ///< without the mutants that it reveals
  std::string sha256;
};

struct manifest {
  std::string recipe, recipe_sha256;
  std::uint64_t version = 1;  ///< version of the set
  std::vector<listed_file> files;
};

/// The text of manifest.json, schema "assay-golden/2". The same manifest gives the same text.
std::string manifest_text(const manifest& m);

/// Reads it strictly: operations, dtypes and axes are known, hashes are whole, file names follow from the entries, and
/// every output has the statement of its proof. There is nothing else, and the text is written as manifest_text writes
/// it. The error names the file, the entry and the rule.
core::result<manifest> read_manifest(const std::filesystem::path& folder);

}  // namespace assay::golden
