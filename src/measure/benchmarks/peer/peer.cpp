// peer: copies from one device's memory to another's, for single pairs and directions and for many
// at once; on the CPU, from core to core. `size` is the bytes of one copy. docs/method.md, "Peer
// copies", explains the timing.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/units.h"
#include "machine/system/affinity.h"
#include "measure/benchmarks/copy/size_curve.h"
#include "measure/benchmarks/peer/core_pair_case.h"
#include "measure/benchmarks/peer/link_matrix.h"
#include "measure/benchmarks/peer/peer_case.h"
#include "measure/benchmarks/peer/peer_routes.h"
#include "measure/grid/benchmark.h"

namespace assay::peer_benchmark {
namespace {

constexpr std::uint64_t cache_line = 64;
constexpr double small_message = 64 * 1024;  // bytes; the time of a larger copy is not a latency

bool is_cpu(const Device& device) {
  return device.facts().is_host_cpu();
}

/// The number of endpoints: `from` and `to` are below it.
std::size_t endpoint_count(const Device& device) {
  return is_cpu(device) ? affinity_cpus().size() : static_cast<std::size_t>(device.siblings());
}

bool is_pairwise(const Cell& cell) {
  return cell.text("pattern") == "pair" || cell.text("pattern") == "both";
}

/// Merges cells that are the same on the CPU: a core always does the copy, and one cell covers both
/// directions of a cache line.
std::vector<Cell> expand_on_cpu(const Cell& cell) {
  if (!is_pairwise(cell)) return {};
  const std::vector<int> cores = representative_cores(this_machine(), affinity_cpus());
  if (cell.text("engine") != "cacheline") {
    return expand_ends(with_value(cell, "engine", "copy"), cores);
  }
  std::vector<Cell> cells;
  for (const Cell& pair : expand_ends(with_value(cell, "pattern", "both"), cores)) {
    const Cell line = with_value(with_value(pair, "pattern", "pair"), "by", "destination");
    cells.push_back(with_value(line, "size", format_size(cache_line)));
  }
  return cells;
}

/// Number of copies with a buffer on the busiest device.
std::uint64_t copies_of_one(const Cell& cell, std::size_t devices) {
  const std::string_view pattern = cell.text("pattern");
  if (pattern == "pair") return 1;
  if (pattern == "both") return 2;
  return (pattern == "all_to_all" ? 2 : 1) * (devices - 1);
}

std::optional<std::string> bad_end(const Cell& cell, std::size_t count) {
  for (const std::string_view axis : {"from", "to"}) {
    if (cell.text(axis) != "all" && cell.integer(axis) >= count) {
      return fmt::format("{}={}: there are {} to choose from, numbered from 0", axis,
                         cell.text(axis), count);
    }
  }
  if (is_pairwise(cell) && cell.text("from") == cell.text("to")) {
    return "from and to are the same; a peer copy needs two";
  }
  return std::nullopt;
}

/// The cell without its size, as text: "pattern=pair engine=copy by=destination from=0 to=1".
std::string line_of(const Cell& cell) {
  std::string line;
  for (const auto& [axis, value] : cell.values()) {
    if (axis != "size") line += fmt::format("{}{}={}", line.empty() ? "" : " ", axis, value);
  }
  return line;
}

/// Conclusions with the time at the smallest size of each pair's curve, if that is a small message.
std::vector<Conclusion> latency_conclusions(const std::map<std::string, SizeCurve>& pairs) {
  std::vector<Conclusion> conclusions;
  for (const auto& [name, curve] : pairs) {
    const auto& [size, rate] = *std::min_element(curve.begin(), curve.end());
    if (curve.size() < 3 || size > small_message || !(rate > 0)) continue;
    const double seconds = size / rate;
    conclusions.push_back(
        {"small_message_seconds " + name, seconds, "s",
         fmt::format("peer {}: {} take {}", name, format_memory(static_cast<std::uint64_t>(size)),
                     format_seconds(seconds))});
  }
  return conclusions;
}

class PeerBenchmark final : public Benchmark {
 public:
  std::string_view name() const override { return "peer"; }
  std::string_view summary() const override {
    return "copies between devices, or between cores on a CPU";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = {
        {"pattern",
         "pair: one copy; both: one each way at once; one_to_all, all_to_one, all_to_all: between "
         "all devices at once",
         Axis::Kind::choice,
         {"pair"},
         {"pair", "both", "one_to_all", "all_to_one", "all_to_all"}},
        {"engine",
         "copy: the driver's copy engines; kernel: loads and stores of a kernel; cacheline: a "
         "cache line "
         "that two cores write alternately",
         Axis::Kind::choice,
         {"copy"},
         {"copy", "kernel", "cacheline"}},
        {"by",
         "which side runs the copy: the destination reads, or the source writes",
         Axis::Kind::choice,
         {"destination"},
         {"destination", "source"}},
        {"from", "number of the source", Axis::Kind::member, {"all"}, {}, 0},
        {"to", "number of the destination", Axis::Kind::member, {"all"}, {}, 0},
        // The last default is the largest message of the point-to-point study assay replaces.
        {"size", "bytes of one copy", Axis::Kind::size, {"4KiB..1GiB*4", "2101346304"}, {}, 8},
    };
    return axes;
  }

