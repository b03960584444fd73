#include "emulator/memory_space.h"

namespace mi300x {
namespace {

u64 vector_address(const Wave& wave, const Operand& operand, unsigned lane) {
  return operand.words == 2 ? lane_value<u64>(wave.vector + operand.index, lane)
                            : wave.vector[operand.index].lane[lane];
}

}  // namespace

void require_alignment(u64 address, unsigned bytes) {
  if (address % bytes != 0)
    throw Fault(FaultKind::illegal_address,
                fmt::format("an atomic of {} bytes at {:#x}, which is not a multiple of {}", bytes,
                            address, bytes));
}

// ---- GLOBAL ----

GlobalSpace::GlobalSpace(const Wave& wave, const Instruction& instruction, unsigned address,
                         unsigned base) {
  const Operand& vector = instruction.sources[address];
  const Operand& scalar = instruction.sources[base];
  u64 start = u64(i64{instruction.offset});
  if (scalar.kind != OperandKind::none) start += read_scalar(wave, scalar);
  const u32* low = wave.vector[vector.index].lane;
  if (vector.words == 2) {
    const u32* high = wave.vector[vector.index + 1].lane;
    for (unsigned i = 0; i < wave_lanes; ++i) address_[i] = (u64{high[i]} << 32 | low[i]) + start;
  } else {
    for (unsigned i = 0; i < wave_lanes; ++i) address_[i] = low[i] + start;
  }
}

// ---- SCRATCH ----

char* PrivateMemory::place(const char* verb, unsigned lane, u64 offset, unsigned bytes) const {
  if (offset > wave_.scratch_bytes || bytes > wave_.scratch_bytes - offset)
    throw Fault(FaultKind::illegal_address,
                fmt::format("{} {} bytes at offset {} of its private memory, which has {} bytes",
                            verb, bytes, i64(offset), wave_.scratch_bytes));
  return wave_.scratch + u64{lane} * wave_.scratch_bytes + offset;
}

const char* PrivateMemory::readable(unsigned lane, u64 offset, unsigned bytes) const {
  const char* from = place("reads", lane, offset, bytes);
  const std::vector<u8>& written = wave_.scratch_written;
  for (unsigned i = 0; i < bytes; ++i) {
    const u64 byte = u64(from - wave_.scratch) + i;
    if (byte >= written.size() || !written[byte])
      throw Fault(FaultKind::uninitialised,
                  fmt::format("reads {} bytes at offset {} of its private memory, of which byte {} "
                              "was never written",
                              bytes, offset, offset + i));
  }
  return from;
}

char* PrivateMemory::writable(unsigned lane, u64 offset, unsigned bytes) {
  char* to = place("writes", lane, offset, bytes);
  std::vector<u8>& written = wave_.scratch_written;
  if (written.empty()) written.resize(std::size_t{wave_.scratch_bytes} * wave_lanes);
  std::memset(written.data() + (to - wave_.scratch), 1, bytes);
  return to;
}

ScratchSpace::ScratchSpace(Wave& wave, const Instruction& instruction, unsigned address,
                           unsigned base)
    : memory_(wave) {
  const Operand& vector = instruction.sources[address];
  const Operand& scalar = instruction.sources[base];
  i64 start = instruction.offset;
  if (scalar.kind != OperandKind::none) start += i64(u32(read_scalar(wave, scalar)));
  for (unsigned i = 0; i < wave_lanes; ++i) {
    offset_[i] = start;
    if (vector.kind == OperandKind::vector) offset_[i] += wave.vector[vector.index].lane[i];
  }
}

// ---- FLAT ----

FlatSpace::FlatSpace(Wave& wave, const Instruction& instruction, unsigned address, unsigned)
    : wave_(wave),
      global_(wave, instruction, address, unsigned(instruction.sources.size()) - 1),
      private_(wave),
      offset_(instruction.offset) {
  for (unsigned i = 0; i < wave_lanes; ++i) {
    base_[i] = vector_address(wave, instruction.sources[address], i);
    apertures_ |= u64{in_shared(i) || in_private(i)} << i;
  }
}

const char* FlatSpace::readable(unsigned lane, unsigned at, unsigned bytes) const {
  if (in_shared(lane)) return wave_.local->place_to_read(wave_, shared_offset(lane) + at, bytes);
  if (in_private(lane)) return private_.readable(lane, private_offset(lane) + at, bytes);
  return global_.readable(lane, at, bytes);
}

char* FlatSpace::writable(unsigned lane, unsigned at, unsigned bytes) {
  if (in_shared(lane)) return wave_.local->place_to_write(wave_, shared_offset(lane) + at, bytes);
  if (in_private(lane)) return private_.writable(lane, private_offset(lane) + at, bytes);
  return global_.writable(lane, at, bytes);
}

char* FlatSpace::updatable(unsigned lane, unsigned bytes) {
  if (in_shared(lane)) return wave_.local->atomic(wave_, shared_offset(lane), bytes);
  if (in_private(lane)) {
    require_alignment(private_offset(lane), bytes);
    private_.readable(lane, private_offset(lane), bytes);
    return private_.writable(lane, private_offset(lane), bytes);
  }
  return global_.updatable(lane, bytes);
}

// ---- BUFFER ----

BufferSpace::BufferSpace(const Wave& wave, const Instruction& instruction, unsigned address,
                         unsigned resource) {
  const u32* words = wave.scalar_registers + instruction.sources[resource].index;
  const u64 base = (u64{words[1]} << 32 | words[0]) & 0xFFFFFFFFFFFF;
  const u32 stride = words[1] >> 16 & 0x3FFF;
  const bool swizzled = words[1] >> 31, adds_lane = words[3] >> 23 & 1;
  structured_ = instruction.idxen;
  records_ = words[2];
  if (swizzled || adds_lane || words[3] >> 30 || (structured_ && stride == 0))
    throw Fault(FaultKind::unknown_instruction,
                fmt::format("{}: a buffer resource that is not linear: {:#x} {:#x} {:#x} {:#x}",
                            instruction.text, words[0], words[1], words[2], words[3]));

  const Operand& vector = instruction.sources[address];
  const Lanes* registers = wave.vector + vector.index;
  const u64 start = base + u32(read_scalar(wave, instruction.sources[resource + 1]));
  const Lanes* offsets = registers + (instruction.idxen ? 1 : 0);
  for (unsigned i = 0; i < wave_lanes; ++i) {
    const u64 index = instruction.idxen ? registers->lane[i] : 0;
    const u64 offset = u64(u32(instruction.offset)) + (instruction.offen ? offsets->lane[i] : 0);
    position_[i] = structured_ ? index : offset;
    address_[i] = start + index * stride + offset;
  }
}

/// A run requires that both of its ends are in range and, if words are checked, aligned to words.
Run BufferSpace::run(u64 lanes, unsigned bytes) const {
  const Run run = consecutive_lanes(address_, lanes, bytes);
  if (run.count == 0 || address_[run.first] % 4 != 0) return {};
  for (unsigned i = run.first; i < run.first + run.count; ++i)
    if (!in_range(i, bytes - 1)) return {};
  return run;
}

const char* BufferSpace::readable_run(Run run, unsigned bytes) const {
  const u64 begin = address_[run.first];
  return MemoryMap::instance().may_read(begin, run.count * bytes)
             ? reinterpret_cast<const char*>(begin)
             : nullptr;
}

char* BufferSpace::writable_run(Run run, unsigned bytes) {
  const u64 begin = address_[run.first];
  return MemoryMap::instance().try_write(begin, run.count * bytes) ? reinterpret_cast<char*>(begin)
                                                                   : nullptr;
}

/// The manual says that the two lowest bits of such an address are ignored, but drivers set the
/// mode in which they are not. No program can intend either.
void BufferSpace::require_words(unsigned lane, unsigned at, unsigned bytes) const {
  const u64 address = address_[lane] + at;
  if (bytes >= 4 && address % 4 != 0)
    throw Fault(
        FaultKind::illegal_address,
        fmt::format("a buffer access of words at {:#x}, which is not a multiple of 4", address));
}

const char* BufferSpace::readable(unsigned lane, unsigned at, unsigned bytes) const {
  static constexpr char zeros[16] = {};
  if (!in_range(lane, at)) return zeros;
  require_words(lane, at, bytes);
  return GlobalSpace::readable_at(address_[lane] + at, bytes);
}

char* BufferSpace::writable(unsigned lane, unsigned at, unsigned bytes) {
  if (!in_range(lane, at)) return reinterpret_cast<char*>(nowhere_);
  require_words(lane, at, bytes);
  return GlobalSpace::writable_at(address_[lane] + at, bytes);
}

char* BufferSpace::updatable(unsigned lane, unsigned bytes) {
  if (!in_range(lane, 0)) {  // the access is dropped and returns 0
    nowhere_[0] = 0;
    return reinterpret_cast<char*>(nowhere_);
  }
  return GlobalSpace::updatable_at(address_[lane], bytes);
}

}  // namespace mi300x
