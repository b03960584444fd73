// Helpers of the memory instructions: how a value in memory fills a lane's registers, and runs of
// lanes with consecutive addresses.
#pragma once

#include <fmt/format.h>

#include <bit>

#include "emulator/fault.h"
#include "emulator/wave.h"

namespace mi300x {

/// The format of a value in memory and its position in a lane's registers.
struct Format {
  enum class Part : u8 { whole, low, high };  ///< of the register
  unsigned bytes = 4;
  bool is_signed = false;  ///< whether its sign is extended to its part of the register
  Part part = Part::whole;
  constexpr unsigned words() const { return (bytes + 3) / 4; }
};

constexpr Format::Part low_half = Format::Part::low, high_half = Format::Part::high;

/// Puts one lane's value into its registers. The part that a d16 load preserves on other chips
/// becomes 0: these chips have registers with ECC and write whole words (ISA, "16-bit Memory
/// Operations"; in LLVM d16PreservesUnusedBits is false).
template <Format format>
inline void put(Lanes* registers, unsigned lane, const char* from) {
  if constexpr (format.bytes >= 4) {
    for (unsigned word = 0; word < format.words(); ++word)
      std::memcpy(&registers[word].lane[lane], from + 4 * word, 4);
  } else {
    u32 value = 0;
    std::memcpy(&value, from, format.bytes);
    constexpr unsigned unused = 32 - 8 * format.bytes;
    if constexpr (format.is_signed) value = u32(i32(value << unused) >> unused);
    if constexpr (format.part == low_half) value &= 0xFFFF;
    if constexpr (format.part == high_half) value <<= 16;
    registers->lane[lane] = value;
  }
}

/// Takes one lane's value out of its registers.
template <Format format>
inline void take(const Lanes* registers, unsigned lane, char* to) {
  if constexpr (format.bytes >= 4) {
    for (unsigned word = 0; word < format.words(); ++word)
      std::memcpy(to + 4 * word, &registers[word].lane[lane], 4);
  } else {
    const u32 value = registers->lane[lane] >> (format.part == high_half ? 16 : 0);
    std::memcpy(to, &value, format.bytes);
  }
}

/// Calls body(lane) for every active lane, from the lowest; a fault names the lane.
template <class Body>
inline void for_each_lane(u64 lanes, Body body) {
  unsigned lane = 0;
  try {
    for (; lanes; lanes &= lanes - 1) {
      lane = unsigned(std::countr_zero(lanes));
      body(lane);
    }
  } catch (const Fault& fault) {
    throw Fault(fault.kind, fmt::format("lane {}: {}", lane, fault.what()));
  }
}

/// The active lanes, if they are neighbours that touch consecutive memory, as in a coalesced
/// access; otherwise empty.
struct Run {
  unsigned first = 0, count = 0;
};
template <class Address>
inline Run consecutive_lanes(const Address* address, u64 lanes, unsigned bytes) {
  if (lanes == 0) return {};
  const unsigned first = unsigned(std::countr_zero(lanes));
  const unsigned count = unsigned(std::countr_one(lanes >> first));
  if (count != unsigned(std::popcount(lanes))) return {};
  const Address* start = address + first;
  Address differences = 0;
  if (count == wave_lanes)  // a loop of constant length is fully vectorized
    for (unsigned i = 0; i < wave_lanes; ++i)
      differences |= start[i] ^ Address(start[0] + Address(i) * bytes);
  else
    for (unsigned i = 0; i < count; ++i)
      differences |= start[i] ^ Address(start[0] + Address(i) * bytes);
  return differences ? Run{} : Run{first, count};
}

/// Copies the values of a run of lanes between memory and registers.
template <Format format>
inline void put_run(Lanes* registers, Run run, const char* from) {
  if (run.count == wave_lanes)
    for (unsigned i = 0; i < wave_lanes; ++i) put<format>(registers, i, from + i * format.bytes);
  else
    for (unsigned i = 0; i < run.count; ++i)
      put<format>(registers, run.first + i, from + i * format.bytes);
}
template <Format format>
inline void take_run(const Lanes* registers, Run run, char* to) {
  if (run.count == wave_lanes)
    for (unsigned i = 0; i < wave_lanes; ++i) take<format>(registers, i, to + i * format.bytes);
  else
    for (unsigned i = 0; i < run.count; ++i)
      take<format>(registers, run.first + i, to + i * format.bytes);
}

// ---- Names of operations ----

/// Returns a name that lives as long as the process, because tables of operations hold views.
std::string_view lasting(std::string name);

using Execute = void (*)(Wave&, const Instruction&);

/// Adds an operation of memory instructions.
inline Operation& add_operation(OperationTable& table, std::string name, Unit unit,
                                unsigned targets, Execute execute) {
  Operation operation;
  operation.name = lasting(std::move(name));
  operation.execute = execute;
  operation.unit = unit;
  operation.targets = u8(targets);
  return table[operation.name] = operation;
}

}  // namespace mi300x
