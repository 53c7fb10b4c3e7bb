// Golden sets: folders of safetensors files and manifest.json, every value of which is proved to be
// correctly rounded (see proof.hpp for the tensors of a file).
#pragma once

#include <functional>

#include "golden/formats/safetensors.hpp"
#include "golden/manifest.hpp"
#include "golden/proof.hpp"
#include "golden/recipe.hpp"

namespace assay::golden {

/// What the files of a set may have, and what is read of a user's.
inline constexpr formats::read_limits set_limits{.file_bytes = std::uint64_t{1} << 28,
                                                 .elements = std::uint64_t{1} << 24};

/// Called before each file.
using progress = std::function<void(std::size_t done, std::size_t all)>;

struct making {
  std::size_t files = 0, bytes = 0;
  /// How many elements of outputs each precision proved.
  std::array<std::size_t, reference::precision_digits.size()> at_rung{};
};

/// Makes the set of a recipe in a new folder: beside it first, under a temporary name that is then renamed.
/// The same recipe gives the same bytes. An error, after which nothing is left, where the folder exists, it
/// cannot be written, an input lies outside its domain, or an element is undecided: named are entry, output
/// and index. `rungs` limits the precisions that are tried.
core::result<making> make_set(const recipe& r, const std::filesystem::path& wanted, const progress& report = {},
                              std::size_t rungs = reference::precision_digits.size());

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
/// inputs inside their domain, every y, y:low and y:allow recomputed from the inputs and compared bit by bit,
/// and every file byte by byte with what Assay writes. Each problem names the file and the rule. Where the
/// inputs come from is not verified: make the recipe again for that.
set_check check_set(const std::filesystem::path& folder, const progress& report = {});

}  // namespace assay::golden
