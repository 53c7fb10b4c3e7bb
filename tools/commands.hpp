// The commands of `assay`, one file each. Each returns its exit code:
// 0 passed; 1 a check failed; 2 the command line or an input file is wrong; 3 the candidate broke;
// 4 a fault of Assay's own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/candidate.hpp"

namespace assay::tools {

enum exit_code : int { all_passed = 0, check_failed = 1, wrong_input = 2, candidate_broke = 3, own_fault = 4 };

/// Shard `index` of `count`, from 1: every count-th part of a run.
struct shard {
  std::size_t index = 1, count = 1;
  bool is_kept = false;  ///< for `assay merge`
  [[nodiscard]] bool is_whole() const { return count == 1; }
};
/// "2/7"; nothing where it is no shard.
std::optional<shard> parse_shard(const std::string& text);

/// A formula of one's own: what the candidate is held against. Without a function: the encodings.
struct asked_formula {
  std::string spec{};               ///< "python:MODULE:FUNCTION"
  std::vector<std::string> axes{};  ///< "q=B h n d": what its declaration does not say, or says otherwise
};

struct gate_options {
  std::string candidate;
  asked_formula formula{};
  bool shows_formula = false;  ///< prints it as mathematics; without a candidate it is its own
  std::vector<std::string> encodings, operations, dtypes, properties, families, require_class,
      require_digits;   ///< "6@131072": so many digits up to that length
  bool strict = false;  ///< what is suspicious fails
  std::string effort = "quick";
  std::vector<std::string> shapes;                   ///< "B=8,n=4096,d=1024", besides those of the effort
  std::size_t most_elements = std::size_t{1} << 27;  ///< of a tensor of such a shape, or of a usual size
  std::uint64_t seed = 1;
  candidate_limits limits;
  std::filesystem::path baseline, known_failures;  ///< empty: none
  std::filesystem::path report = "assay-report";
  std::string output_format = "markdown";
  tools::shard shard{};
};
int gate(const gate_options& options);

struct merge_options {
  std::vector<std::filesystem::path> shards;       ///< folders of the reports of all shards
  std::filesystem::path baseline, known_failures;  ///< as for the gate
  std::filesystem::path report = "assay-report";
  std::string output_format = "markdown";
};
/// The report that one run would have given.
int merge(const merge_options& options);

struct compare_options {
  std::vector<std::filesystem::path> reports;  ///< report.json, or the folders that hold them
  std::filesystem::path page{};                ///< empty: none
};
/// Reports side by side: a table of candidates by operations, in Markdown on stdout and as a page.
int compare(const compare_options& options);

struct cases_options {
  std::filesystem::path folder;
  gate_options selected;  ///< encodings, operations, dtypes, effort, seed and formula
};
int cases(const cases_options& options);

struct replay_options {
  std::filesystem::path file;
  std::string candidate;
  asked_formula formula{};
  bool strict = false;  ///< inputs outside the operation's domain are an error
  candidate_limits limits;
};
int replay(const replay_options& options);

struct mutants_options {
  std::vector<std::string> names{};      ///< such as mutant/drops_nan; empty: all
  std::vector<std::string> encodings{};  ///< only those of these; empty: of all
  asked_formula formula{};               ///< whose steps are wrong one at a time
  std::uint64_t seed = 1;
  std::size_t cases = 6;
  bool generated = false;  ///< those made by rule, too
  std::filesystem::path out = "assay-mutants";
};
/// check_failed where a mutant survived or was not executed.
int mutants(const mutants_options& options);

struct detectability_options {
  std::vector<std::string> dtypes{}, operations{};
  std::uint64_t seed = 1;
  std::size_t cases = 8;
  bool usual_sizes = false;
  std::filesystem::path golden{};  ///< a folder of golden sets; empty: none
};
/// The smallest error that the verdict always catches, by operation, output and dtype, on stdout; or what it lets pass
/// at usual sizes, or in golden sets.
int detectability(const detectability_options& options);

/// Becomes assay-bench, the program beside this one, where it was built (bench/). `threads` and `target` are those
/// before the command; 0 and empty: none.
int bench(std::vector<std::string> arguments, int threads, const std::string& target);

/// Encodings and operations can be listed as a table of a document (markdown), too, operations for a program (json),
/// and encodings as a page with a section for each.
enum class list_format { text, json, markdown, page };
/// `names`: of operations that are described one by one, or of encodings whose operations are.
int list(const std::string& what, const std::vector<std::string>& names, list_format format);
void list_encodings(list_format format);

/// What somebody's code is, by the name of a model, a kernel or a function; or all of it as tables of a document.
int find(const std::vector<std::string>& words, bool as_markdown);

/// "assay: MESSAGE" on stderr.
void complain(const std::string& message);

}  // namespace assay::tools
