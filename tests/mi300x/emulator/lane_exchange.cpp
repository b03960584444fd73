// The DS instructions that exchange values between lanes. They use LDS's crossbar and touch none of
// its memory.
#include "emulator/memory_operations.h"

namespace mi300x {
namespace {

u32 address_of(const Wave& wave, const Instruction& instruction, unsigned lane) {
  return wave.vector[instruction.sources[0].index].lane[lane] + u32(instruction.offset);
}

/// Each lane sends its value to the lane that its address names (bytes, modulo the wave). If a
/// lane has several senders, the highest one wins; a lane without a sender gets 0.
void permute(Wave& wave, const Instruction& instruction) {
  Lanes result = {};
  const u32* data = wave.vector[instruction.sources[1].index].lane;
  for_each_lane(wave.exec(), [&](unsigned lane) {
    result.lane[address_of(wave, instruction, lane) / 4 % wave_lanes] = data[lane];
  });
  Lanes& target = wave.vector[instruction.targets[0].index];
  for_each_lane(wave.exec(), [&](unsigned lane) { target.lane[lane] = result.lane[lane]; });
}

/// Each lane gets the value of lane from(lane), or 0 if that lane is inactive.
template <class From>
void gather(Wave& wave, const Instruction& instruction, unsigned source, From from) {
  const Lanes data = wave.vector[instruction.sources[source].index];
  const u64 lanes = wave.exec();
  Lanes result;
  for (unsigned i = 0; i < wave_lanes; ++i) {
    const unsigned other = from(i);
    result.lane[i] = lanes >> other & 1 ? data.lane[other] : 0;
  }
  Lanes& target = wave.vector[instruction.targets[0].index];
  for_each_lane(lanes, [&](unsigned lane) { target.lane[lane] = result.lane[lane]; });
}

void permute_backwards(Wave& wave, const Instruction& instruction) {
  gather(wave, instruction, 1,
         [&](unsigned lane) { return address_of(wave, instruction, lane) / 4 % wave_lanes; });
}

unsigned reverse_five_bits(unsigned x) {
  unsigned reversed = 0;
  for (unsigned bit = 0; bit < 5; ++bit) reversed |= (x >> bit & 1) << (4 - bit);
  return reversed;
}

/// The pattern's highest bits select the mode; all modes except quads stay within 32 lanes.
unsigned swizzled_lane(u32 pattern, unsigned lane) {
  const unsigned half = lane & 32, in_half = lane & 31, mask = pattern & 31;
  if (pattern >= 0xE000)  // the order of a fast Fourier transform
    return half | reverse_five_bits(in_half) >> std::popcount(mask) | (in_half & mask);
  if (pattern >= 0xC000) {  // to the left or, with bit 10, to the right
    const unsigned distance = pattern >> 5 & 31;
    const unsigned turned = in_half + (pattern >> 10 & 1 ? 32 - distance : distance);
    return half | (in_half & mask) | (turned & ~mask & 31);
  }
  if (pattern >= 0x8000) return (lane & ~3u) | (pattern >> 2 * (lane & 3) & 3);
  return half | (((in_half & mask) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
}

void swizzle(Wave& wave, const Instruction& instruction) {
  const u32 pattern = u32(instruction.offset) & 0xFFFF;
  gather(wave, instruction, 0, [&](unsigned lane) { return swizzled_lane(pattern, lane); });
}

}  // namespace

void add_lane_exchanges(OperationTable& table) {
  add_operation(table, "ds_permute_b32", Unit::local, 1, permute);
  add_operation(table, "ds_bpermute_b32", Unit::local, 1, permute_backwards);
  add_operation(table, "ds_swizzle_b32", Unit::local, 1, swizzle);
}

}  // namespace mi300x
