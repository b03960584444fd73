#include "judge/compare/fleet_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <thread>

#include "core/input_file.h"
#include "core/mutex.h"
#include "judge/compare/emulated.h"
#include "judge/compare/operands.h"
#include "results/store/store.h"
#include "results/store/stored_fingerprint.h"
#include "statistics/summary.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Numbers the series equally for all nodes, in the order in which threads find them.
class SeriesIndex {
 public:
  std::size_t number_of(const Series& series) {
    const MutexLock lock(mutex_);
    const auto [at, fresh] =
        numbers_.emplace(series.key.cell + '\n' + series.key.metric, series_.size());
    if (fresh) series_.push_back({series.key, series.unit, series.better});
    return at->second;
  }
  std::vector<FleetSeries> take() {
    const MutexLock lock(mutex_);
    return std::move(series_);
  }

 private:
  Mutex mutex_;
  std::unordered_map<std::string, std::size_t> numbers_ GUARDED_BY(mutex_);
  std::vector<FleetSeries> series_ GUARDED_BY(mutex_);
};

double median_of(const std::vector<Point>& points) {
  std::vector<double> values;
  for (const Point& point : points) values.push_back(point.value);
  return median(std::move(values));
}

Result<ResultSet> read_node(const fs::path& folder) {
  std::error_code ignored;
  TRY(check_access(folder / "records.jsonl"));
  if (!fs::exists(folder / "records.jsonl", ignored)) return load_result_set(folder.string());
  const StoredRecords stored = TRY(read_records(folder, Detail::summary));
  ResultSet set = result_set_of(stored.records, folder.filename().string());
  set.problems.insert(set.problems.end(), stored.problems.begin(), stored.problems.end());
  const auto fingerprints = read_stored_fingerprints(folder);
  if (!set.units.empty()) {
    const auto at = fingerprints.find(set.units.back().fingerprint);
    if (at != fingerprints.end()) set.fingerprints.push_back(at->second);
  }
  return set;
}

FleetNode node_of(const fs::path& folder, SeriesIndex& index) {
  FleetNode node;
  node.name = folder.filename().string();
  const auto set = read_node(folder);
  if (!set.ok()) {
    node.problem = set.error().message;
    return node;
  }
  if (const Status kind = refuse_mixture({&*set}); !kind.ok()) {
    node.problem = kind.error().message;
    return node;
  }
  node.emulated = set->emulated();
  constexpr std::size_t most_notes = 3;
  const std::size_t told = std::min(set->problems.size(), most_notes);
  node.notes.assign(set->problems.begin(),
                    set->problems.begin() + static_cast<std::ptrdiff_t>(told));
  if (told < set->problems.size()) {
    node.notes.push_back(fmt::format("and {} more notes", set->problems.size() - told));
  }
  for (const auto& [cell, fault] : set->faults) node.faults.push_back(cell + ": " + fault);
  for (const Series& series : set->series) {
    if (set->faults.count(series.key.cell) > 0 || series.points.empty()) continue;
    node.values.emplace_back(index.number_of(series), median_of(series.points));
  }
  if (!set->fingerprints.empty()) node.fingerprint = set->fingerprints.back();
  return node;
}

/// The folders of the nodes, sorted by the last parts of their paths, which name the nodes.
Result<std::vector<fs::path>> folders_of_nodes(const std::vector<fs::path>& given) {
  if (given.size() == 1) {
    std::vector<fs::path> folders = TRY(list_folder(given.front()));
    std::erase_if(folders, [](const fs::path& path) {
      std::error_code ignored;
      return !fs::is_directory(path, ignored);
    });
    return folders;
  }
  std::map<std::string, fs::path> by_name;
  for (const fs::path& path : given) {
    const fs::path plain = path.has_filename() ? path : path.parent_path();
    const auto [at, fresh] = by_name.emplace(plain.filename().string(), plain);
    if (fresh) continue;
    return Error{ErrorKind::usage,
                 fmt::format("{} and {} are both called {}; a node's name is the last part of its "
                             "path, so give folders with different names",
                             at->second.string(), path.string(), at->first)};
  }
  std::vector<fs::path> folders;
  for (const auto& [name, path] : by_name) folders.push_back(path);
  return folders;
}

/// Sorts the series by their keys, and renumbers the values.
void sort_series(FleetNodes& fleet) {
  std::vector<std::size_t> order(fleet.series.size()), place(fleet.series.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return fleet.series[a].key < fleet.series[b].key;
  });
  std::vector<FleetSeries> sorted;
  for (const std::size_t found : order) {
    place[found] = sorted.size();
    sorted.push_back(std::move(fleet.series[found]));
  }
  fleet.series = std::move(sorted);
  for (FleetNode& node : fleet.nodes) {
    for (auto& [series, value] : node.values) series = place[series];
    std::sort(node.values.begin(), node.values.end());
  }
}

}  // namespace

Result<FleetNodes> read_fleet(
    const std::vector<fs::path>& given,
    const std::function<void(std::size_t read, std::size_t of)>& progress) {
  const std::vector<fs::path> folders = TRY(folders_of_nodes(given));
  FleetNodes fleet;
  fleet.nodes.resize(folders.size());
  SeriesIndex index;
  std::atomic<std::size_t> next = 0, read = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < folders.size(); i = next++) {
      fleet.nodes[i] = node_of(folders[i], index);
      const std::size_t done = ++read;
      if (progress) progress(done, folders.size());
    }
  };
  std::vector<std::jthread> threads;
  const std::size_t count = std::max(1u, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < std::min(count, folders.size()); ++i) threads.emplace_back(work);
  work();
  threads.clear();  // joins the threads
  fleet.series = index.take();
  sort_series(fleet);
  return fleet;
}

}  // namespace assay
