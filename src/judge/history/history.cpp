#include "judge/history/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/environment_value.h"
#include "core/input_file.h"
#include "core/json.h"
#include "core/json_text.h"
#include "judge/compare/result_set.h"
#include "results/record/cell_order.h"
#include "results/store/comparable_metrics.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr int tables_version = 1;
constexpr int application = 0x61737379;  // "assy": distinguishes assay's files from other programs'

constexpr std::string_view if_damaged = "move it away and add the stores again";
constexpr const char* tables =
    "CREATE TABLE fingerprint(id TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE series(id INTEGER PRIMARY KEY, machine TEXT NOT NULL, device TEXT NOT NULL,"
    " benchmark TEXT NOT NULL, axes TEXT NOT NULL, metric TEXT NOT NULL, unit TEXT NOT NULL,"
    " better TEXT NOT NULL,"
    " UNIQUE(machine, device, benchmark, axes, metric, unit, better));"
    "CREATE TABLE point(series INTEGER NOT NULL REFERENCES series(id), run TEXT NOT NULL,"
    " time TEXT NOT NULL, value REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL,"
    " samples INTEGER NOT NULL, throttled INTEGER NOT NULL, fingerprint TEXT NOT NULL,"
    " PRIMARY KEY(series, run)) WITHOUT ROWID;";

/// Returns whether the file is a history that this version of assay can read; false for a new file.
/// Call it in a transaction, because another process may be creating the tables.
Result<bool> check_history(const Database& database) {
  const std::int64_t found = TRY(database.integer("PRAGMA user_version"));
  const std::int64_t owner = TRY(database.integer("PRAGMA application_id"));
  const std::int64_t things = TRY(database.integer("SELECT count(*) FROM sqlite_master"));
  if (found == 0 && owner == 0 && things == 0) return false;
  if (owner != application) {
    return Error{ErrorKind::usage,
                 fmt::format("{} is another program's database", database.path().string())};
  }
  if (found != tables_version) {
    return Error{ErrorKind::usage,
                 fmt::format("{} has version {} of the history's tables; this assay reads version "
                             "{}: use the assay that wrote it, or another --database",
                             database.path().string(), found, tables_version)};
  }
  return true;
}

Result<bool> has_history(const Database& database) {
  const Transaction moment = TRY(Transaction::begin(database, Database::Access::read));
  return check_history(database);
}

/// Creates the tables, possibly at the same time as another process.
Status create_tables(const Database& database) {
  Transaction transaction = TRY(Transaction::begin(database, Database::Access::write));
  if (TRY(check_history(database))) return {};
  TRY(database.execute(tables));
  TRY(database.execute(fmt::format("PRAGMA application_id={}", application).c_str()));
  TRY(database.execute(fmt::format("PRAGMA user_version={}", tables_version).c_str()));
  return transaction.commit();
}

std::string text_at(const Json& json, const char* section, const char* key) {
  const auto at = json.find(section);
  if (at == json.end() || !at->is_object()) return {};
  const auto value = at->find(key);
  return value != at->end() && value->is_string() ? value->get<std::string>() : std::string();
}

/// Finds or inserts rows of `series`.
class SeriesIds {
 public:
  static Result<SeriesIds> of(const Database& database) {
    return SeriesIds(TRY(database.prepare("INSERT OR IGNORE INTO series(machine, device, benchmark,"
                                          " axes, metric, unit, better) VALUES(?,?,?,?,?,?,?)")),
                     TRY(database.prepare("SELECT id FROM series WHERE machine=? AND device=? AND"
                                          " benchmark=? AND axes=? AND metric=? AND unit=? AND"
                                          " better=?")));
  }

