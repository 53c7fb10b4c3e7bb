// Replace this by the definition: the formula with its source (author, title, year, arXiv number, equation), shapes and
// special values. This one is an example:
@about@
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

@includes of formula@

namespace assay::reference::encodings {

struct skeleton {
  static constexpr std::string_view name = "skeleton";
  static core::encoding_summary summary() {
@summary@
            .sources = {{"author year", "https://arxiv.org/abs/0000.00000"}}};
  }

  using traced = formula::traced;
  /// Replace them by the steps of the formula that faults and controls change. A traced number is an array, whose
  /// arithmetic is elementwise (reference/formula/recording.hpp): what is computed with it is recorded as a program.
@scheme@
  /// Each operation with its program. Replace names, shapes, domains, settings and stages.
@declaration@
  /// Replace it by the formula. Truth, allowance and gradient are made of this program.
@formula@
};

}  // namespace assay::reference::encodings
