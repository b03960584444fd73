// DS: loads, stores and atomics on LDS. On gfx9 and later M0 is no bound; only append, consume and
// the addtid pair read it.
#include "emulator/lanes.h"
#include "emulator/memory_operations.h"

namespace mi300x {
namespace {

u32 address_of(const Wave& wave, const Instruction& instruction, unsigned lane) {
  return wave.vector[instruction.sources[0].index].lane[lane] + u32(instruction.offset);
}

/// Returns how MODE treats denormals of an atomic's floats. Input and output bits differ only if a
/// program sets them so; then the two kinds of flushing would have to be distinguished.
Denormals denormals(const Wave& wave, u32 bits) {
  const u32 kept = wave.mode & bits;
  if (kept != 0 && kept != bits)
    throw Fault(FaultKind::unknown_instruction,
                "an LDS atomic on floats while MODE flushes either inputs or results only");
  return kept ? Denormals::kept : Denormals::flushed;
}
constexpr u32 f32_denormals = mode::f32_input | mode::f32_output;

// ---- Loads and stores ----

/// Loads one value per lane from `address`, in one step if the lanes touch consecutive memory.
template <Format format>
void read_lanes(Wave& wave, Lanes* target, const u32* address) {
  const u64 lanes = wave.exec();
  LocalMemory& local = *wave.local;
  if (const Run run = consecutive_lanes(address, lanes, format.bytes); run.count != 0)
    return put_run<format>(target, run,
                           local.place_to_read(wave, address[run.first], run.count * format.bytes));
  for_each_lane(lanes, [&](unsigned lane) {
    put<format>(target, lane, local.place_to_read(wave, address[lane], format.bytes));
  });
}

template <Format format>
void write_lanes(Wave& wave, const Lanes* data, const u32* address) {
  const u64 lanes = wave.exec();
  LocalMemory& local = *wave.local;
  if (const Run run = consecutive_lanes(address, lanes, format.bytes); run.count != 0)
    return take_run<format>(
        data, run, local.place_to_write(wave, address[run.first], run.count * format.bytes));
  for_each_lane(lanes, [&](unsigned lane) {
    take<format>(data, lane, local.place_to_write(wave, address[lane], format.bytes));
  });
}

struct Addresses {
  alignas(64) u32 lane[wave_lanes];
  Addresses(const Wave& wave, const Instruction& instruction, u32 offset) {
    const u32* base = wave.vector[instruction.sources[0].index].lane;
    for (unsigned i = 0; i < wave_lanes; ++i) lane[i] = base[i] + offset;
  }
};

template <Format format>
void read(Wave& wave, const Instruction& instruction) {
  const Addresses addresses(wave, instruction, u32(instruction.offset));
  read_lanes<format>(wave, wave.vector + instruction.targets[0].index, addresses.lane);
}

template <Format format>
void write(Wave& wave, const Instruction& instruction) {
  const Addresses addresses(wave, instruction, u32(instruction.offset));
  write_lanes<format>(wave, wave.vector + instruction.sources[1].index, addresses.lane);
}

/// Loads two values per lane, at offsets in units of `unit` bytes. The addresses are read before
/// the first value arrives, because it may overwrite their register.
template <unsigned bytes, unsigned unit>
void read_two(Wave& wave, const Instruction& instruction) {
  const Addresses first(wave, instruction, instruction.offset0 * unit);
  const Addresses second(wave, instruction, instruction.offset1 * unit);
  Lanes* target = wave.vector + instruction.targets[0].index;
  read_lanes<Format{bytes}>(wave, target, first.lane);
  read_lanes<Format{bytes}>(wave, target + bytes / 4, second.lane);
}

template <unsigned bytes, unsigned unit>
void write_two(Wave& wave, const Instruction& instruction) {
  const Addresses first(wave, instruction, instruction.offset0 * unit);
  const Addresses second(wave, instruction, instruction.offset1 * unit);
  write_lanes<Format{bytes}>(wave, wave.vector + instruction.sources[1].index, first.lane);
  write_lanes<Format{bytes}>(wave, wave.vector + instruction.sources[2].index, second.lane);
}

/// Returns a lane's word at M0[15:0] plus the constant offset; no address comes from a register.
u32 address_by_lane(const Wave& wave, const Instruction& instruction, unsigned lane) {
  return (wave.scalar32(scalar::m0) & 0xFFFF) + u32(instruction.offset) + 4 * lane;
}
void read_by_lane(Wave& wave, const Instruction& instruction) {
  Lanes address;
  for (unsigned i = 0; i < wave_lanes; ++i) address.lane[i] = address_by_lane(wave, instruction, i);
  read_lanes<Format{4}>(wave, wave.vector + instruction.targets[0].index, address.lane);
}
void write_by_lane(Wave& wave, const Instruction& instruction) {
  Lanes address;
  for (unsigned i = 0; i < wave_lanes; ++i) address.lane[i] = address_by_lane(wave, instruction, i);
  write_lanes<Format{4}>(wave, wave.vector + instruction.sources[0].index, address.lane);
}

// ---- Atomics ----

/// The address is used only by this thread, but FLAT atomics share this code.
template <class T, class Update>
void update_lane(Wave& wave, const Instruction& instruction, unsigned lane, Update update) {
  char* place = wave.local->atomic(wave, address_of(wave, instruction, lane), sizeof(T));
  const T old = exchange<T>(place, update);
  if (instruction.target_count != 0)
    set_lane_value(wave.vector + instruction.targets[0].index, lane, old);
}

template <class T>
T data_of(const Wave& wave, const Instruction& instruction, unsigned source, unsigned lane) {
  return lane_value<T>(wave.vector + instruction.sources[source].index, lane);
}

/// `denormal_bits` are the bits of MODE that decide; 0 for integers, and where denormals are kept.
template <class T, T (*update)(T, T, Denormals), u32 denormal_bits = 0>
void atomic_local(Wave& wave, const Instruction& instruction) {
  const Denormals rule = denormal_bits ? denormals(wave, denormal_bits) : Denormals::kept;
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const T data = data_of<T>(wave, instruction, 1, lane);
    update_lane<T>(wave, instruction, lane, [&](T memory) { return update(memory, data, rule); });
  });
}

