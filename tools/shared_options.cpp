#include "tools/shared_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

#include "tools/formula/formula_host.hpp"

namespace assay::tools {
namespace {

// CLI::Range lets NaN through.
const CLI::Validator finite(
    [](const std::string& text) {
      return text.find_first_of("nN") == std::string::npos ? std::string() : "must be a number";
    },
    "FINITE");

// CLI::AsSizeValue lets a minus sign wrap around, and conversion to a number saturates silently.
const CLI::Validator positive_size(
    [](const std::string& text) {
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc() && value > 0 ? std::string()
                                               : "must be a positive size below 2^64 bytes, such as 4GiB";
    },
    "SIZE");
const CLI::Validator fits_64_bits(
    [](const std::string& text) {
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc() && end == text.data() + text.size() ? std::string()
                                                                      : "must be a whole number from 0 to 2^64 - 1";
    },
    "UINT64");

}  // namespace

CLI::Validator hosted_formula() {
  return {[](const std::string& text) {
            return is_hosted_formula(text) ? std::string() : text + " must be python:MODULE:FUNCTION";
          },
          "python:MODULE:FUNCTION"};
}

void add_axes(CLI::App& command, formula_options& formula) {
  command.add_option("--axes", formula.axes,
                     "NAME=AXES of an input of the formula, such as \"q=B h n d\"; may be repeated");
}

void add_formula(CLI::App& command, formula_options& formula) {
  command
      .add_option("--formula", formula.spec,
                  "a plain function of NumPy, torch or JAX that is the formula: what is right")
      ->check(hosted_formula());
  add_axes(command, formula);
}

void add_candidate(CLI::App& command, std::string& candidate) {
  command
      .add_option("--candidate", candidate,
                  "builtin:NAME, process:COMMAND, python:MODULE:FUNCTION[@OPERATION], library:PATH or recorded:DIR")
      ->required();
}

void add_limits(CLI::App& command, candidate_limits& limits) {
  command
      .add_option(
          "--start-timeout", limits.start_seconds,
          "seconds of CPU time that a candidate's processes may take to say hello, ten times as long by the wall")
      ->check(CLI::Range(0.001, 1e6) & finite);
  command
      .add_option(
          "--case-timeout", limits.case_seconds,
          "seconds of CPU time that a candidate's processes may take for one case, ten times as long by the wall")
      ->check(CLI::Range(0.001, 1e6) & finite);
  command.add_option("--memory-limit", limits.memory_bytes, "resident memory of the candidate, such as 4GiB")
      ->transform(CLI::AsSizeValue(false))
      ->transform(positive_size);  // the last is applied first: it sees what the user wrote
}

void add_list(CLI::App& command, const char* option, std::vector<std::string>& values, const char* what) {
  command.add_option(option, values, fmt::format("{}; may be repeated, or a list with commas", what))->delimiter(',');
}

void add_seed(CLI::App& command, std::uint64_t& seed) {
  command.add_option("--seed", seed, "seed of all cases")->check(fits_64_bits)->capture_default_str();
}

void add_cases(CLI::App& command, std::size_t& cases, const char* what) {
  command.add_option("--cases", cases, what)->check(fits_64_bits)->check(CLI::PositiveNumber)->capture_default_str();
}

void add_selection(CLI::App& command, gate_options& selected) {
  add_list(command, "--encoding", selected.encodings, "only this encoding");
  add_list(command, "--operation", selected.operations, "only this operation and its derivatives");
  add_list(command, "--dtype", selected.dtypes, "only this dtype");
  add_list(command, "--property", selected.properties, "only this property");
  add_list(command, "--family", selected.families, "only cases of this family");
  command.add_option("--effort", selected.effort, "smoke, quick or full")->capture_default_str();
  command.add_option(
      "--shape", selected.shapes,
      "sizes of axes, such as B=8,n=4096,d=1024: every operation that has them all is tried there, too, and one must; "
      "may be repeated");
  command
      .add_option("--max-elements", selected.most_elements,
                  "most elements of a tensor at such a shape; usual sizes with more are left out")
      ->capture_default_str();
  add_seed(command, selected.seed);
}

void select_own_formula(gate_options& selected) {
  if (!selected.formula.spec.empty() && selected.operations.empty() && selected.encodings.empty())
    selected.encodings = {"formula"};
}

void add_output_format(CLI::App& command, std::string& format) {
  command
      .add_option(
          "--output-format", format,
          "form of the printed summary: markdown, or github, which adds annotations for a job of GitHub Actions")
      ->check(CLI::IsMember({"markdown", "github"}))
      ->capture_default_str();
}

std::optional<shard> parse_shard(const std::string& text) {
  shard s;
  const char* end = text.data() + text.size();
  const auto [slash, wrong_index] = std::from_chars(text.data(), end, s.index);
  if (wrong_index != std::errc() || slash == end || *slash != '/') return std::nullopt;
  const auto [last, wrong_count] = std::from_chars(slash + 1, end, s.count);
  if (wrong_count != std::errc() || last != end || s.index < 1 || s.index > s.count) return std::nullopt;
  s.is_kept = true;
  return s;
}

CLI::Validator shard_of_run() {
  return {[](const std::string& text) {
            return parse_shard(text) ? std::string() : "must be K/N with 1 <= K <= N, such as 2/7";
          },
          "K/N"};
}

}  // namespace assay::tools