  Result<std::int64_t> id(const std::string& machine, const std::string& device,
                          const Series& series) {
    Json axes = Json::object();
    for (const auto& [axis, value] : series.axes) axes[axis] = value;
    const std::string axes_text = json_line(axes);
    const std::string name =
        fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", machine, device, series.benchmark, axes_text,
                    series.key.metric, series.unit, name_of(series.better));
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
    for (Statement* statement : {&insert_, &select_}) {
      statement->bind(1, machine).bind(2, device).bind(3, series.benchmark).bind(4, axes_text);
      statement->bind(5, series.key.metric).bind(6, series.unit).bind(7, name_of(series.better));
    }
    TRY(insert_.run());
    const bool found = TRY(select_.step());
    const std::int64_t id = found ? select_.integer(0) : 0;
    select_.reset();
    if (!found) return Error{ErrorKind::failed, "a series was not stored"};
    known_.emplace(name, id);
    return id;
  }

 private:
  SeriesIds(Statement insert, Statement select)
      : insert_(std::move(insert)), select_(std::move(select)) {}
  Statement insert_, select_;
  std::unordered_map<std::string, std::int64_t> known_;
};

/// Returns the row's key; empty if assay cannot have written the row.
std::optional<HistoryKey> key_of(const Statement& row) {
  const auto axes = parse_json(row.text(3));
  if (!axes.ok() || !axes->is_object()) return std::nullopt;
  HistoryKey key{row.text(0), row.text(1), row.text(2), {}, row.text(4), row.text(5)};
  for (const auto& [axis, value] : axes->items()) {
    if (!value.is_string()) return std::nullopt;
    key.axes.emplace_back(axis, value.get<std::string>());
  }
  const std::string better = row.text(6);
  if (better != name_of(Better::higher) && better != name_of(Better::lower)) return std::nullopt;
  key.better = better == name_of(Better::higher) ? Better::higher : Better::lower;
  return key;
}

}  // namespace

std::string machine_of(const Json& fingerprint) {
  if (!fingerprint.is_object()) return "unknown";
  std::string machine = text_at(fingerprint, "host", "name");
  if (machine.empty()) machine = "unknown";
  for (const char* layer : {"hypervisor", "container"}) {
    const std::string kind = text_at(fingerprint, "virtualization", layer);
    if (!kind.empty() && kind != "none") machine += ", " + kind;
  }
  return machine;
}

std::string device_of(const DeviceFacts& facts) {
  std::string device = facts.backend + " " + facts.name;
  if (!facts.partition.empty()) device += " " + facts.partition;
  if (facts.emulated) device += " (emulated)";
  if (!facts.uuid.empty()) return device + " " + facts.uuid;
  if (!facts.pci.empty()) return device + " " + facts.pci;
  return fmt::format("{} #{}", device, facts.ordinal);
}

std::string default_history() {
  for (const auto& [variable, folder] :
       {std::pair{"XDG_DATA_HOME", ""}, std::pair{"HOME", "/.local/share"}}) {
    const std::string value = environment_value(variable);
    if (!value.empty()) return value + folder + "/assay/history.sqlite";
  }
  return {};
}

Result<History> History::open_or_create(const fs::path& path) {
  History history(TRY(Database::open(path, Database::Access::write, if_damaged)));
  if (!TRY(has_history(history.database_))) TRY(create_tables(history.database_));
  return history;
}

Result<History> History::open(const fs::path& path) {
  std::error_code error;
  TRY(check_access(path));
  if (!fs::exists(path, error)) {
    return Error{ErrorKind::usage,
                 fmt::format("there is no history at {}; make one: assay history add STORE...",
                             path.string())};
  }
  History history(TRY(Database::open(path, Database::Access::read, if_damaged)));
  if (!TRY(has_history(history.database_))) {
    return Error{ErrorKind::usage,
                 fmt::format("{} is empty; fill it: assay history add STORE...", path.string())};
  }
  return history;
}

