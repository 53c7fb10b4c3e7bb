// The file of a sweep: one SQLite database, whose tables a user may query.
//
//   meta(key, value)            format, version, sweep, question, definition, candidate, shard, cells
//   cell(id, text, measure, implementation, arithmetic, storage, family, decay, scale, size, seed)
//   result(cell, name, value)   NULL: there is none
//   timing(cell, seconds)       differs from run to run; cells that were measured together share their time
//
// A cell is in the file once it is measured, with all its results or not at all: a batch is one transaction, so that a
// process that is killed loses what it was measuring and nothing else.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/explore/cell.hpp"

namespace assay::explore {

/// What must be equal where a run is gone on with, or shards are merged.
struct sweep_identity {
  std::string version;  ///< of Assay: another one may measure other numbers
  std::string name, question;
  std::string definition;   ///< a hash of all cells of the whole sweep, in their order
  std::string candidate;    ///< empty: none
  std::uint64_t cells = 0;  ///< of the whole sweep
  std::uint64_t shard = 1, shards = 1;
  std::string formula{}, formula_sha256{};  ///< of one's own: how it is asked for, and which it was; empty: none
  friend bool operator==(const sweep_identity&, const sweep_identity&) = default;
};
std::string definition_of(const std::vector<cell>& cells);
/// What differs, in words; empty where nothing does.
std::string difference(const sweep_identity& x, const sweep_identity& y);

struct measured_cell {
  std::uint64_t id = 0;  ///< its place in the sweep, from 0
  cell what;
  results found;
  double seconds = 0;
};

/// An open file. Another process cannot open it meanwhile. Not thread-safe. Writing throws std::runtime_error with the
/// words of the system where it fails: what was written before stays.
class sweep_store {
 public:
  /// Whether a run that was killed at once has left the file without tables.
  static bool is_blank(const std::filesystem::path& file);
  /// A new file; an error where there is one that is not blank.
  static core::result<sweep_store> create(const std::filesystem::path& file, const sweep_identity& identity);
  /// An error where it is no sweep, was written by another format, or is in use.
  static core::result<sweep_store> open(const std::filesystem::path& file);

  [[nodiscard]] const sweep_identity& identity() const { return identity_; }
  [[nodiscard]] std::set<std::uint64_t> ids() const;
  /// In the order of their ids.
  [[nodiscard]] std::vector<measured_cell> cells() const;
  void add(const std::vector<measured_cell>& batch);
  /// One file without a journal beside it: for a run that is at its end.
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
