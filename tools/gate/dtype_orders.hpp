// What the first dtype leaves behind, asked of programs that are started anew.
#pragma once

#include "tools/gate/selection.hpp"
#include "tools/report/report.hpp"

namespace assay::tools {

/// The name of the check.
inline constexpr const char* dtype_order = "dtype_order";

/// Of each selected dtype a program is started whose first call of every operation is in it; each other dtype follows.
/// The parts of a run come one after another in one process: there the tables of the first dtype, or longer ones, hide
/// what another order leaves behind. Adds the check `dtype_order` to the records of parts where nothing failed, and
/// says what is found. Nothing where no program can be started.
void check_dtype_orders(const properties::description& about, const selection& s, std::uint64_t seed,
                        const properties::fresh_start& fresh, std::vector<part_record>& records);

}  // namespace assay::tools