/// DS takes the compared value first and the new value second, whereas memory atomics use the
/// reverse order.
template <class T>
void compare_store(Wave& wave, const Instruction& instruction) {
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const T expected = data_of<T>(wave, instruction, 1, lane);
    const T value = data_of<T>(wave, instruction, 2, lane);
    update_lane<T>(wave, instruction, lane,
                   [&](T memory) { return memory == expected ? value : memory; });
  });
}

/// Compares as floats: +0 equals -0, and a NaN equals nothing.
template <class T, class Float, u32 denormal_bits>
void compare_store_float(Wave& wave, const Instruction& instruction) {
  if (denormals(wave, denormal_bits) == Denormals::flushed)
    throw Fault(FaultKind::unknown_instruction,
                instruction.text + ": while MODE flushes denormals, its result is not known");
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const T expected = data_of<T>(wave, instruction, 1, lane);
    const T value = data_of<T>(wave, instruction, 2, lane);
    update_lane<T>(wave, instruction, lane, [&](T memory) {
      return std::bit_cast<Float>(memory) == std::bit_cast<Float>(expected) ? value : memory;
    });
  });
}

/// Clears the bits of the first value, then sets those of the second.
template <class T>
void mask_or(Wave& wave, const Instruction& instruction) {
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const T mask = data_of<T>(wave, instruction, 1, lane);
    const T value = data_of<T>(wave, instruction, 2, lane);
    update_lane<T>(wave, instruction, lane, [&](T memory) { return (memory & ~mask) | value; });
  });
}

void wrap(Wave& wave, const Instruction& instruction) {
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const u32 down = data_of<u32>(wave, instruction, 1, lane);
    const u32 up = data_of<u32>(wave, instruction, 2, lane);
    update_lane<u32>(wave, instruction, lane,
                     [&](u32 memory) { return memory >= down ? memory - down : memory + up; });
  });
}

