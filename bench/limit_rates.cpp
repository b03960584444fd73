// How often limits from N healthy nodes give false alarms, and how often they find slow nodes:
// 1,000 simulated fleets for each row. `bench_limit_rates [FLEETS]`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "advise/health/limits/derive.h"

namespace assay::health {
namespace {

/// How healthy nodes differ. A node's GPUs share the node's part; a line's value is that of the
/// worst GPU.
struct World {
  const char* name;
  int gpus;
  double node_deviation, gpu_deviation, run_noise;
  bool heavy_tail;  ///< Student's t with 4 degrees of freedom instead of a normal distribution
};

constexpr int lines = 3;
constexpr double slow = 0.03;  ///< how much slower a slow node is, in all its lines

class Fleet {
 public:
  Fleet(const World& world, std::uint64_t seed) : world_(world), random_(seed) {}

  /// Log times of a node's lines.
  std::vector<double> node(double shift) {
    std::vector<double> worst(lines, -HUGE_VAL);
    const double common = draw(world_.node_deviation);
    for (int gpu = 0; gpu < world_.gpus; ++gpu) {
      const double own = draw(world_.gpu_deviation);
      for (double& line : worst) {
        line = std::max(line, shift + common + own + draw(world_.run_noise));
      }
    }
    return worst;
  }

 private:
  double draw(double deviation) {
    if (!world_.heavy_tail) return deviation * normal_(random_);
    return deviation * student_(random_) / std::sqrt(2.0);  // its variance is 2
  }

  const World& world_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::student_t_distribution<double> student_{4};
};

Record record_of(int line, double log_time) {
  Record record;
  record.cell = Cell("memory", {{"op", fmt::format("line{}", line)}});
  record.status = RecordStatus::passed;
  Value value;
  value.quantity = Quantity::bandwidth;
  value.median = 1e12 * std::exp(-log_time);
  value.interval95 = {value.median, value.median};
  record.value = value;
  return record;
}

bool fails(const DerivedLimits& limits, const std::vector<double>& node) {
  for (int i = 0; i < lines; ++i) {
    const double value = 1e12 * std::exp(-node[static_cast<std::size_t>(i)]);
    if (value < limits.lines[static_cast<std::size_t>(i)].value) return true;
  }
  return false;
}

void row(const World& world, std::size_t nodes, double rate, int fleets) {
  constexpr int fresh = 500, slow_nodes = 50;
  double alarms = 0, found = 0, predicted = 0;
  int broken = 0, any_distribution = 0;
  for (int i = 0; i < fleets; ++i) {
    Fleet fleet(world, static_cast<std::uint64_t>(i) * 7919 + nodes);
    std::vector<PopulationNode> healthy;
    for (std::size_t n = 0; n < nodes; ++n) {
      PopulationNode node{fmt::format("{}", n), {}};
      const std::vector<double> values = fleet.node(0);
      for (int line = 0; line < lines; ++line) {
        node.records.push_back(record_of(line, values[static_cast<std::size_t>(line)]));
      }
      healthy.push_back(std::move(node));
    }
    const auto limits = derive_limits(healthy, {rate, 0.95});
    if (!limits.ok()) {
      fmt::print("{}\n", limits.error().message);
      return;
    }
    int failed = 0, caught = 0;
    for (int n = 0; n < fresh; ++n) failed += fails(*limits, fleet.node(0)) ? 1 : 0;
    for (int n = 0; n < slow_nodes; ++n)
      caught += fails(*limits, fleet.node(std::log1p(slow))) ? 1 : 0;
    const double share = static_cast<double>(failed) / fresh;
    alarms += share / fleets;
    broken += share > rate ? 1 : 0;
    found += static_cast<double>(caught) / slow_nodes / fleets;
    predicted += share_found(limits->lines[0], slow) / fleets;
    any_distribution += limits->lines[0].tolerance.order > 0 ? 1 : 0;
  }
  fmt::print("{:<22} {:>5} {:>5.0f}% {:>10.2f}% {:>15.1f}% {:>10.1f}% {:>10.1f}%  {}\n", world.name,
             nodes, 100 * rate, 100 * alarms, 100.0 * broken / fleets, 100 * found, 100 * predicted,
             any_distribution > 0 ? "order" : "normal");
}

}  // namespace
}  // namespace assay::health

int main(int argc, char** argv) {
  using assay::health::World;
  const int fleets = argc > 1 ? std::atoi(argv[1]) : 1000;
  fmt::print(
      "{} fleets a row, {} lines; \"broken\": fleets whose false alarms exceed the rate\n"
      "{:<22} {:>5} {:>6} {:>11} {:>16} {:>11} {:>11}  method\n",
      fleets, assay::health::lines, "world", "nodes", "rate", "alarms", "broken", "3% found",
      "one line");
  const World worlds[] = {{"normal, 0.5%", 1, 0.005, 0, 0.001, false},
                          {"normal, 1%", 1, 0.01, 0, 0.001, false},
                          {"worst of 8 GPUs, 0.6%", 8, 0.005, 0.003, 0.001, false},
                          {"heavy tails, 0.5%", 1, 0.005, 0, 0.001, true}};
  for (const World& world : worlds) {
    for (const std::size_t nodes : {5, 10, 30, 100}) assay::health::row(world, nodes, 0.01, fleets);
    assay::health::row(world, 200, 0.05, fleets);  // enough for any distribution
  }
  return 0;
}
