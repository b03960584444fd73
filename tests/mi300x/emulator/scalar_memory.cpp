// SMEM: loads and stores of scalar registers, the clocks, the scalar caches.
#include <algorithm>

#include "emulator/memory_operations.h"
#include "emulator/workgroup.h"

namespace mi300x {
namespace {

// ---- Loads and stores ----

/// Adds base, register and constant. Scalar memory accesses whole words: the chip ignores the two
/// lowest bits, so a program that sets them is wrong.
u64 address_of(const Wave& wave, const Instruction& instruction, unsigned base, u64 start) {
  u64 address = start + u64(i64{instruction.offset});
  if (instruction.source_count > base + 1)
    address += u32(read_scalar(wave, instruction.sources[base + 1]));
  if (address % 4 != 0)
    throw Fault(FaultKind::illegal_address,
                fmt::format("scalar memory at {:#x}, which is not a multiple of 4", address));
  return address;
}

template <unsigned words>
void load_scalar(Wave& wave, const Instruction& instruction) {
  const u64 base = wave.scalar64(instruction.sources[0].index);
  const u64 address = address_of(wave, instruction, 0, base);
  std::memcpy(wave.scalar_registers + instruction.targets[0].index,
              GlobalSpace::readable_at(address, 4 * words), 4 * words);
}

template <unsigned words>
void store_scalar(Wave& wave, const Instruction& instruction) {
  const u64 base = wave.scalar64(instruction.sources[1].index);
  const u64 address = address_of(wave, instruction, 1, base);
  std::memcpy(GlobalSpace::writable_at(address, 4 * words),
              wave.scalar_registers + instruction.sources[0].index, 4 * words);
}

/// A buffer resource as scalar loads see it: base, stride and size; words beyond its end read as 0.
/// The size is in bytes, or in strides if it has a stride.
template <unsigned words>
void load_scalar_buffer(Wave& wave, const Instruction& instruction) {
  const u32* resource = wave.scalar_registers + instruction.sources[0].index;
  const u64 base = (u64{resource[1]} << 32 | resource[0]) & 0xFFFFFFFFFFFF;
  const u64 stride = resource[1] >> 16 & 0x3FFF;
  const u64 size = stride ? stride * resource[2] : resource[2];
  const u64 offset = address_of(wave, instruction, 0, base) - base;
  u32* target = wave.scalar_registers + instruction.targets[0].index;
  u32 values[words] = {};
  for (unsigned i = 0; i < words; ++i)
    if (offset + 4 * i < size)
      std::memcpy(values + i, GlobalSpace::readable_at(base + offset + 4 * i, 4), 4);
  std::memcpy(target, values, sizeof values);
}

// ---- Clocks ----

/// Reads the cycles of this multiprocessor. Differences within a wave are the time model's. They
/// start at the device's clock at launch, so that readings of two launches can be compared.
void read_cycles(Wave& wave, const Instruction& instruction) {
  const Chip& chip = wave.group->chip();
  const double start = double(chip.start_nanoseconds) * 1e-9 * chip.clock_hz;
  wave.set_scalar64(instruction.targets[0].index, u64(start) + wave.cycles);
}

/// Reads wall time at 100 MHz. A wave's first reading is the time model's, like cycles, so that the
/// two agree. A wave that reads it again is waiting for something, perhaps for the host. From then
/// on, time passes at least as fast as the host's, so that a kernel's timeout works.
void read_wall_clock(Wave& wave, const Instruction& instruction) {
  const Chip& chip = wave.group->chip();
  u64 elapsed = u64(double(wave.cycles) / chip.clock_hz * 1e9);
  if (wave.read_wall_clock) elapsed = std::max(elapsed, wave.group->host_nanoseconds());
  wave.read_wall_clock = true;
  wave.set_scalar64(instruction.targets[0].index, (chip.start_nanoseconds + elapsed) / 10);
}

/// Does nothing: caches are not modelled, so nothing needs to be written back or invalidated.
void keep_caches(Wave&, const Instruction&) {}

}  // namespace

void add_scalar_memory_operations(OperationTable& table) {
  const auto add = [&](const char* name, unsigned targets, Execute execute) {
    add_operation(table, name, Unit::scalar_memory, targets, execute);
  };
  add("s_load_dword", 1, load_scalar<1>);
  add("s_load_dwordx2", 1, load_scalar<2>);
  add("s_load_dwordx4", 1, load_scalar<4>);
  add("s_load_dwordx8", 1, load_scalar<8>);
  add("s_load_dwordx16", 1, load_scalar<16>);
  add("s_buffer_load_dword", 1, load_scalar_buffer<1>);
  add("s_buffer_load_dwordx2", 1, load_scalar_buffer<2>);
  add("s_buffer_load_dwordx4", 1, load_scalar_buffer<4>);
  add("s_buffer_load_dwordx8", 1, load_scalar_buffer<8>);
  add("s_buffer_load_dwordx16", 1, load_scalar_buffer<16>);
  add("s_store_dword", 0, store_scalar<1>);
  add("s_store_dwordx2", 0, store_scalar<2>);
  add("s_store_dwordx4", 0, store_scalar<4>);
  add("s_memtime", 1, read_cycles);
  add("s_memrealtime", 1, read_wall_clock);
  for (const char* name : {"s_dcache_inv", "s_dcache_inv_vol", "s_dcache_wb", "s_dcache_wb_vol"})
    add(name, 0, keep_caches);
}

}  // namespace mi300x
