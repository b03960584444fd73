// LDS of one workgroup. It begins as garbage; bounds, initialisation and races between waves are
// checked for every byte.
#pragma once

#include <cstddef>
#include <vector>

#include "emulator/wave.h"

namespace mi300x {

/// Used by one host thread at a time: the one that runs the workgroup.
///
/// Two waves race on a byte if both touch it without a barrier between them and at least one of
/// them writes. Two writes of the same value count, too: the chip would give the right result, but
/// only as long as the values stay the same, which nothing in the program guarantees. Waves that
/// synchronise by atomics instead of barriers are not supported.
///
/// LDS is allocated in granules of 512 bytes, and the chip lets a kernel read to the end of the
/// last one. Here everything beyond the bytes that the launch requested is out of bounds.
class LocalMemory {
 public:
  /// Fills `bytes` bytes of LDS with garbage derived from `seed`.
  void begin(std::size_t bytes, u64 seed);
  /// All waves have reached a barrier: accesses before it do not race with accesses after it.
  void barrier();

  /// Flips a bit that `random` chooses; nobody notices.
  void flip(u64 random) {
    if (bytes_ > 0) data_[random / 8 % bytes_] ^= static_cast<char>(1 << random % 8);
  }

  /// One lane's access. Both functions throw Fault (illegal_address, uninitialised, race).
  void read(const Wave& wave, u32 address, void* to, unsigned bytes);
  void write(const Wave& wave, u32 address, const void* from, unsigned bytes);
  /// Checks an atomic access. Waves may access the same atomic without a barrier, but not with
  /// plain accesses.
  char* atomic(const Wave& wave, u32 address, unsigned bytes);

  /// These check and record an access like read() and write(), for values and runs of lanes, and
  /// return the address to copy from or to. They are inline, so that a value's size is a constant
  /// and the loops over its bytes become a few vector instructions.
  const char* place_to_read(const Wave& wave, u32 address, unsigned bytes);
  char* place_to_write(const Wave& wave, u32 address, unsigned bytes);

 private:
  using WaveSet = u16;  ///< at most the 16 waves of a workgroup
  enum class Access : u8 { read, write, atomic };

  /// What is known about a byte besides its value.
  enum State : u8 {
    initialised = 1,
    by_atomics = 2,  ///< all waves in `writers_` wrote by atomics
  };

  void require_place(const char* verb, u32 address, unsigned bytes) const {
    if (u64{address} + bytes > bytes_) [[unlikely]]
      refuse_place(verb, address, bytes);
  }
  void note_touched(u32 address, unsigned bytes) {
    const unsigned first = address / block_bytes, last = (address + bytes - 1) / block_bytes;
    touched_ |= (~u64{0} << first) & (~u64{0} >> (63 - last));
  }
  [[noreturn]] void refuse_place(const char* verb, u32 address, unsigned bytes) const;
  /// Throws the fault of a bad access; returns if it is only a race and Settings::hazards is off.
  void refuse(const Wave& wave, Access access, u32 address, unsigned bytes) const;

  static constexpr std::size_t most_bytes = 65536, block_bytes = 1024;

  std::size_t bytes_ = 0;
  std::vector<char> data_;
  std::vector<u8> state_;
  std::vector<WaveSet> readers_, writers_;  ///< since the last barrier
  u64 touched_ = 0;  ///< blocks of LDS that were touched since the last barrier, one bit each
};

// These process four bytes at a time: their sets of waves are one word, their states half of one.
// The compiler alone would make reductions of 16 bytes that cost more than the access.

[[gnu::always_inline]] inline const char* LocalMemory::place_to_read(const Wave& wave, u32 address,
                                                                     unsigned bytes) {
  require_place("reads", address, bytes);
  const u64 self = (u64{1} << wave.index) * 0x0001000100010001;
  WaveSet* readers = readers_.data() + address;
  const WaveSet* writers = writers_.data() + address;
  const u8* state = state_.data() + address;
  u64 wrote = 0;
  u32 common = initialised * 0x01010101u;
  unsigned i = 0;
  for (; i + 4 <= bytes; i += 4) {
    u64 sets;
    u32 states;
    std::memcpy(&sets, writers + i, sizeof sets);
    std::memcpy(&states, state + i, sizeof states);
    wrote |= sets;
    common &= states;
    std::memcpy(&sets, readers + i, sizeof sets);
    sets |= self;
    std::memcpy(readers + i, &sets, sizeof sets);
  }
  for (; i < bytes; ++i) {
    wrote |= writers[i];
    if (!(state[i] & initialised)) common = 0;
    readers[i] |= WaveSet(self);
  }
  if ((wrote & ~self) || common != initialised * 0x01010101u) [[unlikely]]
    refuse(wave, Access::read, address, bytes);
  note_touched(address, bytes);
  return data_.data() + address;
}

[[gnu::always_inline]] inline char* LocalMemory::place_to_write(const Wave& wave, u32 address,
                                                                unsigned bytes) {
  require_place("writes", address, bytes);
  const u64 self = (u64{1} << wave.index) * 0x0001000100010001;
  const WaveSet* readers = readers_.data() + address;
  WaveSet* writers = writers_.data() + address;
  u64 others = 0;
  unsigned i = 0;
  for (; i + 4 <= bytes; i += 4) {
    u64 read, wrote;
    std::memcpy(&read, readers + i, sizeof read);
    std::memcpy(&wrote, writers + i, sizeof wrote);
    others |= read | wrote;
  }
  for (; i < bytes; ++i) others |= readers[i] | writers[i];
  if (others & ~self) [[unlikely]]
    refuse(wave, Access::write, address, bytes);
  for (i = 0; i + 4 <= bytes; i += 4) std::memcpy(writers + i, &self, sizeof self);
  for (; i < bytes; ++i) writers[i] = WaveSet(self);
  std::memset(state_.data() + address, initialised, bytes);
  note_touched(address, bytes);
  return data_.data() + address;
}

}  // namespace mi300x
