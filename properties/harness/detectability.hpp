// The detectability map: the smallest error that the verdict always catches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "properties/harness/case.hpp"

namespace assay::properties {

/// For one output, one family and one dtype: the smallest k for which an error of 2^k u of the element's scale
/// (core::error_scales) in the element with the widest allowance made every case fail, with u of the storage dtype,
/// although an ulp of the implementation's own error (2 u) counteracts it. Nothing if some case lets every finite error
/// pass: there the widest law has no digit left.
struct detectable_error {
  std::string output, family;
  std::optional<int> log2_error;
  std::size_t cases = 0;
};

/// The map by output and family, for an operation in a dtype: `cases` short cases of each family, and a fourth as many
/// around block sizes. Each case is tried with errors of both signs in the element whose allowance is widest.
std::vector<detectable_error> detectable_errors(const core::operation& op, core::dtype type, std::uint64_t seed,
                                                std::size_t cases);

}  // namespace assay::properties
