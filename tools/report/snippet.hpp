// A counterexample as a Python program that users can run and edit.
#pragma once

#include <string>

#include "tools/report/report.hpp"

namespace assay::tools {

/// A program for python3 with NumPy: the inputs as hexadecimal floats (exact), the certified outputs with the error
/// allowed to each element, and a function `yours`, into which a user puts their own call; until then it returns the
/// candidate's outputs. It prints expected and got. It exits with 1 if an element is wrong; else with 0, or with 2 if
/// the property makes other calls from this one. bf16 values are written as float32, which holds them. If the tensors
/// are too large to show, the program only says so, and exits with 2. Precondition: the check has a counterexample.
std::string python_snippet(const gate_report& r, const properties::check_result& c);

/// Whether there are too many elements for a text that people read, or for a small report.
bool is_too_large_to_show(const core::tensors& all);

/// The file name beside that of the counterexample.
std::string snippet_name(const properties::check_result& c);

}  // namespace assay::tools
