// The addresses of a memory instruction's lanes and the checks before an access: one class for each
// kind of addressing.
//
// readable(), writable() and updatable() return the host address of `bytes` bytes of a lane's
// value, `at` bytes into it, or throw Fault. The functions for runs of lanes return null if lanes
// must be checked one by one. Loads and stores need no alignment: SH_MEM_CONFIG.alignment_mode is
// "unaligned" on amdhsa, and LLVM (unaligned-access-mode) relies on it. Atomics must be aligned.
#pragma once

#include "emulator/atomics.h"
#include "emulator/corruption.h"
#include "emulator/lane_access.h"
#include "emulator/local_memory.h"
#include "emulator/memory_map.h"

namespace mi300x {

/// Throws Fault (illegal_address) if an atomic's address is not a multiple of its size.
void require_alignment(u64 address, unsigned bytes);

/// GLOBAL: a 64-bit address per lane, or one in scalar registers plus 32 unsigned bits per lane.
class GlobalSpace {
 public:
  /// Gets the numbers of the address source, and of the base, which follows the data if it exists.
  GlobalSpace(const Wave& wave, const Instruction& instruction, unsigned address, unsigned base);

  Run run(u64 lanes, unsigned bytes) const { return consecutive_lanes(address_, lanes, bytes); }
  const char* readable_run(Run run, unsigned bytes) const {
    const u64 begin = address_[run.first];
    return MemoryMap::instance().may_read(begin, run.count * bytes) ? seen(begin, run.count * bytes)
                                                                    : nullptr;
  }
  char* writable_run(Run run, unsigned bytes) {
    const u64 begin = address_[run.first];
    return MemoryMap::instance().try_write(begin, run.count * bytes) ? host(begin) : nullptr;
  }
  const char* readable(unsigned lane, unsigned at, unsigned bytes) const {
    return readable_at(address_[lane] + at, bytes);
  }
  char* writable(unsigned lane, unsigned at, unsigned bytes) {
    return writable_at(address_[lane] + at, bytes);
  }
  char* updatable(unsigned lane, unsigned bytes) { return updatable_at(address_[lane], bytes); }

  static const char* readable_at(u64 address, unsigned bytes) {
    MemoryMap::instance().check_read(address, bytes);
    return seen(address, bytes);
  }
  static char* writable_at(u64 address, unsigned bytes) {
    MemoryMap::instance().check_write(address, bytes);
    return host(address);
  }
  static char* updatable_at(u64 address, unsigned bytes) {
    require_alignment(address, bytes);
    MemoryMap::instance().check_read(address, bytes);
    return writable_at(address, bytes);
  }

  static constexpr bool by_words = false;    ///< whether each word is checked separately
  static constexpr bool data_first = false;  ///< the text of a store begins with the data

 private:
  static char* host(u64 address) { return reinterpret_cast<char*>(address); }
  static const char* seen(u64 address, std::size_t bytes) {
    if (load_fault == LoadFault::none) [[likely]]
      return host(address);
    return faulty_load(host(address), bytes);
  }
  alignas(64) u64 address_[wave_lanes];
};

/// A lane's private memory: bounds, and a mark for each byte that was written.
class PrivateMemory {
 public:
  explicit PrivateMemory(Wave& wave) : wave_(wave) {}
  const char* readable(unsigned lane, u64 offset, unsigned bytes) const;
  char* writable(unsigned lane, u64 offset, unsigned bytes);

 private:
  char* place(const char* verb, unsigned lane, u64 offset, unsigned bytes) const;
  Wave& wave_;
};

/// SCRATCH: an offset into the lane's private memory, the sum of up to two registers and a
/// constant. All are unsigned except the constant, and nothing wraps around.
class ScratchSpace {
 public:
  ScratchSpace(Wave& wave, const Instruction& instruction, unsigned address, unsigned base);

  Run run(u64, unsigned) const { return {}; }  // a lane's bytes are far from its neighbour's
  const char* readable_run(Run, unsigned) const { return nullptr; }
  char* writable_run(Run, unsigned) { return nullptr; }
  const char* readable(unsigned lane, unsigned at, unsigned bytes) const {
    return memory_.readable(lane, u64(offset_[lane]) + at, bytes);
  }
  char* writable(unsigned lane, unsigned at, unsigned bytes) {
    return memory_.writable(lane, u64(offset_[lane]) + at, bytes);
  }
  static constexpr bool by_words = false, data_first = false;

 private:
  PrivateMemory memory_;
  i64 offset_[wave_lanes];
};

/// FLAT: each lane's address lies in global memory or in one of the apertures. The aperture is
/// determined by the address before the constant is added.
class FlatSpace {
 public:
  FlatSpace(Wave& wave, const Instruction& instruction, unsigned address, unsigned);

  Run run(u64 lanes, unsigned bytes) const {
    return apertures_ & lanes ? Run{} : global_.run(lanes, bytes);
  }
  const char* readable_run(Run run, unsigned bytes) const {
    return global_.readable_run(run, bytes);
  }
  char* writable_run(Run run, unsigned bytes) { return global_.writable_run(run, bytes); }
  const char* readable(unsigned lane, unsigned at, unsigned bytes) const;
  char* writable(unsigned lane, unsigned at, unsigned bytes);
  char* updatable(unsigned lane, unsigned bytes);
  static constexpr bool by_words = false, data_first = false;

 private:
  bool in_shared(unsigned lane) const { return base_[lane] - shared_aperture < aperture_bytes; }
  bool in_private(unsigned lane) const { return base_[lane] - private_aperture < aperture_bytes; }
  u32 shared_offset(unsigned lane) const {
    return u32(base_[lane] - shared_aperture) + u32(offset_);
  }
  u64 private_offset(unsigned lane) const {
    return base_[lane] - private_aperture + u64(i64{offset_});
  }

  Wave& wave_;
  GlobalSpace global_;
  PrivateMemory private_;
  u64 apertures_ = 0;  ///< lanes whose address lies in an aperture
  i32 offset_;
  u64 base_[wave_lanes];
};

/// BUFFER: a resource in four scalar registers, linear ones only. Words outside the resource's
/// range read as 0 and are not written.
class BufferSpace {
 public:
  BufferSpace(const Wave& wave, const Instruction& instruction, unsigned address,
              unsigned resource);

  Run run(u64 lanes, unsigned bytes) const;
  const char* readable_run(Run run, unsigned bytes) const;
  char* writable_run(Run run, unsigned bytes);
  const char* readable(unsigned lane, unsigned at, unsigned bytes) const;
  char* writable(unsigned lane, unsigned at, unsigned bytes);
  char* updatable(unsigned lane, unsigned bytes);
  static constexpr bool by_words = true, data_first = true;

 private:
  bool in_range(unsigned lane, unsigned at) const {
    return structured_ ? position_[lane] < records_ : u64{position_[lane]} + at < records_;
  }
  void require_words(unsigned lane, unsigned at, unsigned bytes) const;

  bool structured_ = false;
  u64 records_ = 0;
  u64 position_[wave_lanes];  ///< compared with `records_`: an index, or an offset
  alignas(64) u64 address_[wave_lanes];
  u64 nowhere_[2] = {};  ///< target of writes out of range
};

}  // namespace mi300x
