// Results over time in one SQLite file: a row for each run and series, and the environments of the
// runs. docs/schema.md has the tables.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "judge/compare/admissible_records.h"
#include "judge/history/database.h"

namespace assay {

/// What identifies a series: runs belong to the same series only if all of it is equal.
struct HistoryKey {
  std::string machine;  ///< machine_of()
  std::string device;   ///< device_of()
  std::string benchmark;
  std::vector<std::pair<std::string, std::string>> axes;
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
  std::vector<HistoryPoint> points;  ///< by time, then run
};

/// The host's name, with its hypervisor and kind of container, since both change the numbers:
/// "node7", "node7, docker", "vm3, kvm". "unknown" without a fingerprint.
std::string machine_of(const Json& fingerprint);
/// Backend, name, partition and what identifies the device among equal ones: the UUID, else the PCI
/// address, else the ordinal. "cuda NVIDIA H200 GPU-...". An emulated device differs from a real
/// one of the same name.
std::string device_of(const DeviceFacts& facts);

/// $XDG_DATA_HOME/assay/history.sqlite or ~/.local/share/assay/history.sqlite; empty without
/// either.
std::string default_history();

class History {
 public:
  /// Creates it if need be. Error: usage (another program's file, a newer assay's, damaged) or
  /// exhausted.
  static Result<History> open_or_create(const std::filesystem::path& path);
  /// Opens it read-only. Error: the same, and usage if the file does not exist.
  static Result<History> open(const std::filesystem::path& path);

  struct Added {
    std::size_t points = 0, known = 0;  ///< rows that are new; rows that existed already
    std::vector<LeftOut> left_out;
    std::vector<std::string> problems;  ///< ResultSet::problems
  };
  /// Adds all of it or, with an Error, nothing.
  Result<Added> add(const Evidence& evidence);

  /// The series for whose key `wanted` is true, in the order of machine, device, cell and metric.
  /// Rows that assay cannot have written are left out. Error: of the file, or what `wanted`
  /// returns.
  Result<std::vector<HistorySeries>> read(
      const std::function<Result<bool>(const HistoryKey&)>& wanted) const;
  /// Null if there is none.
  Result<Json> fingerprint(std::string_view id) const;

  const std::filesystem::path& path() const { return database_.path(); }

 private:
  explicit History(Database database) : database_(std::move(database)) {}
  Database database_;
};

}  // namespace assay
