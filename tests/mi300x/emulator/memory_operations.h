// Loads, stores and atomics over any kind of addressing (memory_space.h), and the operations that
// GLOBAL, FLAT, SCRATCH and BUFFER have in common.
#pragma once

#include "emulator/memory_space.h"

namespace mi300x {

/// Calls access(at, bytes) for each word if words are checked one by one, otherwise once for the
/// whole value.
template <class Space, Format format, class Access>
inline void for_each_part(Access access) {
  constexpr unsigned step = Space::by_words && format.bytes > 4 ? 4 : format.bytes;
  for (unsigned at = 0; at < format.bytes; at += step) access(at, step);
}

// ---- Loads and stores ----

template <class Space, Format format>
void load(Wave& wave, const Instruction& instruction) {
  const Space space(wave, instruction, 0, 1);
  Lanes* target = wave.vector + instruction.targets[0].index;
  const u64 lanes = wave.exec();
  if (const Run run = space.run(lanes, format.bytes); run.count != 0)
    if (const char* from = space.readable_run(run, format.bytes))
      return put_run<format>(target, run, from);
  for_each_lane(lanes, [&](unsigned lane) {
    char value[16];
    for_each_part<Space, format>([&](unsigned at, unsigned bytes) {
      std::memcpy(value + at, space.readable(lane, at, bytes), bytes);
    });
    put<format>(target, lane, value);
  });
}

/// Loads whose values go to LDS: lane n's value goes to the n-th word from M0 plus the constant
/// offset, which is part of both addresses (ISA, "Memory Buffer Load to LDS" and FLAT's
/// "Addressing").
template <class Space, Format format>
void load_to_local(Wave& wave, const Instruction& instruction) {
  const Space space(wave, instruction, 0, 1);
  const u32 mask = Space::data_first ? 0xFFFF : 0x3FFFC;
  const u32 base = (wave.scalar32(scalar::m0) & mask) + u32(instruction.offset);
  for_each_lane(wave.exec(), [&](unsigned lane) {
    Lanes word;
    put<format>(&word, 0, space.readable(lane, 0, format.bytes));
    wave.local->write(wave, base + 4 * lane, word.lane, 4);
  });
}

template <class Space, Format format>
void store(Wave& wave, const Instruction& instruction) {
  Space space(wave, instruction, Space::data_first ? 1 : 0, 2);
  const Lanes* data = wave.vector + instruction.sources[Space::data_first ? 0 : 1].index;
  const u64 lanes = wave.exec();
  if (const Run run = space.run(lanes, format.bytes); run.count != 0)
    if (char* to = space.writable_run(run, format.bytes)) return take_run<format>(data, run, to);
  for_each_lane(lanes, [&](unsigned lane) {
    char value[16];
    take<format>(data, lane, value);
    for_each_part<Space, format>([&](unsigned at, unsigned bytes) {
      std::memcpy(space.writable(lane, at, bytes), value + at, bytes);
    });
  });
}

template <class Space>
void add_loads_and_stores(OperationTable& table, const std::string& prefix, Unit unit) {
  const auto add = [&](const char* name, unsigned targets, Execute execute) {
    add_operation(table, prefix + name, unit, targets, execute);
  };
  add("_load_ubyte", 1, load<Space, Format{1}>);
  add("_load_sbyte", 1, load<Space, Format{1, true}>);
  add("_load_ushort", 1, load<Space, Format{2}>);
  add("_load_sshort", 1, load<Space, Format{2, true}>);
  add("_load_dword", 1, load<Space, Format{4}>);
  add("_load_dwordx2", 1, load<Space, Format{8}>);
  add("_load_dwordx3", 1, load<Space, Format{12}>);
  add("_load_dwordx4", 1, load<Space, Format{16}>);
  add("_load_ubyte_d16", 1, load<Space, Format{1, false, low_half}>);
  add("_load_ubyte_d16_hi", 1, load<Space, Format{1, false, high_half}>);
  add("_load_sbyte_d16", 1, load<Space, Format{1, true, low_half}>);
  add("_load_sbyte_d16_hi", 1, load<Space, Format{1, true, high_half}>);
  add("_load_short_d16", 1, load<Space, Format{2, false, low_half}>);
  add("_load_short_d16_hi", 1, load<Space, Format{2, false, high_half}>);
  add("_store_byte", 0, store<Space, Format{1}>);
  add("_store_byte_d16_hi", 0, store<Space, Format{1, false, high_half}>);
  add("_store_short", 0, store<Space, Format{2}>);
  add("_store_short_d16_hi", 0, store<Space, Format{2, false, high_half}>);
  add("_store_dword", 0, store<Space, Format{4}>);
  add("_store_dwordx2", 0, store<Space, Format{8}>);
  add("_store_dwordx3", 0, store<Space, Format{12}>);
  add("_store_dwordx4", 0, store<Space, Format{16}>);
}

template <class Space>
void add_loads_to_local(OperationTable& table, const std::string& prefix, Unit unit) {
  const auto add = [&](const char* name, Execute execute) {
    add_operation(table, prefix + name, unit, 0, execute).reads_m0 = true;
  };
  add("_load_lds_ubyte", load_to_local<Space, Format{1}>);
  add("_load_lds_sbyte", load_to_local<Space, Format{1, true}>);
  add("_load_lds_ushort", load_to_local<Space, Format{2}>);
  add("_load_lds_sshort", load_to_local<Space, Format{2, true}>);
  add("_load_lds_dword", load_to_local<Space, Format{4}>);
}

// ---- Atomics ----

/// The positions of an atomic's operands. BUFFER's text has one register for the value and the
/// result.
struct AtomicOperands {
  const Operand* data;
  unsigned address, base;
};
template <class Space>
inline AtomicOperands atomic_operands(const Instruction& instruction) {
  if (!Space::data_first) return {&instruction.sources[1], 0, 2};
  if (instruction.target_count != 0) return {&instruction.targets[0], 0, 1};
  return {&instruction.sources[0], 1, 2};
}

/// Lanes take turns from the lowest. Each step is one of the host's atomics, because other
/// workgroups run on other host threads.
template <class Space, class T, T (*update)(T, T, Denormals), Denormals in_memory = Denormals::kept>
void atomic(Wave& wave, const Instruction& instruction) {
  const AtomicOperands operands = atomic_operands<Space>(instruction);
  Space space(wave, instruction, operands.address, operands.base);
  const Lanes* data = wave.vector + operands.data->index;
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const T value = lane_value<T>(data, lane);
    const T old = exchange<T>(space.updatable(lane, sizeof(T)),
                              [&](T memory) { return update(memory, value, in_memory); });
    if (instruction.target_count != 0)
      set_lane_value(wave.vector + instruction.targets[0].index, lane, old);
  });
}

