// Recipes of golden sets: which operations on which inputs, as data. Adding an encoding needs only a recipe.
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

/// Files of one operation, one for each dtype.
struct recipe_entry {
  std::string id;      ///< names the files; see is_entry_id
  std::string reason;  ///< why it is in the set
  const core::operation* operation = nullptr;
  core::attributes attributes;  ///< all that the operation declares
  std::vector<core::dtype> dtypes;
  core::axis_sizes axes;
  std::uint64_t seed = 0;
  std::string family;                          ///< of the inputs that have no distribution; empty: all have one
  std::map<std::string, distribution> inputs;  ///< by input
  decltype(input_families::draw) draw_family;  ///< of a family
  std::string sha256;                          ///< of all that the recipe says of the entry
};

struct recipe {
  std::string encoding;
  std::string sha256;         ///< of the file
  std::uint64_t version = 1;  ///< of the set
  std::vector<recipe_entry> entries;
};

/// 1 to 60 lower-case letters, digits, '_' and '-'.
bool is_entry_id(const std::string& text);

/// A file of schema "assay-golden-recipe/1": {"schema", "encoding", "version", "default", "entries"}, an entry being
/// {"id", "reason", "operation", "dtypes", "axes": {symbol: size}, "seed", "inputs": {name: distribution}} and, where
/// settings are not the standard ones, "attributes". Axes whose size is an attribute do not stand in "axes".
/// Inputs that an entry leaves out (cotangents, say) have the distribution "default".
///
/// With {"family": name} the inputs are those of that family, but for those that "inputs" says. Then "inputs", "reason"
/// (the family's summary) and "dtypes" (all) may be left out, and so may "operation" and "id": such an entry stands for
/// all operations of the encoding that have the family, their derivatives too, and, if "attributes" is left out, for
/// every value of every setting, one at a time. A list of families stands for one entry each; of them the first alone
/// has other settings than the standard ones. Of "axes" each operation takes its own.
///
/// The version counts the changes of the values of the set; without it it is 1. Everything else that is not there, or
/// is there besides, is an error that names file, entry and member.
core::result<recipe> read_recipe(const std::filesystem::path& path, const input_families& families = {});
/// One that no file holds.
core::result<recipe> recipe_of(const nlohmann::json& all, const input_families& families);

/// The inputs that a set may hold: those of the domain and, for functions and not for derivatives, NaN and +inf, whose
/// results the formula itself gives in IEEE arithmetic. Else an error that names tensor and index.
core::result<void> check_inputs(const core::operation& op, const core::tensors& inputs);

/// The inputs of one file. Each that has a distribution has a stream of its own, so that changing one changes no other.
/// An error where check_inputs has one for them, rounded to the dtype, or where a family's have other sizes.
core::result<core::tensors> draw_inputs(const recipe_entry& entry, core::dtype type);

}  // namespace assay::golden
