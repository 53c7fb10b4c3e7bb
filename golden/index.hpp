// index.json: one list of all files of the golden sets that lie beside it.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "golden/golden_set.hpp"

namespace assay::golden {

inline constexpr const char* index_name = "index.json";

/// One set in the index.
struct indexed_set {
  std::string name;
  std::uint64_t version = 1;
  /// SHA-256 of all inputs, outputs and remainders: it changes if a value changes, and only then.
  std::string values_sha256;
  std::map<std::string, std::string> files{};  ///< SHA-256 by name: "<set>/<file>"
};

/// The text of the index of the sets in the subfolders of `folder`, schema "assay-golden-index/1". The same sets give
/// the same text. An error where a subfolder is no set, or where one of its files cannot be read.
core::result<std::string> index_text(const std::filesystem::path& folder);

/// The sets of an index; none where there is no index.
core::result<std::vector<indexed_set>> read_index(const std::filesystem::path& folder);

/// Writes the index of a folder. An error where a set has other values than the existing index says, but the same
/// version: a user who has pinned a version must be able to rely on it. New files, beside all old files with their old
/// bytes, do not need a new version.
core::result<void> write_index(const std::filesystem::path& folder);

/// The problems of the index, and whatever is in the folder besides sets, LICENSE and README.md.
std::vector<problem> check_index(const std::filesystem::path& folder);

/// The folders of the sets in a folder, in the order of their names.
std::vector<std::filesystem::path> sets_in(const std::filesystem::path& folder);

}  // namespace assay::golden