/// Exchanges two values per lane, like ds_write2, at offsets in units of `unit` bytes.
template <class T, unsigned unit>
void exchange_two(Wave& wave, const Instruction& instruction) {
  const Lanes address = wave.vector[instruction.sources[0].index];
  const std::array offsets = {instruction.offset0 * unit, instruction.offset1 * unit};
  for_each_lane(wave.exec(), [&](unsigned lane) {
    const std::array values = {data_of<T>(wave, instruction, 1, lane),
                               data_of<T>(wave, instruction, 2, lane)};
    for (unsigned i = 0; i < 2; ++i) {
      char* place = wave.local->atomic(wave, address.lane[lane] + offsets[i], sizeof(T));
      const T old = exchange<T>(place, [&](T) { return values[i]; });
      set_lane_value(wave.vector + instruction.targets[0].index + i * sizeof(T) / 4, lane, old);
    }
  });
}

/// One counter for the wave: it changes by the number of active lanes, and all get its old value.
/// LLVM puts its address into M0 and folds constants into the offset.
template <int sign>
void count_lanes(Wave& wave, const Instruction& instruction) {
  const u64 lanes = wave.exec();
  if (lanes == 0) return;
  const u32 address = (wave.scalar32(scalar::m0) & 0xFFFF) + u32(instruction.offset);
  const u32 change = u32(sign * std::popcount(lanes));
  const u32 old = exchange<u32>(wave.local->atomic(wave, address, 4),
                                [&](u32 memory) { return memory + change; });
  for_each_lane(lanes,
                [&](unsigned lane) { wave.vector[instruction.targets[0].index].lane[lane] = old; });
}

// ---- The table ----

void do_nothing(Wave&, const Instruction&) {}

void add(OperationTable& table, const std::string& name, unsigned targets, Execute execute) {
  add_operation(table, name, Unit::local, targets, execute);
}

/// Adds "ds_add_u32" and "ds_add_rtn_u32".
void add_pair(OperationTable& table, const std::string& verb, const std::string& type,
              Execute execute) {
  add(table, "ds_" + verb + "_" + type, 0, execute);
  add(table, "ds_" + verb + "_rtn_" + type, 1, execute);
}

template <class Unsigned, class Signed>
void add_integer_atomics(OperationTable& table, const std::string& bits) {
  const std::string b = "b" + bits, u = "u" + bits, i = "i" + bits;
  add_pair(table, "add", u, atomic_local<Unsigned, atomic_add>);
  add_pair(table, "sub", u, atomic_local<Unsigned, atomic_subtract>);
  add_pair(table, "rsub", u, atomic_local<Unsigned, atomic_subtract_reversed>);
  add_pair(table, "inc", u, atomic_local<Unsigned, atomic_increment>);
  add_pair(table, "dec", u, atomic_local<Unsigned, atomic_decrement>);
  add_pair(table, "min", u, atomic_local<Unsigned, atomic_least>);
  add_pair(table, "max", u, atomic_local<Unsigned, atomic_greatest>);
  add_pair(table, "min", i, atomic_local<Signed, atomic_least>);
  add_pair(table, "max", i, atomic_local<Signed, atomic_greatest>);
  add_pair(table, "and", b, atomic_local<Unsigned, atomic_and>);
  add_pair(table, "or", b, atomic_local<Unsigned, atomic_or>);
  add_pair(table, "xor", b, atomic_local<Unsigned, atomic_xor>);
  add_pair(table, "mskor", b, mask_or<Unsigned>);
  add_pair(table, "cmpst", b, compare_store<Unsigned>);
  add(table, "ds_wrxchg_rtn_" + b, 1, atomic_local<Unsigned, atomic_swap>);
  add(table, "ds_wrxchg2_rtn_" + b, 1, exchange_two<Unsigned, sizeof(Unsigned)>);
  add(table, "ds_wrxchg2st64_rtn_" + b, 1, exchange_two<Unsigned, 64 * sizeof(Unsigned)>);
}

