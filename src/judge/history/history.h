// Results over time in one SQLite file: a row for each run and series, and the environments of the
// runs. docs/schema.md has the tables.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/database.h"
#include "judge/compare/admissible_records.h"

namespace assay {

/// Identifies a series: runs belong to the same series only if all fields are equal.
struct HistoryKey {
  std::string machine;  ///< machine_of()
  std::string device;   ///< device_of()
  std::string benchmark;
  std::vector<std::pair<std::string, std::string>> axes;  ///< names and values
  std::string metric;
  std::string unit;
  Better better = Better::higher;

  std::string cell() const { return Cell(benchmark, axes).id(); }
};

struct HistoryPoint {
  std::string run;
  std::string time;         ///< as in the record; text order is time order
  double value = 0;         ///< above 0, finite
  std::string fingerprint;  ///< id; empty if unknown
};

struct HistorySeries {
  HistoryKey key;
  std::vector<HistoryPoint> points;  ///< sorted by time, then run
};

/// Returns the host's name with its hypervisor and kind of container, because both change the
/// numbers: "node7", "node7, docker", "vm3, kvm". Returns "unknown" without a fingerprint.
std::string machine_of(const Json& fingerprint);
/// Returns backend, name, partition and what identifies the device among equal ones: the UUID, else
/// the PCI address, else the ordinal. Example: "cuda NVIDIA H200 GPU-...". An emulated device
/// differs from a real one of the same name.
std::string device_of(const DeviceFacts& facts);

/// Returns $XDG_DATA_HOME/assay/history.sqlite or ~/.local/share/assay/history.sqlite; empty if
/// neither variable is set.
std::string default_history();

class History {
 public:
  /// Opens the file, or creates it if necessary. Error: as Database::open(); usage, for another
  /// program's file, one of a newer assay, or a damaged one.
  static Result<History> open_or_create(const std::filesystem::path& path);
  /// Opens it read-only. Error: as open_or_create(); usage if the file does not exist or is empty;
  /// file if it may not be seen whether it does.
  static Result<History> open(const std::filesystem::path& path);

  struct Added {
    std::size_t points = 0, known = 0;  ///< new rows; rows that existed already
    std::vector<LeftOut> left_out;
    std::vector<std::string> problems;  ///< ResultSet::problems (judge/compare/result_set.h)
  };
  /// Adds everything or, with an Error (that of the file), nothing.
  Result<Added> add(const Evidence& evidence);

  /// Returns the series for whose key `wanted` returns true, ordered by machine, device, cell and
  /// metric. Rows that assay cannot have written are left out, and series without a row. Error:
  /// that of the file, or what `wanted` returns.
  Result<std::vector<HistorySeries>> read(
      const std::function<Result<bool>(const HistoryKey&)>& wanted) const;
  /// Returns null if there is none or it is damaged. Error: that of the file.
  Result<Json> fingerprint(std::string_view id) const;

  const std::filesystem::path& path() const { return database_.path(); }

 private:
  explicit History(Database database) : database_(std::move(database)) {}
  Database database_;
};

}  // namespace assay
