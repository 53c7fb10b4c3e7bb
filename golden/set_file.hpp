// The description of one file of a golden set. It is in the file's own metadata and in the manifest of its set.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "golden/formats/safetensors_header.hpp"
#include "reference/core/operation.hpp"

namespace assay::golden {

/// The number of this generator; it grows when the same recipe gives other bytes.
inline constexpr std::uint64_t generator_revision = 2;
/// The first version of the program that makes these bytes.
inline constexpr const char* generator_version = "0.1.0";
inline constexpr const char* licence = "CC0-1.0";

/// An entry of the recipe in one dtype. Its shapes follow from the operation and the axes.
struct set_file {
  std::string set;                ///< the name of the recipe
  std::uint64_t set_version = 1;  ///< counts the changes of the set's values
  std::string id;                 ///< names the entry of the recipe
  std::string reason;             ///< why the entry is in the set
  const core::operation* operation = nullptr;
  core::attributes attributes;  ///< all settings that the operation declares
  core::dtype type = core::dtype::f64;
  core::axis_sizes axes;
  std::uint64_t seed = 0;
  std::string entry_sha256;          ///< hash of the entry of the recipe, see recipe_entry
  std::vector<std::string> flags;    ///< what is special about the numbers, see flags.hpp; sorted
  std::vector<std::string> reveals;  ///< the mutants that the file tells apart from right code; sorted

  [[nodiscard]] std::string name() const;  ///< "<id>.<dtype>.safetensors"
};

/// The role of each tensor of a file, by its name: "input", "cotangent", "tangent", "output", "low", "allowance".
std::map<std::string, std::string> roles_of(const core::operation& op, core::dtype type);

/// The texts in "__metadata__" of the file. Axes, settings and roles are JSON objects; flags and reveals are words
/// separated by spaces. The same file gives the same texts.
formats::metadata metadata_of(const set_file& f);

/// Reads the description strictly: operations, dtypes, axes and settings are known, and there is nothing that
/// metadata_of would not write. The error names the text that is wrong.
core::result<set_file> set_file_from(const formats::metadata& about);

/// The same description as the members of an object, for manifests.
nlohmann::ordered_json to_json(const set_file& f);
core::result<set_file> set_file_from(const nlohmann::json& j);

/// Reads the hash in the member `key`: 64 hexadecimal digits in lower case.
core::result<std::string> hash_member(const nlohmann::json& j, const char* key);

}  // namespace assay::golden
