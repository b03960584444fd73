// Limits from data: of N healthy nodes, the tightest limits with a stated rate of false alarms.
// Pure functions; only read_population() reads stores.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "judge/compare/result_set.h"
#include "results/record/record.h"
#include "statistics/tolerance.h"

namespace assay::health {

/// A node, or a run of one, with what it measured.
struct PopulationNode {
  std::string name;
  std::vector<Record> records;
};

/// What the limits promise about healthy nodes.
struct DeriveRule {
  /// Probability that a healthy node fails any line. Each line gets an equal part of it.
  double rate = 0.01;
  /// Probability that the limits keep this rate.
  double confidence = 0.95;
  /// Each node is a single run, so the promise is about further runs of these machines.
  bool per_run = false;
};

/// The limit of one cell and metric.
struct DerivedLine {
  SeriesKey key;  ///< pairs of a peer copy are one cell with from=all to=all
  std::string unit;
  Better better = Better::higher;
  std::size_t nodes = 0;
  bool per_run = false;                ///< DeriveRule::per_run
  double median = 0, worst = 0;        ///< of the nodes' values
  double value = 0;                    ///< the limit, rounded away from the nodes
  ToleranceLimit tolerance;            ///< limit of the nodes' log_time() (comparable_metrics.h)
  double log_mean = 0, deviation = 0;  ///< mean and deviation of the nodes' log_time()
  std::vector<std::string> outliers;   ///< nodes that are outliers, which loosen the limit
};

struct DerivedLimits {
  DeriveRule rule;
  TolerancePromise per_line;  ///< each line's part of the rule
  std::size_t nodes = 0;
  std::size_t nodes_for_any_distribution = 0;  ///< from this number on, none is assumed
  std::string device;                          ///< name of the nodes' devices; empty: no record
  std::vector<DerivedLine> lines;              ///< sorted by key
  std::vector<std::string> left_out;           ///< "memory op=...: only 2 nodes have it"
};

/// Derives the limits. A node's value is that of its worst GPU or pair, as acceptance judges; the
/// value of a GPU is the median of its runs. Error: usage, if there are fewer than 3 nodes, several
/// kinds of device, emulated ones, or no cell that enough nodes have.
Result<DerivedLimits> derive_limits(std::span<const PopulationNode> nodes, const DeriveRule& rule);

/// Reads each operand: a store or a file of records, which is a node, or a folder whose folders are
/// stores of a node each; others in it are passed over. With `per_run`, every run is a node of its
/// own. Error: usage, naming the operand, if it is none of these; as list_folder()
/// (core/input_file.h) and read_records() (results/store/store.h).
Result<std::vector<PopulationNode>> read_population(const std::vector<std::string>& operands,
                                                    bool per_run);

/// Returns the probability that a node which is `slower` than the others, 0.03 for 3%, fails the
/// line, if log times are normal; 1 if all nodes are equal.
double share_found(const DerivedLine& line, double slower);

/// Return what the numbers rest on, for the files and the screen.
std::string method_text(const DerivedLimits& limits);
std::string method_text(const DerivedLine& line);  ///< "mean + 3.981 deviations of log time"

/// Writes assay's YAML. `date`: "2026-11-29".
std::string limits_yaml(const DerivedLimits& limits, std::string_view name, std::string_view date);
/// Writes a threshold file of ROCm's Cluster Validation Suite, by cell.
std::string limits_cvs(const DerivedLimits& limits, std::string_view date);
/// Writes YAML that any program can read: a map of cells to least or most values.
std::string limits_plain(const DerivedLimits& limits, std::string_view date);

}  // namespace assay::health
