// manifest.json of a golden set: what its files hold and how their values are proved.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reference/core/operation.hpp"

namespace assay::golden {

/// Counts the changes of the generator that change bytes of sets made from the same recipe.
inline constexpr std::uint64_t generator_revision = 1;

inline constexpr const char* manifest_name = "manifest.json";
inline constexpr std::uint64_t largest_manifest = std::uint64_t{16} << 20;

/// One file: an entry of the recipe in one dtype. Its shapes follow from operation and axes.
struct set_file {
  std::string id, reason;
  const core::operation* operation = nullptr;
  core::attributes attributes;  ///< all that the operation declares
  core::dtype type = core::dtype::f64;
  core::axis_sizes axes;
  std::uint64_t seed = 0;
  std::string sha256;

  [[nodiscard]] std::string name() const;  ///< "<id>.<dtype>.safetensors"
};

struct manifest {
  std::string recipe, recipe_sha256;
  std::vector<set_file> files;
};

/// The text of manifest.json, schema "assay-golden/1". The same manifest gives the same text.
std::string manifest_text(const manifest& m);

/// Reads it strictly: known operations, dtypes and axes, whole hashes, file names that follow from the
/// entries, and for every output the statement of its proof; nothing besides, and written as manifest_text
/// does. The error names the file, the entry and the rule.
core::result<manifest> read_manifest(const std::filesystem::path& folder);

}  // namespace assay::golden
