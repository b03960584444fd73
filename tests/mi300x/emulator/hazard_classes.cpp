// Classifies an instruction for the rules and queues of hazards.cpp, once, when it is decoded.
#include "emulator/hazard_rules.h"
#include "emulator/hazards.h"

namespace mi300x {
namespace {

using namespace trait;

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}

/// The numbers are those of LLVM's machine models of both chips.
u8 passes_of(std::string_view name, bool is_gfx90a) {
  if (has(name, "f64_")) return has(name, "4x4x4") && !has(name, "16x16x4") ? 4 : 8;
  if (has(name, "_4x4x")) return 2;
  const bool wide = has(name, "_32x32x");
  if (is_gfx90a) return wide ? 16 : 8;
  if (name.starts_with("v_smfmac")) return wide ? 8 : 4;
  const std::string_view after = name.substr(name.find(wide ? "32x32x" : "16x16x") + 6);
  if (wide)
    return after.starts_with("4_xf32") || after.starts_with("8") || after.starts_with("16") ? 8
                                                                                            : 16;
  return after.starts_with("8_xf32") || after.starts_with("16") || after.starts_with("32") ? 4 : 8;
}

u32 matrix_traits(std::string_view name, bool is_gfx90a, u8 passes) {
  u32 traits = matrix;
  if (passes == 2) traits |= two_passes;
  if (has(name, "_f64_"))
    return traits | dgemm | not_xdl | (has(name, "_16x16x4") ? dgemm_16 : dgemm_4);
  const bool f32 = !is_gfx90a && name.ends_with("_f32");
  return traits | (f32 ? sgemm | not_xdl : xdl);
}

bool loads_into_lds(const Instruction& instruction) {
  return instruction.lds || has(instruction.operation->name, "_load_lds_");
}

u32 traits_of(const Instruction& instruction, bool is_gfx90a, u8 passes) {
  const Operation& operation = *instruction.operation;
  const std::string_view name = operation.name;
  const auto writes = [&](unsigned index, unsigned count) {
    return touches(instruction.writes, first_scalar + index, count);
  };
  u32 traits = 0;
  switch (operation.unit) {
    case Unit::vector:
    case Unit::transcendental:
      traits |= valu | plain;
      traits |= operation.unit == Unit::transcendental ? transcendental : not_transcendental;
      traits |= name.starts_with("v_dot") ? dot : not_dot;
      if (instruction.dpp.used) traits |= dpp;
      if (instruction.sdwa.used ? instruction.sdwa.target != 6 : (instruction.op_sel & 8) != 0)
        traits |= part_written;
      if (name.starts_with("v_readlane") || name.starts_with("v_readfirstlane"))
        traits |= read_lane | any_lane;
      if (name.starts_with("v_writelane")) traits |= any_lane;
      if ((traits & any_lane) && !name.starts_with("v_readfirstlane")) traits |= lane_select;
      if (name.starts_with("v_div_fmas")) traits |= div_fmas;
      if (name == "v_fma_f64" || name == "v_fmac_f64") traits |= fma_f64;
      if (writes(scalar::vcc, 2)) traits |= writes_vcc;
      if (writes(scalar::exec, 2)) traits |= writes_exec;
      break;
    case Unit::matrix:
      traits |= valu | not_transcendental | matrix_traits(name, is_gfx90a, passes);
      break;
    case Unit::global:
    case Unit::flat:
    case Unit::scratch:
      traits |= vmem | memory;
      for (const Operand& source : instruction.sources)
        if (source.kind == OperandKind::vector && source.words > 2) traits |= wide_store;
      if (loads_into_lds(instruction)) traits |= reads_m0;
      break;
    case Unit::local:
      traits |= memory;
      if (has(name, "addtid")) traits |= reads_m0;
      break;
    case Unit::scalar:
      if (writes(scalar::m0, 1)) traits |= salu_writes_m0;
      if (name.starts_with("s_movrel")) traits |= reads_m0;
      if (name.starts_with("s_setreg")) traits |= set_register | get_or_set_register;
      if (name.starts_with("s_getreg")) traits |= get_or_set_register;
      break;
    case Unit::program:
      if (name.starts_with("s_sendmsg")) traits |= reads_m0;
      break;
    case Unit::scalar_memory:
      break;
  }
  return traits;
}

/// Returns which counter counts an instruction's completion, with flags.
u8 queue_of(const Instruction& instruction) {
  const Operation& operation = *instruction.operation;
  const std::string_view name = operation.name;
  switch (operation.unit) {
    case Unit::program:
      return name == "s_waitcnt" ? queue::wait : u8(queue::none);
    case Unit::scalar_memory:
      return instruction.target_count ? queue::scalar : queue::none;
    case Unit::global:
    case Unit::scratch:
      // Cache maintenance is not counted: vmcnt(0) after it waits for the operations before it.
      if (name.starts_with("buffer_inv") || name.starts_with("buffer_wb")) return queue::none;
      return queue::vector | (loads_into_lds(instruction) ? queue::writes_local : 0);
    case Unit::flat:
      return queue::flat | (has(name, "load") ? 0 : queue::writes_local);
    case Unit::local: {
      const bool reads = has(name, "read") || has(name, "permute") || has(name, "swizzle");
      return queue::local | (reads ? 0 : queue::writes_local);
    }
    default:
      return queue::none;
  }
}

/// Returns each register's bit in a word; several registers share one.
u64 marks(const std::vector<RegisterRange>& ranges) {
  u64 marks = 0;
  for (const RegisterRange& range : ranges)
    for (unsigned n = 0; n < range.count; ++n) marks |= register_mark(range.first + n);
  return marks;
}

}  // namespace

void classify_hazards(Instruction& instruction, const std::string& arch) {
  const bool is_gfx90a = arch == "gfx90a";
  const std::string_view name = instruction.operation->name;
  HazardClass& result = instruction.hazards;
  result = {};
  if (instruction.operation->unit == Unit::matrix) result.passes = passes_of(name, is_gfx90a);
  if (name == "s_nop") result.states = u8((instruction.immediate & 15) + 1);
  result.queue = queue_of(instruction);
  result.registers = marks(instruction.reads) | marks(instruction.writes);
  const u32 traits = traits_of(instruction, is_gfx90a, result.passes);
  u64 bit = 1;
  for (const Rule& rule : wait_state_rules()) {
    if (rule.chips & (is_gfx90a ? chip::gfx90a : chip::gfx942)) {
      if ((traits & rule.first) == rule.first && can_begin(rule.meeting, instruction))
        result.first |= bit;
      if ((traits & rule.second) == rule.second && can_end(rule.meeting, instruction))
        result.second |= bit;
    }
    bit <<= 1;
  }
}

}  // namespace mi300x
