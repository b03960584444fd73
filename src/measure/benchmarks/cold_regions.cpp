#include "measure/benchmarks/cold_regions.h"

#include <algorithm>
#include <bit>

#include "compute/device/helpers.h"

namespace assay {
namespace {

constexpr std::size_t alignment = 256;

struct Cut {
  std::size_t stride, count;
};

/// Cuts the memory into regions. Their number is a power of two, so that every odd step visits all
/// of them and no turn needs a division.
Cut cut(std::size_t bytes, std::uint64_t least_total, std::size_t least_count) {
  const std::size_t stride =
      (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  const std::uint64_t wanted = (least_total + stride - 1) / stride;
  return {stride, std::bit_ceil(std::max<std::uint64_t>(least_count, wanted))};
}

}  // namespace

ColdRegions::ColdRegions(Buffer buffer, std::size_t stride, std::size_t count)
    : buffer_(std::move(buffer)),
      stride_(stride),
      count_(count),
      step_(static_cast<std::size_t>(0.618 * static_cast<double>(count)) | 1) {}

std::uint64_t ColdRegions::total_bytes(std::size_t bytes, std::uint64_t least_total,
                                       std::size_t least_count) {
  const Cut parts = cut(bytes, least_total, least_count);
  return std::uint64_t{parts.stride} * parts.count;
}

Result<ColdRegions> ColdRegions::create(Device& device, MemoryKind kind, std::size_t bytes,
                                        std::uint64_t least_total, std::size_t least_count) {
  const Cut parts = cut(bytes, least_total, least_count);
  Buffer buffer = TRY(device.allocate(parts.stride * parts.count, kind));
  return ColdRegions(std::move(buffer), parts.stride, parts.count);
}

std::byte* ColdRegions::region(std::uint64_t turn) const {
  return buffer_.as<std::byte>() + (turn * step_ & (count_ - 1)) * stride_;
}

std::uint64_t cold_bytes(const DeviceFacts& facts, int ranks_here) {
  const std::uint64_t all = flushing_bytes(facts);
  return facts.is_host_cpu() ? all / static_cast<std::uint64_t>(ranks_here) : all;
}

int ranks_here(const Team& team) {
  const auto& members = team.members();
  const std::string& host = members[static_cast<std::size_t>(team.rank())].host;
  return static_cast<int>(
      std::count_if(members.begin(), members.end(),
                    [&](const TeamMember& member) { return member.host == host; }));
}

}  // namespace assay