Result<History::Added> History::add(const Evidence& evidence) {
  // The facts in a run's first record hold for the whole run: a run measures one device.
  std::unordered_map<std::string, const DeviceFacts*> devices;
  for (const Record& record : evidence.records) devices.emplace(record.run, &record.device);
  const ResultSet set = result_set_of(evidence.records, "");
  Added added;
  added.problems = set.problems;
  Transaction transaction = TRY(Transaction::begin(database_, Database::Access::write));
  Statement keep = TRY(database_.prepare("INSERT OR IGNORE INTO fingerprint VALUES(?,?)"));
  for (const auto& [id, fingerprint] : evidence.fingerprints) {
    TRY(keep.bind(1, id).bind(2, json_line(fingerprint)).run());
  }
  SeriesIds ids = TRY(SeriesIds::of(database_));
  Statement insert =
      TRY(database_.prepare("INSERT OR IGNORE INTO point VALUES(?,?,?,?,?,?,?,?,?) RETURNING 1"));
  for (const Series& series : set.series) {
    for (const Point& point : series.points) {
      const Unit& unit = set.units[point.unit];
      const bool usable = log_time(point.value, series.better).has_value();
      if (!usable || unit.time.empty()) {
        added.left_out.push_back(
            {unit.run, series.key.cell, series.key.metric,
             usable ? "its time of measurement is unknown"
                    : fmt::format("a value of {} cannot be compared", point.value)});
        continue;
      }
      const auto fingerprint = evidence.fingerprints.find(unit.fingerprint);
      const std::string machine =
          machine_of(fingerprint == evidence.fingerprints.end() ? Json() : fingerprint->second);
      const std::int64_t id = TRY(ids.id(machine, device_of(*devices.at(unit.run)), series));
      insert.bind(1, id).bind(2, unit.run).bind(3, unit.time).bind(4, point.value);
      insert.bind(5, point.low).bind(6, point.high);
      insert.bind(7, static_cast<std::int64_t>(point.samples));
      insert.bind(8, static_cast<std::int64_t>(point.throttled)).bind(9, unit.fingerprint);
      const bool fresh = TRY(insert.step());  // the insert is complete after its first step
      insert.reset();
      (fresh ? added.points : added.known) += 1;
    }
  }
  TRY(transaction.commit());
  return added;
}

Result<std::vector<HistorySeries>> History::read(
    const std::function<Result<bool>(const HistoryKey&)>& wanted) const {
  Statement rows = TRY(database_.prepare(
      "SELECT machine, device, benchmark, axes, metric, unit, better, id FROM series"));
  Statement points = TRY(database_.prepare(
      "SELECT run, time, value, fingerprint FROM point WHERE series=? ORDER BY time, run"));
  std::vector<HistorySeries> all;
  while (TRY(rows.step())) {
    auto key = key_of(rows);
    if (!key || !TRY(wanted(*key))) continue;
    HistorySeries series{std::move(*key), {}};
    points.bind(1, rows.integer(7));
    while (TRY(points.step())) {
      const double value = points.number(2);
      if (!(value > 0) || !std::isfinite(value)) continue;
      series.points.push_back({points.text(0), points.text(1), value, points.text(3)});
    }
    points.reset();
    if (!series.points.empty()) all.push_back(std::move(series));
  }
  const auto place = [](const HistorySeries& series) {
    return std::tie(series.key.machine, series.key.device, series.key.benchmark);
  };
  const auto figure = [](const HistorySeries& series) {
    return std::tie(series.key.metric, series.key.unit);
  };
  std::sort(all.begin(), all.end(), [&](const HistorySeries& a, const HistorySeries& b) {
    if (place(a) != place(b)) return place(a) < place(b);
    if (a.key.axes != b.key.axes) return comes_before(a.key.axes, b.key.axes);
    return figure(a) < figure(b);
  });
  return all;
}

Result<Json> History::fingerprint(std::string_view id) const {
  Statement row = TRY(database_.prepare("SELECT json FROM fingerprint WHERE id=?"));
  row.bind(1, id);
  if (!TRY(row.step())) return Json();
  auto json = parse_json(row.text(0));
  return json.ok() ? std::move(json).value() : Json();
}

}  // namespace assay
