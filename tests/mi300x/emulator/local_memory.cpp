#include "emulator/local_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "emulator/emulator.h"
#include "emulator/fault.h"
#include "emulator/random.h"

namespace mi300x {
namespace {

std::string names(u16 waves) {
  std::string text = std::popcount(waves) > 1 ? "waves" : "wave";
  for (unsigned wave = 0; wave < 16; ++wave)
    if (waves >> wave & 1)
      text += fmt::format("{} {}", text.ends_with('e') || text.ends_with('s') ? "" : ",", wave);
  return text;
}

}  // namespace

void LocalMemory::begin(std::size_t bytes, u64 seed) {
  if (bytes > most_bytes)
    throw Fault(FaultKind::invalid_launch,
                fmt::format("{} bytes of LDS; there are {}", bytes, most_bytes));
  bytes_ = bytes;
  touched_ = 0;
  data_.resize((bytes + 7) / 8 * 8);
  for (std::size_t i = 0; i < data_.size(); i += sizeof(u64)) {
    const u64 garbage = next_random(seed);
    std::memcpy(data_.data() + i, &garbage, sizeof garbage);
  }
  state_.assign(bytes, 0);
  readers_.assign(bytes, 0);
  writers_.assign(bytes, 0);
}

void LocalMemory::barrier() {
  for (; touched_; touched_ &= touched_ - 1) {
    const std::size_t begin = std::countr_zero(touched_) * block_bytes;
    const std::size_t count = std::min(block_bytes, bytes_ - begin);
    std::fill_n(readers_.data() + begin, count, WaveSet{0});
    std::fill_n(writers_.data() + begin, count, WaveSet{0});
  }
}

char* LocalMemory::atomic(const Wave& wave, u32 address, unsigned bytes) {
  require_place("updates", address, bytes);
  if (address % bytes != 0)  // the chip's LDS performs atomics on whole elements of its banks
    throw Fault(
        FaultKind::illegal_address,
        fmt::format("an atomic of {} bytes at LDS address {:#x}, which is not a multiple of {}",
                    bytes, address, bytes));
  const WaveSet self = WaveSet(1u << wave.index);
  for (u32 at = address; at != address + bytes; ++at) {
    const bool plain = !(state_[at] & by_atomics);
    const WaveSet others = readers_[at] | (plain ? writers_[at] : 0);
    if ((others & ~self) || !(state_[at] & initialised))
      refuse(wave, Access::atomic, address, bytes);
    // A wave that wrote plainly before stays a plain writer, with which other waves' atomics race.
    if (writers_[at] == 0) state_[at] |= by_atomics;
    writers_[at] |= self;
  }
  note_touched(address, bytes);
  return data_.data() + address;
}

void LocalMemory::read(const Wave& wave, u32 address, void* to, unsigned bytes) {
  std::memcpy(to, place_to_read(wave, address, bytes), bytes);
}

void LocalMemory::write(const Wave& wave, u32 address, const void* from, unsigned bytes) {
  std::memcpy(place_to_write(wave, address, bytes), from, bytes);
}

void LocalMemory::refuse_place(const char* verb, u32 address, unsigned bytes) const {
  throw Fault(FaultKind::illegal_address,
              fmt::format("{} {} bytes at LDS address {:#x}; the workgroup has {} bytes", verb,
                          bytes, address, bytes_));
}

void LocalMemory::refuse(const Wave& wave, Access access, u32 address, unsigned bytes) const {
  static constexpr const char* verbs[] = {"reads", "writes", "updates"};
  const WaveSet self = WaveSet(1u << wave.index);
  for (u32 at = address; at != address + bytes; ++at) {
    const WaveSet wrote = writers_[at] & ~self, read = readers_[at] & ~self;
    const bool meets_writer = wrote && !(access == Access::atomic && state_[at] & by_atomics);
    const bool meets_reader = read && access != Access::read;
    if ((meets_writer || meets_reader) && default_settings().hazards)
      throw Fault(
          FaultKind::race,
          fmt::format("wave {} {} {} bytes at LDS address {:#x}, of which {} {} the byte "
                      "at {:#x}, with no barrier between",
                      wave.index, verbs[unsigned(access)], bytes, address,
                      names(meets_writer ? wrote : read), meets_writer ? "wrote" : "read", at));
    if (access != Access::write && !(state_[at] & initialised))
      throw Fault(FaultKind::uninitialised,
                  fmt::format("{} {} bytes at LDS address {:#x}, of which the byte at {:#x} was "
                              "never written",
                              verbs[unsigned(access)], bytes, address, at));
  }
  if (!default_settings().hazards) return;
  throw Fault(FaultKind::race, "an access that was refused has no fault: an error of the emulator");
}

}  // namespace mi300x
