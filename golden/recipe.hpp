// Recipes of golden sets: the operations and inputs of a set, as data. A new encoding needs only a recipe.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "golden/axes.hpp"
#include "golden/distribution.hpp"
#include "golden/family_entries.hpp"

namespace assay::golden {

/// An entry stands for files of one operation, one for each dtype.
struct recipe_entry {
  std::string id;      ///< names the files; see is_entry_id
  std::string reason;  ///< why it is in the set
  const core::operation* operation = nullptr;
  core::attributes attributes;  ///< all settings that the operation declares
  std::vector<core::dtype> dtypes;
  core::axis_sizes axes;
  std::uint64_t seed = 0;
  std::string family;                          ///< the family of the inputs without a distribution; empty: all inputs
                                               ///< have one
  std::map<std::string, distribution> inputs;  ///< by input
  decltype(input_families::draw) draw_family;  ///< draws the inputs of the family
  std::string sha256;                          ///< hash of everything that the recipe says about the entry
};

struct recipe {
  std::string encoding;
  std::string sha256;         ///< hash of the file
  std::uint64_t version = 1;  ///< version of the set
  std::vector<recipe_entry> entries;
};

/// 1 to 60 lower-case letters, digits, '_' and '-'.
bool is_entry_id(const std::string& text);

/// A file of schema "assay-golden-recipe/1": {"schema", "encoding", "version", "default", "entries"}. An entry is
/// {"id", "reason", "operation", "dtypes", "axes": {symbol: size}, "seed", "inputs": {name: distribution}} and, where
/// settings are not the standard ones, "attributes". Axes whose size is an attribute are not in "axes". Inputs that an
/// entry leaves out (for example cotangents) have the distribution "default".
///
/// With {"family": name} the inputs are those of that family, except those in "inputs". Then "inputs", "reason" (the
/// family's summary), "dtypes" (all), "id" and "operation" may be left out. An entry without "operation" stands for all
/// operations of the encoding that have the family, and for their derivatives; without "attributes", too, it stands for
/// every value of every setting, one at a time. A list of families stands for one entry each; only the first of them
/// has settings other than the standard ones. Each operation takes its own axes from "axes".
///
/// The version counts the changes of the values of the set; the default is 1. Every other missing or additional member
/// is an error that names file, entry and member.
core::result<recipe> read_recipe(const std::filesystem::path& path, const input_families& families = {});
/// Reads a recipe that is not in a file.
core::result<recipe> recipe_of(const nlohmann::json& all, const input_families& families);

/// Checks that a set may hold these inputs: those of the domain and, for functions but not for derivatives, NaN and
/// +inf, for which the formula itself gives results in IEEE arithmetic. The error names tensor and index.
core::result<void> check_inputs(const core::operation& op, const core::tensors& inputs);

/// The inputs of one file. Each input with a distribution has its own random stream, so that a change of one changes no
/// other. An error where check_inputs refuses the inputs, rounded to the dtype, or where those of a family have other
/// sizes.
core::result<core::tensors> draw_inputs(const recipe_entry& entry, core::dtype type);

}  // namespace assay::golden
