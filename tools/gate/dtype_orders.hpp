// Effects of the first dtype, tested on newly started programs.
#pragma once

#include "tools/gate/selection.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// The name of the check.
inline constexpr const char* dtype_order = "dtype_order";

/// For each selected dtype, starts a program and makes the first call of every operation in that dtype; each other
/// dtype follows. In a normal run the parts come one after another in one process: there the tables of the first dtype,
/// or longer tables, hide what another order leaves behind. Adds the check `dtype_order` to the records of parts in
/// which nothing failed, and reports what is found. Does nothing if no program can be started.
void check_dtype_orders(const properties::description& about, const selection& s, std::uint64_t seed,
                        const properties::fresh_start& fresh, std::vector<part_record>& records);

}  // namespace assay::tools
