// Texts of programs as a target: what is read is written and read again, and what is cheap is evaluated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::fuzz {

/// Aborts, having said why, where a rule is broken.
void read_and_run_program(std::string_view bytes);
std::vector<std::string> program_seeds();
/// Operators and their members.
std::vector<std::string> program_words();

}  // namespace assay::fuzz
