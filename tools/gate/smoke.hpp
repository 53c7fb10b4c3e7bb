// The smoke stage: does the adapter work at all? It distinguishes a broken adapter from wrong numerics.
#pragma once

#include <optional>
#include <string>

#include "tools/gate/guarded_candidate.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

inline constexpr const char* nan_flood = "nan_flood";

/// The results of the first calls of a part.
struct first_calls {
  std::size_t made = 0;
  bool answered = false;  ///< the last call gave outputs that are not all NaN
  /// The first call whose outputs are all NaN; if there is none, the first call without outputs.
  std::optional<properties::counterexample> lost{};
};

/// Makes mild calls of an operation until one is answered with outputs of the right names, dtypes and shapes that are
/// not all NaN. The first calls have usual sizes (a few tokens, 64 features, standard settings); then twice, half and
/// an eighth of the features; then sizes that families draw. After a hang, or two other faults that end the program, it
/// stops. A call that is declined or lies outside the declared domain says nothing.
first_calls smoke(guarded_candidate& candidate, const core::operation& op, core::dtype type, std::uint64_t seed);

/// A few mild calls of sizes that show most for their time: several blocks of a kernel, a last block that lacks
/// elements, and features as in usual heads.
std::vector<properties::case_key> informative_calls(const properties::description& about, const core::operation& op,
                                                    core::dtype type, std::uint64_t seed);

/// The fault of a part in which no call was answered.
adapter_fault fault_of_part(const first_calls& calls, const core::operation& op, core::dtype type);

/// The same as a failed check of the property that would have met it first, so that it is reported and replayed like
/// one.
properties::check_result check_of_part(const first_calls& calls, const core::operation& op, core::dtype type);

}  // namespace assay::tools
