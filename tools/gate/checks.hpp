// The checks of a gate run, one after another.
#pragma once

#include "tools/gate/guarded_candidate.hpp"
#include "tools/gate/selection.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// A part of a run: an operation in a dtype.
struct planned_part {
  const core::operation* operation = nullptr;
  core::dtype type{};
};

/// The parts of a selection that the candidate offers, in the order of a report; a shard has every count-th of them.
std::vector<planned_part> plan_parts(const properties::description& about, const selection& s, const shard& which);

/// Runs every selected property on a part if the smoke stage finds that it works, and measures its horizon. If a check
/// failed, it asks the candidate what is wrong. Then the orders of dtypes follow (dtype_orders.hpp). Progress goes to
/// stderr. If something throws, the records hold what was judged before.
void run_parts(guarded_candidate& candidate, const std::vector<planned_part>& parts, const selection& s,
               std::uint64_t seed, const properties::fresh_start& fresh, std::vector<part_record>& records);

}  // namespace assay::tools
