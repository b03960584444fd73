#include "measure/benchmarks/rdma/rdma_check.h"

#include <fmt/format.h>

#include <cstring>

#include "compute/device/helpers.h"

namespace assay {
namespace {

/// Byte `at` of the window of rank `rank`; all words differ, and so do all ranks.
std::uint8_t pattern_byte(std::uint64_t at, std::uint64_t seed, int rank) {
  const std::uint64_t word =
      (at / 8 + seed + (static_cast<std::uint64_t>(rank) << 40)) * 0x9E3779B97F4A7C15ull;
  return static_cast<std::uint8_t>(word >> (at % 8 * 8) ^ word >> 56);
}

}  // namespace

Status write_window(const RdmaSettings& settings, const RdmaLink& link, std::uint64_t seed,
                    int rank, std::uint8_t poison, Stream& stream) {
  const RdmaLayout layout(settings.size);
  std::vector<std::uint8_t> staging(link.host_window == nullptr ? link.window.bytes : 0);
  auto* const bytes = link.host_window == nullptr
                          ? staging.data()
                          : reinterpret_cast<std::uint8_t*>(link.host_window);
  for (int queue = 0; queue < link.queues; ++queue) {
    const std::uint64_t source = layout.source(queue, 0);
    for (std::uint64_t i = 0; i < layout.region; ++i) {
      bytes[source + i] = pattern_byte(source + i, seed, rank);
    }
    std::memset(bytes + layout.destination(queue, 0), poison, layout.region);
  }
  if (link.host_window != nullptr) return {};
  TRY(stream.copy(link.window.address, bytes, link.window.bytes));
  return stream.synchronize();
}

Result<WindowCheck> check_window(const RdmaSettings& settings, const RdmaLink& link,
                                 std::uint64_t seed, int peer, std::uint8_t poison,
                                 std::uint8_t last_value, Stream& stream) {
  const RdmaLayout layout(settings.size);
  const bool ping_pong = settings.latency && settings.operation != FabricOperation::read;
  const bool counted = settings.latency && settings.operation == FabricOperation::write;
  std::vector<std::uint8_t> staging;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(link.host_window);
  if (bytes == nullptr) {
    staging = TRY(read_back<std::uint8_t>(stream, link.window.address, link.window.bytes));
    bytes = staging.data();
  }
  WindowCheck check;
  for (int queue = 0; queue < link.queues; ++queue) {
    const std::uint64_t source = layout.source(queue, 0);
    const std::uint64_t destination = layout.destination(queue, 0);
    for (std::uint64_t i = 0; i < layout.region; ++i) {
      const std::uint64_t slot = i / layout.stride;
      const bool message = slot < (ping_pong ? 1 : layout.slots) && i % layout.stride < layout.size;
      const bool count_byte = counted && i + 1 == layout.size;
      const std::uint8_t wanted = count_byte ? last_value
                                  : message  ? pattern_byte(source + i, seed, peer)
                                             : poison;
      ++check.checked;
      if (bytes[destination + i] == wanted) continue;
      if (check.wrong++ > 0) continue;
      check.first_wrong = fmt::format("byte {} of queue {} is {:#04x} and should be {:#04x}", i,
                                      queue, bytes[destination + i], wanted);
    }
  }
  return check;
}

}  // namespace assay
