// Texts of programs as a fuzz target: accepted programs are written and read again, and cheap ones are evaluated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::fuzz {

/// Prints the reason and aborts if a rule is broken.
void read_and_run_program(std::string_view bytes);
std::vector<std::string> program_seeds();
/// Words for mutations: operators and their members.
std::vector<std::string> program_words();

}  // namespace assay::fuzz
