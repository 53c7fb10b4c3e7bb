// What a list of encodings says about one encoding.
#pragma once

#include <string_view>
#include <vector>

namespace assay::core {

/// A name, and where it leads: an address, or an operation and its setting.
struct named_place {
  std::string_view name, place;
};

struct encoding_summary {
  std::string_view what;             ///< "linear biases"
  std::string_view formula;          ///< the formula of its main operation as the paper has it, in one line of ASCII
  std::vector<named_place> sources;  ///< "Press, Smith and Lewis 2022", and where it is published
  std::vector<named_place> also{};   ///< things with another name, and what they are here: "SHAPE", "`offset` of ..."
};

}  // namespace assay::core
