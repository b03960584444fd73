#include "advise/health/sdc_locate.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace assay::health {
namespace {

/// Sets the first word that differs and how many do.
void compare_bytes(const std::vector<std::byte>& expected, const std::vector<std::byte>& found,
                   SdcDifference& difference) {
  for (std::size_t at = 0; at < std::min(expected.size(), found.size()); at += 8) {
    const std::size_t bytes = std::min<std::size_t>(8, expected.size() - at);
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, expected.data() + at, bytes);
    std::memcpy(&b, found.data() + at, bytes);
    if (a == b) continue;
    if (difference.wrong_words++ > 0) continue;
    difference.expected = a;
    difference.found = b;
    difference.offset += at;
    difference.address += at;
  }
}

}  // namespace

Status locate(CheckedWork& work, const Sums& sums, const Sums& expected_sums, bool of_team,
              SdcDifference& difference) {
  const std::vector<DifferentBlock> blocks = work.differing(sums, expected_sums);
  const DifferentBlock& block = blocks.front();
  const bool at_end = block.launch >= work.launches().size();
  difference.launch = block.launch + 1;
  difference.operation = !at_end                      ? work.launches()[block.launch].name
                         : work.is_written(block.sum) ? "memory after its last operation"
                                                      : "memory at rest";
  const WatchedBuffer buffer = work.buffer_of(block.sum);
  difference.buffer = buffer.number;
  difference.offset = work.offset_of(block.sum);
  difference.address = reinterpret_cast<std::uintptr_t>(buffer.address) + difference.offset;
  difference.wrong_blocks = blocks.size();
  std::vector<std::byte> found, expected;
  const auto keep = [&](std::vector<std::byte> bytes, bool of_this_run) {
    const std::uint64_t sum = Checksums::of(bytes.data(), bytes.size());
    if (sum == expected_sums[block.sum])
      expected = std::move(bytes);
    else if (found.empty() && (!of_this_run || sum == sums[block.sum]))
      found = std::move(bytes);
  };
  const auto look_again = [&]() -> Status {
    if (work.stays_until_end(block)) keep(TRY(work.bytes_of(block.sum)), true);
    // Replaying alone would leave the other ranks waiting.
    for (int i = 0; i < replays_of_difference && !of_team; ++i) {
      CheckedWork::Look look = TRY(work.repeat_and_look(block));
      ++difference.replays;
      if (!work.differing(look.sums, expected_sums).empty()) ++difference.replayed;
      keep(std::move(look.bytes), false);
    }
    return {};
  };
  const Status looked = look_again();
  compare_bytes(expected, found, difference);
  return looked;
}

}  // namespace assay::health
