// What a cell measures. A measure is a name, what the axes of its cells mean, what it costs, and a function of cells.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/core/operation.hpp"
#include "tools/explore/cell.hpp"

namespace assay::explore {

/// An implementation from outside, called as a whole: its specification and a call in, the outputs out. Each thread has
/// its own programs.
using caller = std::function<core::result<core::tensors>(const std::string& specification, const core::request& call)>;

/// "process:./scan", as opposed to the name of an algorithm.
bool is_candidate(const std::string& implementation);

struct measure {
  std::string_view name, summary;
  std::string_view size_means, decay_means, scale_means;  ///< empty: the axis does not count
  std::vector<std::string> implementations{};
  std::vector<std::string> families{};  ///< empty: the axis does not count, or means what `family_means` says
  bool takes_candidates = false;        ///< an implementation may be a candidate's specification, too
  bool takes_files = false;             ///< a family may be a file of recorded inputs, too
  std::string_view family_means{};
  std::string (*asks)(const std::string& family) = nullptr;  ///< of a candidate: the operation
  /// What "each" stands for in a grid: families, of which those count that the measure accepts, and implementations of
  /// a family.
  std::vector<std::string> (*each_family)() = nullptr;
  std::vector<std::string> (*each_implementation)(const std::string& family) = nullptr;
  bool takes_storage = false;  ///< a storage format other than that of the arithmetic
  /// What else must hold of a cell whose names are known.
  core::result<void> (*check)(const cell& c) = nullptr;
  /// Work of a batch in steps of about equal time: proportional to the sizes, or less.
  std::function<double(std::span<const cell> batch)> steps{};
  /// Cells with the same text share their work. Their results are those that each would have alone.
  std::string (*batch)(const cell& c) = nullptr;
  /// Precondition: check_cell accepts all cells, and they have the same batch.
  std::function<core::result<std::vector<results>>(std::span<const cell> batch, const caller& call)> run{};
};

/// Whether the family of inputs counts.
inline bool has_family(const measure& m) { return !m.families.empty() || !m.family_means.empty(); }

const std::vector<measure>& measures();
/// Null where there is none of that name.
const measure* find_measure(std::string_view name);

/// An error that names what is wrong with the cell.
core::result<void> check_cell(const cell& c);
/// One cell alone.
core::result<results> measure_cell(const cell& c, const caller& call);

// Each in a file of its own.
measure scan_errors();
measure running_sums();
measure counters();
measure merging_positions();
measure gradient_error();
measure gradient_reach();
measure conditioning();
measure operation_errors();
measure input_errors();
measure angle_errors();
measure repeated_rows();

}  // namespace assay::explore
