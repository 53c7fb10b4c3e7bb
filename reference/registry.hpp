// What the list of encodings compiles to: for each its operations and what evaluates them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reference/routines.hpp"

namespace assay::reference {

struct encoding_routines {
  std::string_view name;
  core::encoding_summary summary;
  std::vector<declared_operation> operations;
  rung_outputs (*enclose_in_doubles)(const core::request&);
  rung_outputs (*enclose_in_two_doubles)(const core::request&);
  rung_outputs (*enclose)(const core::request&, unsigned digits);
  std::vector<law_outputs> (*laws)(const core::request&, const std::vector<accuracy_class>&,
                                   const core::precisions& compute);
  core::tensors (*algorithm)(const core::request&, accuracy_class);
  std::map<std::string, xt::xarray<double>> (*tangent)(const core::request&, const core::tensors&);
};

/// All encodings, in the order of their list.
const std::vector<encoding_routines>& registry();

/// The encoding of an operation. A contract violation where none has it.
const encoding_routines& routines_for(const core::operation& op);
/// The operation as its encoding declares it. A contract violation where there is none.
const declared_operation& declaration_of(const core::operation& op);

}  // namespace assay::reference
