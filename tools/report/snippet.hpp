// A counterexample as a Python program that anybody can run and edit.
#pragma once

#include <string>

#include "properties/harness/runner.hpp"

namespace assay::tools {

/// A program for python3 with NumPy: the inputs as hexadecimal floats (exact), the certified outputs, and a function
/// `yours` to put one's own call into; until then it gives back what the candidate gave. Prints expected and got.
/// bf16 values stand in float32, which holds them. Precondition: the check has a counterexample.
std::string python_snippet(const properties::check_result& c);

/// Whether there are too many elements for a text that somebody reads, or a report that is to stay small.
bool is_too_large_to_show(const core::tensors& all);

/// File name beside the counterexample's own.
std::string snippet_name(const properties::check_result& c);

}  // namespace assay::tools
