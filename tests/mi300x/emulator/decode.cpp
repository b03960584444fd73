#include <fmt/format.h>

#include <algorithm>

#include "emulator/code_object.h"
#include "emulator/fault.h"
#include "emulator/hazards.h"
#include "emulator/immediates.h"
#include "emulator/instruction_text.h"
#include "emulator/modifiers.h"
#include "emulator/operands.h"

namespace mi300x {
namespace {

[[noreturn]] void unknown_instruction(const std::string& why) {
  throw Fault(FaultKind::unknown_instruction, why);
}

// ---- The parts of a line ----

struct Line {
  std::string_view mnemonic;
  std::vector<std::string_view> operands, modifiers;
};

/// Operands are separated by commas; modifiers follow the last one, separated by blanks. An
/// instruction without operands may have modifiers: "buffer_inv sc0 sc1".
Line parts_of(std::string_view text, bool has_operands) {
  Line line;
  const std::size_t blank = text.find(' ');
  line.mnemonic = text.substr(0, blank);
  if (blank == std::string_view::npos) return line;
  const std::string_view rest = text.substr(blank);
  if (!has_operands) {
    line.modifiers = split(rest, ' ');
    return line;
  }
  line.operands = split(rest, ',');
  if (line.operands.empty()) return line;
  line.modifiers = split(line.operands.back(), ' ');
  line.operands.back() = line.modifiers.front();
  line.modifiers.erase(line.modifiers.begin());
  return line;
}

struct Mnemonic {
  const Operation* operation = nullptr;
  std::string_view encoding;  ///< "_e32", "_sdwa", ...
};

Mnemonic find_operation(std::string_view mnemonic) {
  const OperationTable& operations = all_operations();
  for (const std::string_view encoding : {"", "_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp"}) {
    if (!mnemonic.ends_with(encoding)) continue;
    const auto at = operations.find(mnemonic.substr(0, mnemonic.size() - encoding.size()));
    if (at != operations.end()) return {&at->second, encoding};
  }
  unknown_instruction("no such operation");
}

// ---- Scalar instructions with a 16-bit constant ----

bool is_branch(std::string_view name) {
  return name == "s_branch" || name == "s_call_b64" ||
         (name.starts_with("s_cbranch_") && name != "s_cbranch_g_fork" && name != "s_cbranch_join");
}

/// SOPK: the constant is a source of the operation and is extended as the operation requires.
bool has_short_source(std::string_view name) {
  return name == "s_movk_i32" || name == "s_cmovk_i32" || name == "s_addk_i32" ||
         name == "s_mulk_i32" || name.starts_with("s_cmpk_");
}

/// Parses "vmcnt(0) lgkmcnt(3)". A counter that is not named keeps its maximum, so nothing is
/// waited for.
void parse_waits(std::string_view text, Instruction& instruction) {
  for (const std::string_view word : split(text, ' ')) {
    const std::size_t bracket = word.find('(');
    if (bracket == std::string_view::npos || word.back() != ')') {
      unknown_instruction(fmt::format("unknown wait '{}'", word));
    }
    const std::string_view counter = word.substr(0, bracket);
    const i64 count = parse_integer(word.substr(bracket + 1, word.size() - bracket - 2));
    u8& wait = counter == "vmcnt"     ? instruction.wait_vector
               : counter == "lgkmcnt" ? instruction.wait_scalar
               : counter == "expcnt"  ? instruction.wait_export
                                     : (unknown_instruction(fmt::format("unknown wait '{}'", word)),
                                        instruction.wait_vector);
    if (count < 0 || count > wait) unknown_instruction(fmt::format("unknown wait '{}'", word));
    wait = static_cast<u8>(count);
  }
}

/// Removes the operand that is not a register from `operands` if it is an immediate of this
/// instruction.
void take_immediate(std::string_view name, std::vector<std::string_view>& operands,
                    Instruction& instruction) {
  if (operands.empty()) return;
  const auto take = [&](std::size_t at, u32 (*encode)(std::string_view)) {
    if (at >= operands.size()) unknown_instruction("an operand is missing");
    instruction.immediate = encode(operands[at]) & 0xFFFF;
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(at));
  };
  const auto integer = [](std::string_view text) { return static_cast<u32>(parse_integer(text)); };
  if (name == "s_getreg_b32") return take(1, encode_hardware_register);
  if (name.starts_with("s_setreg_")) return take(0, encode_hardware_register);
  if (name.starts_with("s_sendmsg")) return take(0, encode_message);
  if (name == "s_set_gpr_idx_on") return take(1, encode_index_mode);
  if (name == "s_set_gpr_idx_mode") return take(0, encode_index_mode);
  if (is_branch(name)) return take(operands.size() - 1, integer);
  if (has_short_source(name)) {
    const u32 value = integer(operands.back()) & 0xFFFF;
    instruction.immediate = value;  // it remains an operand, too
    return;
  }
  const bool is_number = operands[0][0] >= '0' && operands[0][0] <= '9';
  if (instruction.operation->unit == Unit::program && is_number) return take(0, integer);
}

void extend_short_source(std::string_view name, Instruction& instruction) {
  const u32 value = instruction.immediate;
  const bool is_unsigned = name.starts_with("s_cmpk_") && name.ends_with("_u32");
  Operand& source = instruction.sources[instruction.source_count - 1u];
  source.constant = is_unsigned ? value : static_cast<u32>(i32{static_cast<i16>(value)});
}

// ---- Operands ----

/// Returns how many operands are written. A global atomic is the same operation with and without
/// the old value, which a cache bit requests; a load into LDS writes no register.
unsigned targets_of(const Operation& operation, const Line& line) {
  const auto has = [&](std::string_view modifier) {
    return std::ranges::find(line.modifiers, modifier) != line.modifiers.end();
  };
  const bool atomic = operation.name.find("_atomic_") != std::string_view::npos;
  const bool no_target = (atomic && !has("sc0") && !has("glc")) || has("lds");
  return no_target && operation.targets > 0 ? operation.targets - 1u : operation.targets;
}

bool extends_with_sign(std::string_view name) {
  return name.ends_with("_i64");
}

void parse_operands(const std::vector<std::string_view>& operands, unsigned targets,
                    Instruction& instruction) {
  const Operation& operation = *instruction.operation;
  if (operands.size() < targets) unknown_instruction("a target is missing");
  if (operands.size() - targets > instruction.sources.size()) {
    unknown_instruction("more operands than any instruction has");
  }
  for (unsigned i = 0; i < targets; ++i) {
    Operand& target = instruction.targets.at(instruction.target_count++);
    target = parse_operand(operands[i], Type::b32, false);
    if (target.kind != OperandKind::vector && target.kind != OperandKind::scalar) {
      unknown_instruction(fmt::format("'{}' is no register to write", operands[i]));
    }
  }
  for (std::size_t i = targets; i < operands.size(); ++i) {
    const std::size_t at = std::min(i - targets, operation.sources.size() - 1);
    instruction.sources[instruction.source_count++] =
        parse_operand(operands[i], operation.sources[at], extends_with_sign(operation.name));
  }
}

/// Moves a scalar load's constant offset out of the sources.
void move_scalar_offset(Instruction& instruction) {
  if (instruction.source_count < 2) return;
  Operand& last = instruction.sources[instruction.source_count - 1u];
  if (last.kind != OperandKind::constant) return;
  instruction.offset = static_cast<i32>(last.constant);
  last = {};
  --instruction.source_count;
}

// ---- Registers read and written ----

void note(std::vector<RegisterRange>& ranges, const Operand& operand) {
  if (operand.kind == OperandKind::vector) ranges.push_back({operand.index, operand.words});
  if (operand.kind == OperandKind::scalar) {
    ranges.push_back({static_cast<u16>(first_scalar + operand.index), operand.words});
  }
}

void note_scalar(std::vector<RegisterRange>& ranges, unsigned index, u16 words) {
  ranges.push_back({static_cast<u16>(first_scalar + index), words});
}

/// Returns whether lanes that are written keep a part of the target's old value.
bool keeps_part_of_target(const Instruction& instruction) {
  const Dpp& dpp = instruction.dpp;
  const bool invalid_lanes_keep =
      dpp.used && (!dpp.bound_control || dpp.row_mask != 0xF || dpp.bank_mask != 0xF);
  const bool other_parts_keep =
      instruction.sdwa.used && instruction.sdwa.target != 6 && instruction.sdwa.target_unused == 2;
  const bool upper_half = (instruction.op_sel & 8) != 0;
  return instruction.operation->reads_target || invalid_lanes_keep || other_parts_keep ||
         upper_half;
}

void note_registers(Instruction& instruction) {
  const Operation& operation = *instruction.operation;
  for (unsigned i = 0; i < instruction.target_count; ++i) {
    note(instruction.writes, instruction.targets[i]);
    if (keeps_part_of_target(instruction) && (i == 0 || operation.reads_target)) {
      note(instruction.reads, instruction.targets[i]);
    }
  }
  for (unsigned i = 0; i < instruction.source_count; ++i) {
    note(instruction.reads, instruction.sources[i]);
  }
  if (operation.reads_vcc) note_scalar(instruction.reads, scalar::vcc, 2);
  if (operation.writes_vcc) note_scalar(instruction.writes, scalar::vcc, 2);
  if (operation.reads_m0 || instruction.lds) note_scalar(instruction.reads, scalar::m0, 1);
  if (operation.writes_exec) note_scalar(instruction.writes, scalar::exec, 2);
  // s_and_saveexec reads the EXEC that it saves; v_cmpx only writes EXEC.
  const bool saves_exec = operation.writes_exec && operation.unit == Unit::scalar;
  if (saves_exec || operation.name.starts_with("s_cbranch_exec")) {
    note_scalar(instruction.reads, scalar::exec, 2);
  }
}

/// Cache operations share BUFFER's encoding and have modifiers, but no operands.
bool is_cache_operation(std::string_view name) {
  return name.starts_with("buffer_inv") || name.starts_with("buffer_wb");
}

Instruction decode_line(std::string_view text, const std::string& arch) {
  Instruction instruction;
  instruction.text = text;
  const Mnemonic mnemonic = find_operation(text.substr(0, text.find(' ')));
  const Operation& operation = *mnemonic.operation;
  const std::string_view name = operation.name;
  instruction.operation = &operation;
  if (name == "s_waitcnt") {
    parse_waits(text.substr(text.find(' ')), instruction);
    return instruction;
  }
  Line line = parts_of(text, !is_cache_operation(name));
  // Operations of mixed precision are not packed: their sources are whole registers by default.
  if (name.starts_with("v_fma_mix") || name.starts_with("v_mad_mix")) instruction.op_sel_hi = 0;
  instruction.sdwa.used = mnemonic.encoding == "_sdwa";
  take_immediate(name, line.operands, instruction);
  parse_operands(line.operands, targets_of(operation, line), instruction);
  if (has_short_source(name)) extend_short_source(name, instruction);
  if (operation.unit == Unit::scalar_memory) move_scalar_offset(instruction);
  for (const std::string_view modifier : line.modifiers) {
    apply_modifier(modifier, arch, instruction);
  }
  note_registers(instruction);
  return instruction;
}

}  // namespace

Instruction decode(std::string_view text, const std::string& arch) {
  try {
    Instruction instruction = decode_line(text, arch);
    classify_hazards(instruction, arch);
    return instruction;
  } catch (const Fault& fault) {
    throw Fault(fault.kind, fmt::format("{} ({}): {}", text, arch, fault.what()));
  }
}

}  // namespace mi300x
