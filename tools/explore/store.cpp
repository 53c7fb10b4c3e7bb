#include "tools/explore/store.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "reference/core/fnv1a.hpp"
#include "tools/explore/measure.hpp"

namespace assay::explore {
namespace {

constexpr int application = 0x41535359, format = 1;  // "ASSY"

constexpr const char* schema = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cell(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE, measure TEXT NOT NULL, implementation TEXT NOT NULL,
  arithmetic TEXT NOT NULL, storage TEXT NOT NULL, family TEXT NOT NULL, decay REAL NOT NULL, scale REAL NOT NULL,
  size INTEGER NOT NULL, seed INTEGER NOT NULL);
CREATE TABLE result(cell INTEGER NOT NULL REFERENCES cell(id), name TEXT NOT NULL, value REAL,
  PRIMARY KEY(cell, name)) WITHOUT ROWID;
CREATE TABLE timing(cell INTEGER PRIMARY KEY, seconds REAL NOT NULL);
)sql";

std::map<std::string, std::string> as_meta(const sweep_identity& i) {
  return {{"format", fmt::format("assay-sweep/{}", format)},
          {"version", i.version},
          {"sweep", i.name},
          {"question", i.question},
          {"definition", i.definition},
          {"candidate", i.candidate},
          {"formula", i.formula},
          {"formula_sha256", i.formula_sha256},
          {"cells", std::to_string(i.cells)},
          {"shard", fmt::format("{}/{}", i.shard, i.shards)}};
}

}  // namespace

std::string definition_of(const std::vector<cell>& cells) {
  std::uint64_t hash = 0;
  for (const cell& c : cells) hash = core::fnv1a(text_of(c), hash);
  // Recorded inputs belong to the definition.
  std::set<std::string> families;
  for (const cell& c : cells) families.insert(c.family);
  for (const measure& m : measures())
    for (const std::string& family : families)
      if (m.takes_file != nullptr && m.takes_file(family)) hash = m.hash_of_file(family, hash);
  return fmt::format("{:016x}", hash);
}

namespace {

std::string formula_words(const sweep_identity& i) {
  return i.formula_sha256.empty() ? "no user formula"
                                  : fmt::format("the formula {} with sha256 {:.12}", i.formula, i.formula_sha256);
}

}  // namespace

std::string difference(const sweep_identity& x, const sweep_identity& y) {
  if (x.version != y.version) return fmt::format("it was measured by Assay {}, this is {}", y.version, x.version);
  if (x.candidate != y.candidate) return fmt::format("its candidate is '{}', not '{}'", y.candidate, x.candidate);
  if (x.formula_sha256 != y.formula_sha256)
    return fmt::format("it was measured against {}, not {}", formula_words(y), formula_words(x));
  if (x.name != y.name) return fmt::format("it holds the sweep '{}', not '{}'", y.name, x.name);
  if (x.definition != y.definition || x.cells != y.cells)
    return fmt::format("its cells are others: the sweep '{}' has changed", x.name);
  if (x.shard != y.shard || x.shards != y.shards)
    return fmt::format("it holds shard {}/{}, not {}/{}", y.shard, y.shards, x.shard, x.shards);
  return "";
}

struct sweep_store::database {
  SQLite::Database file;
  database(const std::filesystem::path& path, int flags) : file(path.string(), flags) {
    // The lock is held until the end: a second run would measure the same cells.
    file.exec("PRAGMA locking_mode=EXCLUSIVE");
  }
};

sweep_store::sweep_store(std::unique_ptr<database> d) : database_(std::move(d)) {}
sweep_store::sweep_store(sweep_store&&) noexcept = default;
sweep_store& sweep_store::operator=(sweep_store&&) noexcept = default;
sweep_store::~sweep_store() = default;

bool sweep_store::is_blank(const std::filesystem::path& file) {
  try {
    // It is opened for writing, too, so that SQLite rolls an unfinished transaction back first.
    const SQLite::Database db(file.string(), SQLite::OPEN_READWRITE);
    SQLite::Statement tables(db, "SELECT count(*) FROM sqlite_master");
    return tables.executeStep() && tables.getColumn(0).getInt() == 0;
  } catch (const SQLite::Exception&) {
    return false;
  }
}

core::result<sweep_store> sweep_store::create(const std::filesystem::path& file, const sweep_identity& identity) {
  if (std::filesystem::exists(file) && !is_blank(file))
    return core::failure(file.string() + ": there is a sweep already");
  try {
    sweep_store store(std::make_unique<database>(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE));
    SQLite::Database& db = store.database_->file;
    db.exec("PRAGMA journal_mode=WAL");
    db.exec("PRAGMA synchronous=NORMAL");
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::EXCLUSIVE);
    db.exec(schema);
    db.exec(fmt::format("PRAGMA application_id={}", application));
    db.exec(fmt::format("PRAGMA user_version={}", format));
    SQLite::Statement insert(db, "INSERT INTO meta VALUES(?, ?)");
    for (const auto& [key, value] : as_meta(identity)) {
      insert.bind(1, key);
      insert.bind(2, value);
      insert.exec();
      insert.reset();
    }
    transaction.commit();
    store.identity_ = identity;
    return store;
  } catch (const SQLite::Exception& e) {
    return core::failure(fmt::format("{}: {}", file.string(), e.what()));
  }
}

