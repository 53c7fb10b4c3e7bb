// Golden sets: folders of safetensors files and manifest.json. Every value in them is proved to be correctly rounded.
// proof.hpp describes the tensors of a file, set_file.hpp its metadata.
#pragma once

#include <functional>
#include <optional>

#include "golden/formats/safetensors.hpp"
#include "golden/manifest.hpp"
#include "golden/proof.hpp"
#include "golden/recipe.hpp"

namespace assay::golden {

/// The limits for the files of a set, and for files that are read from a user.
inline constexpr formats::read_limits set_limits{.file_bytes = std::uint64_t{1} << 28,
                                                 .elements = std::uint64_t{1} << 24};

/// A file of a set with its tensors, as check_file reads it: shapes and dtypes are those of its metadata, and nothing
/// is proved.
struct golden_file {
  set_file about;
  core::request call;     ///< operation, settings and inputs
  core::tensors tensors;  ///< all of them
};
core::result<golden_file> read_golden_file(const std::filesystem::path& path);
/// The same from the bytes of the file, where they were read already.
core::result<golden_file> golden_file_from(std::string_view bytes, const std::filesystem::path& path);

/// Called with the work done so far, and all work; any thread may call it, one call at a time.
using progress = std::function<void(std::size_t files, std::size_t all_files, double share_of_work)>;

/// What wrong answers show about a file.
struct revelation {
  std::vector<std::string> mutants;  ///< the wrong implementations that it distinguishes from right ones, in
                                     ///< alphabetical order
  bool wide = false;                 ///< whether the file has the flag `wide`
};

/// Runs wrong answers against a file. Any thread may call it. golden/ knows no implementation: the program passes this
/// in.
using revealing = std::function<revelation(const golden_file& file)>;

struct set_options {
  progress report{};
  /// Without it a new set names no mutants and has no flag `wide`, and check_set does not check these two.
  revealing reveal{};
  /// How many of the precisions are used.
  std::size_t rungs = reference::precision_digits.size();
};

struct making {
  std::size_t files = 0, bytes = 0, elements = 0;
  std::size_t kept = 0;  ///< files that an interrupted run had finished
  /// How many elements of outputs each precision proved, in this run.
  std::array<std::size_t, reference::precision_digits.size()> elements_by_rung{};
};

/// Makes the set of a recipe in a new folder, on all cores. It is first written beside it, in "<folder>.partial", which
/// is then renamed: no file is ever half-written under its name. A run that was killed is continued where it ended:
/// whole files of the same entry are kept. The same recipe gives the same bytes. An error where the folder exists or
/// cannot be written, where an input lies outside its domain, or where an element is undecided; it names entry, output
/// and index. After an error nothing is left.
core::result<making> make_set(const recipe& r, const std::filesystem::path& wanted, const set_options& options = {});

/// A fault of a set or file. `malformed`: it is no golden set or file; otherwise it is one with a wrong statement.
struct problem {
  bool malformed = false;
  std::string text;
};

struct set_check {
  std::vector<problem> problems;
  std::size_t files = 0, elements = 0;  ///< files examined, and elements proved again
};

/// Verifies a set without trusting its manifest: that no file is missing or added, that hashes are right, and that
/// inputs lie inside their domain. Every tensor is read as hostile. Every output, remainder and allowance is computed
/// again from the inputs and compared bit by bit. Flags are found again, and every file is compared byte by byte with
/// what Assay writes. Each problem names the file and the rule; a problem of values also names tensor and index. Where
/// the recipe is given, the source of the inputs is verified, too.
set_check check_set(const std::filesystem::path& folder, const set_options& options = {}, const recipe* from = nullptr);

/// The same checks for one file without its set.
set_check check_file(const std::filesystem::path& path, const set_options& options = {});

}  // namespace assay::golden
