// rdma: messages between two ranks of a team over the network, through RDMA adapters or, where
// there are none, TCP. What is measured and how it compares with perftest: docs/rdma.md.
#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "measure/benchmarks/benchmark.h"
#include "measure/benchmarks/link_matrix.h"
#include "measure/benchmarks/rdma_case.h"
#include "ranks/fabric/verbs.h"

namespace assay::rdma_benchmark {
namespace {

constexpr std::string_view from_axis = "from", to_axis = "to";

/// Whether the device has memory of its own that an adapter could access.
bool has_own_memory(const Device& device) {
  return !device.facts().pci.empty();
}

/// The ranks that represent all: one per host, or two of a single host.
std::vector<int> representatives(const Team& team) {
  std::vector<int> firsts, ranks;
  for (const TeamMember& member : team.members()) {
    if (member.local_rank == 0) firsts.push_back(member.rank);
    if (ranks.size() < 2) ranks.push_back(member.rank);
  }
  return firsts.size() > 1 ? firsts : ranks;
}

/// The pairs of ranks for `from` and `to`, each of which may be "all". If both are, each pair
/// appears once.
std::vector<std::pair<int, int>> pairs_of(const Cell& cell, const Team& team) {
  const auto choose = [&](std::string_view axis) {
    if (cell.text(axis) == "all") return representatives(team);
    const auto rank = cell.integer(axis);
    return rank < static_cast<std::uint64_t>(team.size()) ? std::vector{static_cast<int>(rank)}
                                                          : std::vector<int>();
  };
  const bool all = cell.text(from_axis) == "all" && cell.text(to_axis) == "all";
  std::vector<std::pair<int, int>> pairs;
  for (const int from : choose(from_axis)) {
    for (const int to : choose(to_axis)) {
      if (from != to && (!all || from < to)) pairs.emplace_back(from, to);
    }
  }
  return pairs;
}

/// The cell with implied axis values filled in, so that its name says what was measured.
Cell settled(Cell cell) {
  if (cell.text("transport") == "auto") {
    cell = with_value(cell, "transport", verbs::ports_here() ? "verbs" : "tcp");
  }
  if (cell.text("transport") == "tcp") cell = with_value(cell, "nic", "routed");
  if (cell.text("metric") == "latency") {
    cell = with_value(with_value(cell, "depth", "1"), "batch", "1");
  }
  return cell;
}

/// Why the axes of a cell contradict each other; empty if they do not.
std::optional<std::string> contradiction(const Cell& cell) {
  if (cell.text("metric") == "latency") {
    if (cell.text("direction") == "both") return "a ping-pong goes both ways: use direction=one";
    if (cell.text("qps") != "1") return "latency is measured on one queue pair: use qps=1";
    if (cell.text("memory") == "device" && cell.text("op") == "write") {
      return "the host cannot poll GPU memory: use op=send or op=read";
    }
  }
  if (cell.integer("batch") > cell.integer("depth")) {
    return fmt::format("batch={} exceeds the outstanding messages allowed by depth={}",
                       cell.text("batch"), cell.text("depth"));
  }
  if (cell.text("transport") == "tcp" && cell.text("memory") == "device") {
    return "TCP moves host memory only: use memory=host";
  }
  if (cell.text("transport") == "verbs" && cell.text("nic") == "routed") {
    return "nic=routed is for TCP: use nic=nearest or nic=every";
  }
  return std::nullopt;
}

class RdmaBenchmark final : public Benchmark {
 public:
  std::string_view name() const override { return "rdma"; }
  std::string_view summary() const override {
    return "messages between ranks over RDMA, or TCP without RDMA: bandwidth and latency";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = {
        {std::string(from_axis),
         "rank that posts the messages; all: the first of each host",
         Axis::Kind::member,
         {"all"},
         {},
         0},
        {std::string(to_axis), "rank whose memory they reach", Axis::Kind::member, {"all"}, {}, 0},
        {"op",
         "one-sided write or read, or send into posted receives",
         Axis::Kind::choice,
         {"all"},
         {"write", "read", "send"}},
        {"metric",
         "messages back to back, or one at a time",
         Axis::Kind::choice,
         {"all"},
         {"bandwidth", "latency"}},
        {"direction",
         "one rank posts, or both at the same time",
         Axis::Kind::choice,
         {"all"},
         {"one", "both"}},
        {"qps", "queue pairs per adapter", Axis::Kind::integer, {"1"}, {}, 1, 1024},
        {"depth",
         "maximum outstanding messages per queue pair",
         Axis::Kind::integer,
         {"128"},
         {},
         1,
         8192},
        {"batch", "messages posted at once", Axis::Kind::integer, {"1"}, {}, 1, 1024},
        {"transport",
         "RDMA verbs or TCP; auto: verbs where there is an active port",
         Axis::Kind::choice,
         {"auto"},
         {"auto", "verbs", "tcp"}},
        {"nic",
         "the adapter nearest to the device, or all at once; routed: for TCP, the kernel chooses",
         Axis::Kind::choice,
         {"nearest"},
         {"nearest", "every", "routed"}},
        {"memory",
         "where the messages are; auto: host, and the device's own where verbs can access it",
         Axis::Kind::choice,
         {"auto"},
         {"auto", "host", "device"}},
        {"size",
         "bytes of one message",
         Axis::Kind::size,
         {"2..8MiB*2"},
         {},
         1,
         std::uint64_t{1} << 30},
    };
    return axes;
  }
  bool takes_team() const override { return true; }
  bool redundant(const Cell& cell) const override {
    return cell.text("metric") == "latency" && cell.text("direction") == "both";
  }

  std::vector<Cell> expand(const Cell& cell, const Device& device,
                           const Team& team) const override {
    const Cell one = settled(cell);
    std::vector<std::string> memories = {std::string(one.text("memory"))};
    if (memories[0] == "auto") {
      memories = {"host"};
      const Cell other = with_value(one, "memory", "device");
      if (!unsupported(other, device)) memories.emplace_back("device");
    }
    std::vector<Cell> cells;
    for (const auto& [from, to] : pairs_of(one, team)) {
      const Cell pair =
          with_value(with_value(one, from_axis, std::to_string(from)), to_axis, std::to_string(to));
      for (const std::string& memory : memories)
        cells.push_back(with_value(pair, "memory", memory));
    }
    return cells;
  }

  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override {
    if (auto why = contradiction(cell)) return why;
    if (cell.text("memory") == "device" && !has_own_memory(device)) {
      return device.facts().backend + " has no memory of its own: use memory=host";
    }
    if (cell.text("transport") == "verbs" && !verbs::ports_here()) {
      return verbs::ports_here().error().message + "; transport=tcp needs none";
    }
    return std::nullopt;
  }
  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override {
    return prepare_rdma(TRY(rdma_settings(settled(cell))), context);
  }

  /// The slow links and ends among all pairs of a sweep.
  std::vector<Conclusion> conclusions(std::span<const CellValue> values) const override {
    return odd_link_conclusions(values);
  }
};

const RdmaBenchmark benchmark;
const BenchmarkRegistry::Add registered{&benchmark};

}  // namespace
}  // namespace assay::rdma_benchmark
