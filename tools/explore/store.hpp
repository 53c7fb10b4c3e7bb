// The file of a sweep: one SQLite database; users may query its tables.
//
//   meta(key, value)            format, version, sweep, question, definition, candidate, formula, formula_sha256,
//                               cells, shard
//   cell(id, text, measure, implementation, arithmetic, storage, family, decay, scale, size, seed)
//   result(cell, name, value)   NULL: the cell has no such number
//   timing(cell, seconds)       differs from run to run; cells that were measured together share their time
//
// A cell is in the file once it is measured, with all its results or not at all. A batch is one transaction, so a
// killed process loses only the batch that it was measuring.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/explore/cell.hpp"

namespace assay::explore {

/// The identity of a sweep in its file. `difference` compares it when a run is continued or shards are merged.
struct sweep_identity {
  std::string version;  ///< version of Assay: another version may measure other numbers
  std::string name, question;
  std::string definition;   ///< a hash of all cells of the whole sweep, in order, and of their files of inputs
  std::string candidate;    ///< empty: none
  std::uint64_t cells = 0;  ///< number of cells of the whole sweep
  std::uint64_t shard = 1, shards = 1;
  std::string formula{}, formula_sha256{};  ///< for a user formula: its specification and its hash; empty: none
  friend bool operator==(const sweep_identity&, const sweep_identity&) = default;
};
std::string definition_of(const std::vector<cell>& cells);
/// The first difference in words, where x is wanted and y is in the file; empty if nothing differs. Questions are not
/// compared.
std::string difference(const sweep_identity& x, const sweep_identity& y);

struct measured_cell {
  std::uint64_t id = 0;  ///< place of the cell in the whole sweep, from 0
  cell what;
  results found;
  double seconds = 0;
};

/// An open file. Another process cannot open it meanwhile. This class is not thread-safe. If writing fails, it throws
/// std::runtime_error with the system's message; everything written before stays.
class sweep_store {
 public:
  /// Whether the file is a database without tables. A run that is killed at its start leaves such a file.
  static bool is_blank(const std::filesystem::path& file);
  /// Creates a new file; an error if there is one that is not blank.
  static core::result<sweep_store> create(const std::filesystem::path& file, const sweep_identity& identity);
  /// Opens a file; an error if it is no sweep, was written in another format, or is in use.
  static core::result<sweep_store> open(const std::filesystem::path& file);

  [[nodiscard]] const sweep_identity& identity() const { return identity_; }
  [[nodiscard]] std::set<std::uint64_t> ids() const;
  /// The cells in the order of their ids.
  [[nodiscard]] std::vector<measured_cell> cells() const;
  void add(const std::vector<measured_cell>& batch);
  /// Leaves one file without a journal beside it, at the end of a run.
  void close();

  sweep_store(sweep_store&&) noexcept;
  sweep_store& operator=(sweep_store&&) noexcept;
  ~sweep_store();

 private:
  struct database;
  explicit sweep_store(std::unique_ptr<database> d);
  std::unique_ptr<database> database_;
  sweep_identity identity_;
};

}  // namespace assay::explore