  std::vector<Cell> expand(const Cell& cell, const Device& device, const Team&) const override {
    if (endpoint_count(device) < 2) return {cell};  // unsupported() gives the reason
    if (is_cpu(device)) return expand_on_cpu(cell);
    if (cell.text("engine") == "cacheline") return {};
    std::vector<int> ordinals(endpoint_count(device));
    std::iota(ordinals.begin(), ordinals.end(), 0);
    return expand_ends(cell, ordinals);
  }

  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override {
    const std::size_t count = endpoint_count(device);
    if (count < 2) {
      return fmt::format("a copy between peers needs two {}; there is one",
                         is_cpu(device) ? "CPUs" : "devices");
    }
    if (auto reason = bad_end(cell, count)) return reason;
    if (cell.integer("size") % sizeof(std::uint64_t) != 0) {
      return "size must be a multiple of 8 bytes, the word of the test pattern";
    }
    const auto memory = device.memory_free_and_total();
    if (!memory) return memory.error().message;
    // On the CPU all buffers, sources and destinations, are in the same memory.
    const std::uint64_t buffers = copies_of_one(cell, count) * (is_cpu(device) ? 2 : 1);
    if (cell.integer("size") > memory->first / 10 * 9 / buffers) {
      return fmt::format("{} buffers of {} do not fit in {} of free memory", buffers,
                         format_size(cell.integer("size")), format_memory(memory->first));
    }
    return std::nullopt;
  }

  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override {
    if (is_cpu(context.device)) return prepare_core_pair(cell, context, affinity_cpus());
    return PeerCase::prepare(cell, context);
  }

  /// Conclusions: the sizes at which each curve saturates, the time of a small message, and the
  /// outliers among the links.
  std::vector<Conclusion> conclusions(std::span<const CellValue> values) const override {
    std::map<std::string, SizeCurve> lines, pairs;
    std::vector<CellValue> links;
    for (const CellValue& one : values) {
      const Cell& cell = one.cell;
      if (cell.text("engine") == "cacheline") continue;  // its values are seconds, not rates
      const std::pair point{static_cast<double>(cell.integer("size")), one.value};
      lines[line_of(cell)].push_back(point);
      if (cell.text("pattern") != "pair") continue;
      pairs[line_of(cell)].push_back(point);
      links.push_back(one);
    }
    std::vector<Conclusion> conclusions = saturation_conclusions("peer", lines);
    const auto append = [&](std::vector<Conclusion> more) {
      std::move(more.begin(), more.end(), std::back_inserter(conclusions));
    };
    append(latency_conclusions(pairs));
    append(odd_link_conclusions(links));
    return conclusions;
  }
};

const PeerBenchmark benchmark;
const BenchmarkRegistry::Add registered{&benchmark};

}  // namespace
}  // namespace assay::peer_benchmark
