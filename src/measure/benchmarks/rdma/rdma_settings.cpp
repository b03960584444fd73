#include "measure/benchmarks/rdma/rdma_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"

namespace assay {
namespace {

// perftest's defaults and limits.
constexpr int completion_every = 100;
constexpr std::uint64_t always_completed_above = 8192;  // bytes
constexpr std::uint64_t cycle_bytes = 4096;
constexpr std::uint64_t cache_line = 64;
constexpr int receives_ahead = 512;
constexpr std::uint32_t inline_write = 220, inline_send = 236;  // bytes, in its latency tests

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

Result<int> rank_of(const Cell& cell, std::string_view axis) {
  const auto rank = parse_integer(cell.text(axis));
  if (rank && *rank <= INT32_MAX) return static_cast<int>(*rank);
  return Error{ErrorKind::usage, fmt::format("rdma: {}={} is not a rank", axis, cell.text(axis))};
}

}  // namespace

Result<RdmaSettings> rdma_settings(const Cell& cell) {
  RdmaSettings settings;
  settings.from = TRY(rank_of(cell, "from"));
  settings.to = TRY(rank_of(cell, "to"));
  settings.operation = cell.text("op") == "write"  ? FabricOperation::write
                       : cell.text("op") == "read" ? FabricOperation::read
                                                   : FabricOperation::send;
  settings.latency = cell.text("metric") == "latency";
  settings.both = cell.text("direction") == "both";
  settings.size = cell.integer("size");
  settings.pairs = static_cast<int>(cell.integer("qps"));
  settings.depth = static_cast<int>(cell.integer("depth"));
  settings.batch = static_cast<int>(cell.integer("batch"));
  settings.verbs = cell.text("transport") == "verbs";
  settings.every_nic = cell.text("nic") == "every";
  if (names_adapter(cell)) settings.nic = cell.text("nic");
  if (cell.text("gid") != "auto") settings.gid = static_cast<int>(cell.integer("gid"));
  settings.device_memory = cell.text("memory") == "device";
  return settings;
}

bool names_adapter(const Cell& cell) {
  const std::string_view nic = cell.text("nic");
  return nic != "nearest" && nic != "every" && nic != "routed";
}

int messages_per_completion(const RdmaSettings& settings) {
  if (settings.batch > 1) return settings.batch;
  if (settings.size > always_completed_above) return 1;
  return std::min(completion_every, settings.depth);
}

RdmaLayout::RdmaLayout(std::uint64_t message_bytes)
    : size(message_bytes), stride(round_up(message_bytes, cache_line)) {
  if (size <= cycle_bytes / 2) slots = cycle_bytes / stride;
  region = round_up(stride * slots, cycle_bytes);
}

FabricShape fabric_shape(const RdmaSettings& settings, int queues) {
  constexpr int handshakes = 2;  // at the start and at the end
  FabricShape shape;
  shape.queues = queues;
  shape.send_depth = settings.depth + handshakes;
  shape.receive_depth =
      (settings.operation == FabricOperation::send ? receives_ahead : 0) + handshakes;
  if (settings.latency && settings.operation != FabricOperation::read) {
    const bool write = settings.operation == FabricOperation::write;
    shape.inline_bytes = write ? inline_write : inline_send;
    shape.in_order = write;
  }
  return shape;
}

}  // namespace assay
