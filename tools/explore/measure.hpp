// The measurement of a cell. A measure has a name, meanings for the axes of its cells, a cost, and a function of cells.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/core/operation.hpp"
#include "tools/explore/cell.hpp"

namespace assay::explore {

/// An outside implementation, called as a whole: its specification and a call go in, the outputs come out. Each thread
/// has its own programs.
using caller = std::function<core::result<core::tensors>(const std::string& specification, const core::request& call)>;

/// Whether an implementation is the specification of a candidate, such as "process:./scan", and not an algorithm's
/// name.
bool is_candidate(const std::string& implementation);

struct presentation;

struct measure {
  std::string_view name, summary;
  std::string_view size_means, decay_means, scale_means;  ///< empty: the axis is not used
  std::vector<std::string> implementations{};
  std::vector<std::string> families{};  ///< empty: the axis does not count, or means what `family_means` says
  bool takes_candidates = false;        ///< an implementation may be a candidate's specification, too
  /// Whether a family names a file of recorded inputs; null: the measure takes no such files.
  bool (*takes_file)(const std::string& family) = nullptr;
  /// The hash of the contents of such a file, begun with `hash`; `hash` itself if the file cannot be read.
  std::uint64_t (*hash_of_file)(const std::string& family, std::uint64_t hash) = nullptr;
  std::string_view family_means{};
  std::string (*operation_of)(const std::string& family) = nullptr;  ///< for a candidate: its operation
  /// The values for which "each" stands in a grid: families (cells that the measure refuses, and expensive ones, are
  /// left out), and the implementations of a family.
  std::vector<std::string> (*each_family)() = nullptr;
  std::vector<std::string> (*each_implementation)(const std::string& family) = nullptr;
  bool takes_storage = false;  ///< the storage format may differ from that of the arithmetic
  /// The other conditions for a cell whose names are known.
  core::result<void> (*check)(const cell& c) = nullptr;
  /// The work of a batch, in steps that take about equal time.
  std::function<double(std::span<const cell> batch)> steps{};
  /// Cells with the same text share their work. Each has the same results as when it is measured alone.
  std::string (*batch)(const cell& c) = nullptr;
  /// Precondition: check_cell accepts all cells, and they have the same batch.
  std::function<core::result<std::vector<results>>(std::span<const cell> batch, const caller& call)> run{};
  std::string_view encoding{};              ///< the encoding of the measure; empty: the encoding of the family
  const presentation* presented = nullptr;  ///< presentation.hpp
};

/// Whether the axis of families is used.
inline bool has_family(const measure& m) { return !m.families.empty() || !m.family_means.empty(); }

/// All measures, in the order of documents.
const std::vector<measure>& measures();
/// Returns null if there is no measure of that name.
const measure* find_measure(std::string_view name);

/// The error names what is wrong with the cell.
core::result<void> check_cell(const cell& c);
/// Measures a single cell.
core::result<results> measure_cell(const cell& c, const caller& call);

}  // namespace assay::explore