core::result<sweep_store> sweep_store::open(const std::filesystem::path& file) {
  const auto wrong = [&](const std::string& what) { return core::failure(file.string() + ": " + what); };
  if (!std::filesystem::is_regular_file(file)) return wrong("there is no such file");
  try {
    sweep_store store(std::make_unique<database>(file, SQLite::OPEN_READWRITE));
    SQLite::Database& db = store.database_->file;
    if (db.execAndGet("PRAGMA application_id").getInt() != application) return wrong("it is no sweep of Assay");
    if (const int version = db.execAndGet("PRAGMA user_version").getInt(); version != format)
      return wrong(fmt::format("it has format {}, and this version of Assay reads format {}", version, format));
    db.exec("PRAGMA journal_mode=WAL");
    db.exec("PRAGMA synchronous=NORMAL");
    db.exec("BEGIN EXCLUSIVE; COMMIT");
    std::map<std::string, std::string> meta;
    SQLite::Statement query(db, "SELECT key, value FROM meta");
    while (query.executeStep()) meta[query.getColumn(0).getString()] = query.getColumn(1).getString();
    sweep_identity& i = store.identity_;
    i = {meta["version"], meta["sweep"], meta["question"], meta["definition"], meta["candidate"]};
    const std::string shard = meta["shard"];
    const std::size_t slash = shard.find('/');
    if (slash == std::string::npos) return wrong("its table meta is damaged");
    i.cells = std::stoull(meta["cells"]);
    i.shard = std::stoull(shard.substr(0, slash));
    i.shards = std::stoull(shard.substr(slash + 1));
    i.formula = meta["formula"], i.formula_sha256 = meta["formula_sha256"];
    return store;
  } catch (const SQLite::Exception& e) {
    const std::string what = e.what();
    return wrong(what.find("locked") == std::string::npos ? what : what + ": another process uses it");
  } catch (const std::logic_error&) {  // std::stoull throws it
    return wrong("its table meta is damaged");
  }
}

std::set<std::uint64_t> sweep_store::ids() const {
  std::set<std::uint64_t> all;
  SQLite::Statement query(database_->file, "SELECT id FROM cell");
  while (query.executeStep()) all.insert(static_cast<std::uint64_t>(query.getColumn(0).getInt64()));
  return all;
}

std::vector<measured_cell> sweep_store::cells() const {
  std::vector<measured_cell> all;
  std::map<std::int64_t, std::size_t> place;
  SQLite::Statement query(database_->file,
                          "SELECT id, measure, implementation, arithmetic, storage, family, decay, scale, size, seed, "
                          "seconds FROM cell LEFT JOIN timing ON timing.cell = cell.id ORDER BY id");
  while (query.executeStep()) {
    const auto text = [&](int k) { return query.getColumn(k).getString(); };
    const std::int64_t id = query.getColumn(0).getInt64();
    place[id] = all.size();
    all.push_back({static_cast<std::uint64_t>(id),
                   {text(1), text(2), text(3), text(4), text(5), query.getColumn(6).getDouble(),
                    query.getColumn(7).getDouble(), static_cast<std::uint64_t>(query.getColumn(8).getInt64()),
                    static_cast<std::uint64_t>(query.getColumn(9).getInt64())},
                   {},
                   query.getColumn(10).getDouble()});
  }
  SQLite::Statement numbers(database_->file, "SELECT cell, name, value FROM result");
  while (numbers.executeStep()) {
    const auto found_place = place.find(numbers.getColumn(0).getInt64());
    if (found_place == place.end()) continue;
    const SQLite::Column value = numbers.getColumn(2);
    all[found_place->second].found[numbers.getColumn(1).getString()] =
        value.isNull() ? std::nan("") : value.getDouble();
  }
  return all;
}

void sweep_store::add(const std::vector<measured_cell>& batch) {
  SQLite::Database& db = database_->file;
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  SQLite::Statement cell_insert(db, "INSERT INTO cell VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  SQLite::Statement result_insert(db, "INSERT INTO result VALUES(?, ?, ?)");
  SQLite::Statement time_insert(db, "INSERT INTO timing VALUES(?, ?)");
  for (const measured_cell& m : batch) {
    const auto id = static_cast<std::int64_t>(m.id);
    SQLite::bind(cell_insert, id, text_of(m.what), m.what.measure, m.what.implementation, m.what.arithmetic,
                 m.what.storage, m.what.family, m.what.decay, m.what.scale, static_cast<std::int64_t>(m.what.size),
                 static_cast<std::int64_t>(m.what.seed));
    cell_insert.exec();
    cell_insert.reset();
    for (const auto& [name, value] : m.found) {
      result_insert.bind(1, id);
      result_insert.bind(2, name);
      if (std::isnan(value))
        result_insert.bind(3);
      else
        result_insert.bind(3, value);
      result_insert.exec();
      result_insert.reset();
    }
    SQLite::bind(time_insert, id, m.seconds);
    time_insert.exec();
    time_insert.reset();
  }
  transaction.commit();
}

void sweep_store::close() { database_->file.exec("PRAGMA journal_mode=DELETE"); }

}  // namespace assay::explore