void add_float_atomics(OperationTable& table) {
  constexpr u32 wide = mode::wide_denormals;
  add_pair(table, "add", "f32", atomic_local<u32, atomic_add_f32, f32_denormals>);
  add_pair(table, "min", "f32", atomic_local<u32, atomic_select_f32<false>, f32_denormals>);
  add_pair(table, "max", "f32", atomic_local<u32, atomic_select_f32<true>, f32_denormals>);
  add_pair(table, "cmpst", "f32", compare_store_float<u32, float, f32_denormals>);
  add_pair(table, "add", "f64", atomic_local<u64, atomic_add_f64>);
  add_pair(table, "min", "f64", atomic_local<u64, atomic_select_f64<false>, wide>);
  add_pair(table, "max", "f64", atomic_local<u64, atomic_select_f64<true>, wide>);
  add_pair(table, "cmpst", "f64", compare_store_float<u64, double, wide>);
  add_pair(table, "pk_add", "f16", atomic_local<u32, atomic_add_packed<F16>, wide>);
  add_pair(table, "pk_add", "bf16", atomic_local<u32, atomic_add_packed<BF16>, wide>);
}

void add_reads_and_writes(OperationTable& table) {
  add(table, "ds_read_u8", 1, read<Format{1}>);
  add(table, "ds_read_i8", 1, read<Format{1, true}>);
  add(table, "ds_read_u16", 1, read<Format{2}>);
  add(table, "ds_read_i16", 1, read<Format{2, true}>);
  add(table, "ds_read_b32", 1, read<Format{4}>);
  add(table, "ds_read_b64", 1, read<Format{8}>);
  add(table, "ds_read_b96", 1, read<Format{12}>);
  add(table, "ds_read_b128", 1, read<Format{16}>);
  add(table, "ds_read_u8_d16", 1, read<Format{1, false, low_half}>);
  add(table, "ds_read_u8_d16_hi", 1, read<Format{1, false, high_half}>);
  add(table, "ds_read_i8_d16", 1, read<Format{1, true, low_half}>);
  add(table, "ds_read_i8_d16_hi", 1, read<Format{1, true, high_half}>);
  add(table, "ds_read_u16_d16", 1, read<Format{2, false, low_half}>);
  add(table, "ds_read_u16_d16_hi", 1, read<Format{2, false, high_half}>);
  add(table, "ds_write_b8", 0, write<Format{1}>);
  add(table, "ds_write_b8_d16_hi", 0, write<Format{1, false, high_half}>);
  add(table, "ds_write_b16", 0, write<Format{2}>);
  add(table, "ds_write_b16_d16_hi", 0, write<Format{2, false, high_half}>);
  add(table, "ds_write_b32", 0, write<Format{4}>);
  add(table, "ds_write_b64", 0, write<Format{8}>);
  add(table, "ds_write_b96", 0, write<Format{12}>);
  add(table, "ds_write_b128", 0, write<Format{16}>);
  add(table, "ds_read2_b32", 1, read_two<4, 4>);
  add(table, "ds_read2_b64", 1, read_two<8, 8>);
  add(table, "ds_read2st64_b32", 1, read_two<4, 256>);
  add(table, "ds_read2st64_b64", 1, read_two<8, 512>);
  add(table, "ds_write2_b32", 0, write_two<4, 4>);
  add(table, "ds_write2_b64", 0, write_two<8, 8>);
  add(table, "ds_write2st64_b32", 0, write_two<4, 256>);
  add(table, "ds_write2st64_b64", 0, write_two<8, 512>);
}

}  // namespace

void add_local_memory_operations(OperationTable& table) {
  add_reads_and_writes(table);
  add_integer_atomics<u32, i32>(table, "32");
  add_integer_atomics<u64, i64>(table, "64");
  add_float_atomics(table);
  add_lane_exchanges(table);
  add(table, "ds_wrap_rtn_b32", 1, wrap);
  add(table, "ds_nop", 0, do_nothing);
  add_operation(table, "ds_append", Unit::local, 1, count_lanes<1>).reads_m0 = true;
  add_operation(table, "ds_consume", Unit::local, 1, count_lanes<-1>).reads_m0 = true;
  add_operation(table, "ds_read_addtid_b32", Unit::local, 1, read_by_lane).reads_m0 = true;
  add_operation(table, "ds_write_addtid_b32", Unit::local, 0, write_by_lane).reads_m0 = true;
}

}  // namespace mi300x
