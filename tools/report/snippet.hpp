// A counterexample as a Python program that anybody can run and edit.
#pragma once

#include <string>

#include "tools/report/report.hpp"

namespace assay::tools {

/// A program for python3 with NumPy: the inputs as hexadecimal floats (exact), the certified outputs with what is
/// allowed of each element, and a function `yours` to put one's own call into; until then it gives back what the
/// candidate gave. Prints expected and got, and ends with 1 where an element is wrong; else with 0, or with 2 where the
/// property makes other calls of this one. bf16 values stand in float32, which holds them.
/// Precondition: the check has a counterexample.
std::string python_snippet(const gate_report& r, const properties::check_result& c);

/// Whether there are too many elements for a text that somebody reads, or a report that is to stay small.
bool is_too_large_to_show(const core::tensors& all);

/// File name beside the counterexample's own.
std::string snippet_name(const properties::check_result& c);

}  // namespace assay::tools
