// Golden sets: folders of safetensors files and manifest.json, every value of which is proved to be
// correctly rounded (see proof.hpp for the tensors of a file, set_file.hpp for what it says of itself).
#pragma once

#include <functional>
#include <optional>

#include "golden/formats/safetensors.hpp"
#include "golden/manifest.hpp"
#include "golden/proof.hpp"
#include "golden/recipe.hpp"

namespace assay::golden {

/// What the files of a set may have, and what is read of a user's.
inline constexpr formats::read_limits set_limits{.file_bytes = std::uint64_t{1} << 28,
                                                 .elements = std::uint64_t{1} << 24};

/// A file of a set with its tensors, as check_file reads it: in the shapes and dtypes that its metadata says, and
/// nothing proved.
struct golden_file {
  set_file about;
  core::request call;     ///< operation, settings and inputs
  core::tensors tensors;  ///< all of them
};
core::result<golden_file> read_golden_file(const std::filesystem::path& path);
/// The same of the bytes of the file, where they were read already.
core::result<golden_file> golden_file_from(std::string_view bytes, const std::filesystem::path& path);

/// Called with what is done of how much work; of any thread, one call at a time.
using progress = std::function<void(std::size_t files, std::size_t all_files, double share_of_work)>;

/// What wrong answers show of a file.
struct revelation {
  std::vector<std::string> mutants;  ///< the wrong implementations that it tells from right ones, in alphabetical order
  bool wide = false;                 ///< for the flag of this name
};

/// Called of any thread. golden/ knows no implementation: the program says which there are.
using revealing = std::function<revelation(const golden_file& file)>;

struct set_options {
  progress report{};
  /// Without it a new set reveals nothing and is not wide, and what a set says of these is not checked.
  revealing reveal{};
  /// How many of the precisions are tried.
  std::size_t rungs = reference::precision_digits.size();
};

struct making {
  std::size_t files = 0, bytes = 0, elements = 0;
  std::size_t kept = 0;  ///< files that an interrupted run had finished
  /// How many elements of outputs each precision proved, in this run.
  std::array<std::size_t, reference::precision_digits.size()> at_rung{};
};

/// Makes the set of a recipe in a new folder, on all cores: beside it first, in "<folder>.partial", which is then
/// renamed. No file is ever there half-written under its name. A run that was killed is taken up where it ended: files
/// of the same entry that are whole stay. The same recipe gives the same bytes. An error, after which nothing is left,
/// where the folder exists, it cannot be written, an input lies outside its domain, or an element is undecided: named
/// are entry, output and index.
core::result<making> make_set(const recipe& r, const std::filesystem::path& wanted, const set_options& options = {});

/// `malformed`: what is there is no golden set; otherwise it is one that says something wrong.
struct problem {
  bool malformed = false;
  std::string text;
};

struct set_check {
  std::vector<problem> problems;
  std::size_t files = 0, elements = 0;  ///< files examined, elements proved again
};

/// Verifies a set without trusting its manifest: no file more or less, hashes, every tensor read as hostile,
/// inputs inside their domain, every output, remainder and allowance recomputed from the inputs and compared bit by
/// bit, flags found again, and every file byte by byte with what Assay writes. Each problem names the file and the
/// rule, and where it is one of values tensor and index. Where the inputs come from is verified where the recipe is
/// given.
set_check check_set(const std::filesystem::path& folder, const set_options& options = {}, const recipe* from = nullptr);

/// The same for one file without its set.
set_check check_file(const std::filesystem::path& path, const set_options& options = {});

}  // namespace assay::golden
