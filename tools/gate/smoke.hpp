// The smoke stage: does the adapter work at all? It tells a broken adapter from broken numerics.
#pragma once

#include <optional>
#include <string>

#include "tools/gate/guarded_candidate.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

inline constexpr const char* nan_flood = "nan_flood";

/// What came of the first calls of a part.
struct first_calls {
  std::size_t made = 0;
  bool answered = false;  ///< the last of them, with outputs that are not all NaN
  /// The first that was not answered so; one that gave outputs, all NaN, before those that gave none.
  std::optional<properties::counterexample> lost{};
};

/// Puts mild calls to an operation until one is answered with outputs of the right names, dtypes and shapes that are
/// not all NaN: first of usual sizes (a few tokens, 64 features, standard settings), then of twice, half and an eighth
/// of the features, then such as families draw. After a hang, or two other faults that end the program, no more. A call
/// that is declined or lies outside the declared domain says nothing.
first_calls smoke(guarded_candidate& candidate, const core::operation& op, core::dtype type, std::uint64_t seed);

/// A few mild calls of sizes that show most for their time: several blocks of a kernel and a last one that lacks
/// elements, features as heads have them.
std::vector<properties::case_key> telling_calls(const properties::description& about, const core::operation& op,
                                                core::dtype type, std::uint64_t seed);

/// The fault of a part of which no call was answered.
adapter_fault fault_of_part(const first_calls& calls, const core::operation& op, core::dtype type);

/// The same as a failed check, of the property that would have met it first, so that it is reported and replayed as
/// one.
properties::check_result check_of_part(const first_calls& calls, const core::operation& op, core::dtype type);

}  // namespace assay::tools