/// The new value comes first, then the value to compare with.
template <class Space, class T>
void compare_swap(Wave& wave, const Instruction& instruction) {
  const AtomicOperands operands = atomic_operands<Space>(instruction);
  Space space(wave, instruction, operands.address, operands.base);
  const Lanes* data = wave.vector + operands.data->index;
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const T value = lane_value<T>(data, lane);
    const T expected = lane_value<T>(data + sizeof(T) / 4, lane);
    const T old = exchange<T>(space.updatable(lane, sizeof(T)),
                              [&](T memory) { return memory == expected ? value : memory; });
    if (instruction.target_count != 0)
      set_lane_value(wave.vector + instruction.targets[0].index, lane, old);
  });
}

template <class Space>
void add_atomics(OperationTable& table, const std::string& prefix, Unit unit) {
  const auto add = [&](const char* name, Execute execute) {
    // BUFFER's result replaces the value that it reads.
    add_operation(table, prefix + "_atomic_" + name, unit, 1, execute).reads_target =
        Space::data_first;
  };
  add("swap", atomic<Space, u32, atomic_swap>);
  add("cmpswap", compare_swap<Space, u32>);
  add("add", atomic<Space, u32, atomic_add>);
  add("sub", atomic<Space, u32, atomic_subtract>);
  add("smin", atomic<Space, i32, atomic_least>);
  add("umin", atomic<Space, u32, atomic_least>);
  add("smax", atomic<Space, i32, atomic_greatest>);
  add("umax", atomic<Space, u32, atomic_greatest>);
  add("and", atomic<Space, u32, atomic_and>);
  add("or", atomic<Space, u32, atomic_or>);
  add("xor", atomic<Space, u32, atomic_xor>);
  add("inc", atomic<Space, u32, atomic_increment>);
  add("dec", atomic<Space, u32, atomic_decrement>);
  add("swap_x2", atomic<Space, u64, atomic_swap>);
  add("cmpswap_x2", compare_swap<Space, u64>);
  add("add_x2", atomic<Space, u64, atomic_add>);
  add("sub_x2", atomic<Space, u64, atomic_subtract>);
  add("smin_x2", atomic<Space, i64, atomic_least>);
  add("umin_x2", atomic<Space, u64, atomic_least>);
  add("smax_x2", atomic<Space, i64, atomic_greatest>);
  add("umax_x2", atomic<Space, u64, atomic_greatest>);
  add("and_x2", atomic<Space, u64, atomic_and>);
  add("or_x2", atomic<Space, u64, atomic_or>);
  add("xor_x2", atomic<Space, u64, atomic_xor>);
  add("inc_x2", atomic<Space, u64, atomic_increment>);
  add("dec_x2", atomic<Space, u64, atomic_decrement>);
  add("add_f32", atomic<Space, u32, atomic_add_f32, Denormals::not_known>);
  add("add_f64", atomic<Space, u64, atomic_add_f64>);
  add("min_f64", atomic<Space, u64, atomic_select_f64<false>>);
  add("max_f64", atomic<Space, u64, atomic_select_f64<true>>);
  add("pk_add_f16", atomic<Space, u32, atomic_add_packed<F16>>);
  add("pk_add_bf16", atomic<Space, u32, atomic_add_packed<BF16>>);
}

// ---- Files that add to add_global_memory_operations() and add_local_memory_operations() ----

void add_scalar_memory_operations(OperationTable&);  // scalar_memory.cpp
void add_buffer_operations(OperationTable&);         // buffer_memory.cpp
void add_lane_exchanges(OperationTable&);            // lane_exchange.cpp

}  // namespace mi300x
