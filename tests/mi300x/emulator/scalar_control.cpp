// Scalar operations on the state that controls a wave: EXEC, the program counter, registers with
// computed numbers, hardware registers.
#include <string>

#include "emulator/fault.h"
#include "emulator/lanes.h"
#include "emulator/scalar_operation.h"
#include "emulator/workgroup.h"

namespace mi300x {

namespace {

// ---- EXEC ----

/// The target gets the old EXEC; EXEC becomes a function of the source and of itself.
template <auto combine>  // of the source and EXEC
void save_exec(Wave& wave, const Instruction& instruction) {
  const u64 source = read_scalar(wave, instruction.sources[0]), old = wave.exec();
  wave.set_scalar64(instruction.targets[0].index, old);
  wave.set_exec(combine(source, old));
  wave.scc = wave.exec() != 0;
}
/// The target gets the new EXEC.
template <auto combine>  // of the source and EXEC
void write_exec(Wave& wave, const Instruction& instruction) {
  wave.set_exec(combine(read_scalar(wave, instruction.sources[0]), wave.exec()));
  wave.set_scalar64(instruction.targets[0].index, wave.exec());
  wave.scc = wave.exec() != 0;
}

void add_exec(ScalarTable table, std::string_view name,
              void (*execute)(Wave&, const Instruction&)) {
  Operation& operation = table.add_special(name, execute, 1);
  operation.sources[0] = Type::b64;
  operation.writes_exec = true;
  operation.writes_scc = true;
}

constexpr auto without_source = [](u64 source, u64 exec) { return ~source & exec; };
constexpr auto without_exec = [](u64 source, u64 exec) { return source & ~exec; };

void add_exec_operations(ScalarTable table) {
  add_exec(table, "s_and_saveexec_b64", save_exec<[](u64 s, u64 e) { return s & e; }>);
  add_exec(table, "s_or_saveexec_b64", save_exec<[](u64 s, u64 e) { return s | e; }>);
  add_exec(table, "s_xor_saveexec_b64", save_exec<[](u64 s, u64 e) { return s ^ e; }>);
  add_exec(table, "s_andn1_saveexec_b64", save_exec<without_source>);
  add_exec(table, "s_andn2_saveexec_b64", save_exec<without_exec>);
  add_exec(table, "s_orn1_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~s | e; }>);
  add_exec(table, "s_orn2_saveexec_b64", save_exec<[](u64 s, u64 e) { return s | ~e; }>);
  add_exec(table, "s_nand_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~(s & e); }>);
  add_exec(table, "s_nor_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~(s | e); }>);
  add_exec(table, "s_xnor_saveexec_b64", save_exec<[](u64 s, u64 e) { return ~(s ^ e); }>);
  add_exec(table, "s_andn1_wrexec_b64", write_exec<without_source>);
  add_exec(table, "s_andn2_wrexec_b64", write_exec<without_exec>);
}

// ---- The program counter ----

/// Returns the address of the next instruction.
void get_pc(Wave& wave, const Instruction& instruction) {
  wave.set_scalar64(instruction.targets[0].index, instruction.address + instruction.bytes);
}
void set_pc(Wave& wave, const Instruction& instruction) {
  wave.next = wave.group->code().index_of(read_scalar(wave, instruction.sources[0]));
}
void swap_pc(Wave& wave, const Instruction& instruction) {
  const u64 target = read_scalar(wave, instruction.sources[0]);
  get_pc(wave, instruction);
  wave.next = wave.group->code().index_of(target);
}
void call(Wave& wave, const Instruction& instruction) {
  get_pc(wave, instruction);
  wave.next = instruction.branch;
}

// ---- Registers with computed numbers ----

unsigned moved_index(const Wave& wave, const Operand& operand, unsigned words) {
  const u64 index = u64{operand.index} + wave.scalar32(scalar::m0);
  if (operand.kind != OperandKind::scalar || index + words > scalar::flat_scratch)
    throw Fault(FaultKind::illegal_address,
                "an indexed scalar register lies past s101: s" + std::to_string(index));
  return unsigned(index);
}
template <unsigned words>
void move_from_indexed(Wave& wave, const Instruction& instruction) {
  const unsigned from = moved_index(wave, instruction.sources[0], words);
  if constexpr (words == 2)
    wave.set_scalar64(instruction.targets[0].index, wave.scalar64(from));
  else
    wave.set_scalar32(instruction.targets[0].index, wave.scalar32(from));
}
template <unsigned words>
void move_to_indexed(Wave& wave, const Instruction& instruction) {
  const u64 value = read_scalar(wave, instruction.sources[0]);
  const unsigned to = moved_index(wave, instruction.targets[0], words);
  if constexpr (words == 2)
    wave.set_scalar64(to, value);
  else
    wave.set_scalar32(to, u32(value));
}

void set_index(Wave& wave, u32 index) {
  const u32 m0 = wave.scalar32(scalar::m0);
  wave.set_scalar32(scalar::m0, (m0 & ~0xFFu) | (index & 0xFF));
}
void set_index_mode(Wave& wave, u32 mode) {
  const u32 m0 = wave.scalar32(scalar::m0);
  wave.set_scalar32(scalar::m0, (m0 & ~0xF000u) | (mode & 0xF) << 12);
}
void index_on(Wave& wave, const Instruction& instruction) {
  wave.mode |= mode::indexing;
  set_index(wave, u32(read_scalar(wave, instruction.sources[0])));
  set_index_mode(wave, instruction.immediate);
}
void index_off(Wave& wave, const Instruction&) {
  wave.mode &= ~mode::indexing;
}
void index_mode(Wave& wave, const Instruction& instruction) {
  set_index_mode(wave, instruction.immediate);
}
void index_index(Wave& wave, const Instruction& instruction) {
  set_index(wave, u32(read_scalar(wave, instruction.sources[0])));
}

// ---- Hardware registers ----

namespace hardware {
constexpr u32 mode = 1, status = 2, id = 4, die = 20;
}

/// STATUS: SCC, EXECZ, VCCZ, part of a workgroup, valid wave.
u32 status(const Wave& wave) {
  return u32{wave.scc} | u32{wave.exec() == 0} << 9 | u32{wave.vcc() == 0} << 10 | 1u << 11 |
         1u << 16;
}
/// HW_ID of gfx9: wave 3:0, SIMD 5:4, compute unit 11:8, shader engine 15:13. Since MI100 the
/// engine has three bits; the highest one belonged to the workgroup before.
u32 hardware_id(const Wave& wave) {
  const Place place = wave.group->place();
  return (wave.index / 4 & 0xF) | (wave.index & 3) << 4 | (place.unit & 0xF) << 8 |
         (place.engine & 7) << 13;
}

u32 hardware_register(const Wave& wave, const Instruction& instruction, u32 number) {
  switch (number) {
    case hardware::mode:
      return wave.mode;
    case hardware::status:
      return status(wave);
    case hardware::id:
      return hardware_id(wave);
    case hardware::die:
      return wave.group->place().die;
    default:
      not_emulated(instruction, "this hardware register");
  }
}

/// The field that an encoded hwreg names: number 5:0, first bit 10:6, number of bits minus one
/// 15:11.
struct Field {
  u32 number, first, mask;
};
Field field_of(const Instruction& instruction) {
  const u32 encoded = instruction.immediate;
  const u32 bits = (encoded >> 11 & 31) + 1;
  return {encoded & 63, encoded >> 6 & 31, bits == 32 ? ~u32{0} : (u32{1} << bits) - 1};
}
void get_register(Wave& wave, const Instruction& instruction) {
  const Field field = field_of(instruction);
  wave.set_scalar32(instruction.targets[0].index,
                    hardware_register(wave, instruction, field.number) >> field.first & field.mask);
}
void set_register(Wave& wave, const Instruction& instruction) {
  const Field field = field_of(instruction);
  if (field.number != hardware::mode) not_emulated(instruction, "writes this hardware register");
  const u32 value = u32(read_scalar(wave, instruction.sources[0])) & field.mask;
  wave.mode = (wave.mode & ~(field.mask << field.first)) | value << field.first;
}

}  // namespace

void add_scalar_control(ScalarTable table) {
  add_exec_operations(table);
  table.add_special("s_getpc_b64", get_pc, 1);
  table.add_special("s_setpc_b64", set_pc, 0).sources[0] = Type::b64;
  table.add_special("s_swappc_b64", swap_pc, 1).sources[0] = Type::b64;
  table.add_special("s_call_b64", call, 1);

  for (Operation* operation : {&table.add_special("s_movrels_b32", move_from_indexed<1>, 1),
                               &table.add_special("s_movrels_b64", move_from_indexed<2>, 1),
                               &table.add_special("s_movreld_b32", move_to_indexed<1>, 1),
                               &table.add_special("s_movreld_b64", move_to_indexed<2>, 1)}) {
    operation->reads_m0 = true;
    if (operation->name.ends_with("b64")) operation->sources[0] = Type::b64;
  }
  table.add_special("s_set_gpr_idx_on", index_on, 0);
  table.add_special("s_set_gpr_idx_idx", index_index, 0);
  table.add_special("s_set_gpr_idx_off", index_off, 0, Unit::program);
  table.add_special("s_set_gpr_idx_mode", index_mode, 0, Unit::program);

  table.add_special("s_getreg_b32", get_register, 1);
  table.add_special("s_setreg_b32", set_register, 0);
  table.add_special("s_setreg_imm32_b32", set_register, 0);
}

}  // namespace mi300x
