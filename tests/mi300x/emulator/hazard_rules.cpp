// The table of wait-state rules.
#include "emulator/hazard_rules.h"

#include <array>

namespace mi300x {
namespace {

using namespace trait;
using namespace chip;

// Sources: "ISA" is the table "Required User-Inserted NOPs" of AMD's CDNA 3 (CDNA 2) ISA manual;
// other names are functions of LLVM's GCNHazardRecognizer (release 19). Passes and kinds of matrix
// instructions are those of LLVM's SISchedule and VOP3PInstructions.
constexpr Rule rules[] = {
    // ISA; checkVMEMHazards
    {both, valu, vmem, Meeting::scalar_read, 5, 0, "VALU writes SGPR, VMEM reads it"},
    // ISA; checkRWLaneHazards
    {both, valu, lane_select, Meeting::select_read, 4, 0,
     "VALU writes SGPR, v_readlane or v_writelane selects the lane by it"},
    // ISA; checkDivFMasHazards
    {both, valu | writes_vcc, div_fmas, Meeting::always, 4, 0, "VALU writes VCC, v_div_fmas"},
    // ISA; checkDPPHazards
    {both, valu | writes_exec, dpp, Meeting::always, 5, 0, "VALU writes EXEC, DPP"},
    {both, valu, dpp, Meeting::vector_read, 2, 0, "VALU writes VGPR, DPP reads it"},
    // ISA; checkGetRegHazards, checkSetRegHazards
    {both, set_register, get_or_set_register, Meeting::same_register, 2, 0,
     "s_setreg, s_getreg or s_setreg of the same register"},
    // ISA; checkReadM0Hazards
    {both, salu_writes_m0, reads_m0, Meeting::always, 1, 0, "SALU writes M0, it is read"},
    // ISA; checkVALUHazards: data of more than 64 bits leaves the registers late
    {gfx942, wide_store, valu, Meeting::data_written, 2, 0,
     "VALU writes the data of a store of more than 64 bits"},
    {gfx90a, wide_store, valu, Meeting::data_written, 1, 0,
     "VALU writes the data of a store of more than 64 bits"},
    // ISA; checkVALUHazards: hasTransForwardingHazard, hasDstSelForwardingHazard
    {gfx942, transcendental, valu | not_transcendental, Meeting::vector_read, 1, 0,
     "transcendental VALU writes VGPR, another VALU reads it"},
    {gfx942, part_written, valu, Meeting::vector_read, 1, 0,
     "VALU writes a part of a VGPR, VALU reads it"},
    // ISA; checkVALUHazards: hasVDecCoExecHazard
    {gfx942, valu, valu, Meeting::scalar_read, 2, 0, "VALU writes SGPR or VCC, VALU reads it"},
    {gfx942, valu | writes_exec, any_lane, Meeting::always, 4, 0,
     "VALU writes EXEC, v_readlane, v_readfirstlane or v_writelane"},
    {gfx942, valu, read_lane, Meeting::vector_read, 1, 0,
     "VALU writes VGPR, v_readlane or v_readfirstlane reads it"},

    // Matrix instructions: ISA; checkMAIHazards90A
    {both, plain | writes_exec, matrix, Meeting::always, 4, 0, "VALU writes EXEC, matrix"},
    {both, not_dot, matrix, Meeting::read_as_ab, 2, 0, "VALU writes VGPR, matrix reads it"},
    {both, not_dot, matrix, Meeting::read_as_same_c, 2, 0, "VALU writes VGPR, matrix reads it"},
    {both, not_dot, matrix, Meeting::read_as_other_c, 2, 0, "VALU writes VGPR, matrix reads it"},
    {both, xdl, matrix, Meeting::read_as_ab, 3, 1, "matrix writes VGPR, matrix reads it as A or B"},
    {gfx942, sgemm, matrix, Meeting::read_as_ab, 2, 1,
     "f32 matrix writes VGPR, matrix reads it as A or B"},
    {both, dgemm_4, matrix, Meeting::read_as_ab, 6, 0,
     "f64 4x4x4 writes VGPR, matrix reads it as A or B"},
    {both, dgemm_16, matrix, Meeting::read_as_ab, 11, 0,
     "f64 16x16x4 writes VGPR, matrix reads it as A or B"},
    {gfx942, two_passes, matrix, Meeting::read_as_same_c, 2, 0,
     "matrix of 2 passes writes VGPR, matrix reads it as C"},
    {both, dgemm_4, dgemm_4, Meeting::read_as_same_c, 4, 0,
     "f64 4x4x4 writes VGPR, f64 4x4x4 reads it as C"},
    {gfx942, xdl, matrix, Meeting::read_as_other_c, 1, 1,
     "matrix writes VGPR, matrix reads a part of it as C"},
    {gfx942, sgemm, matrix | not_xdl, Meeting::read_as_other_c, 0, 1,
     "f32 matrix writes VGPR, f32 or f64 matrix reads a part of it as C"},
    {gfx90a, xdl, xdl, Meeting::read_as_other_c, 0, 1,
     "matrix writes VGPR, matrix reads a part of it as C"},
    {gfx90a, xdl, dgemm, Meeting::read_as_other_c, 1, 1,
     "matrix writes VGPR, f64 matrix reads a part of it as C"},
    {both, dgemm_4, matrix | not_xdl, Meeting::read_as_other_c, 4, 0,
     "f64 4x4x4 writes VGPR, f32 or f64 matrix reads a part of it as C"},
    {both, dgemm_16, matrix | not_xdl, Meeting::read_as_other_c, 9, 0,
     "f64 16x16x4 writes VGPR, f32 or f64 matrix reads a part of it as C"},

    // ISA; checkMAIVALUHazards
    {both, xdl, memory, Meeting::vector_read, 3, 1, "matrix writes VGPR, memory instruction reads"},
    {both, xdl, plain, Meeting::vector_read, 3, 1, "matrix writes VGPR, VALU reads it"},
    {gfx942, sgemm, memory, Meeting::vector_read, 2, 1,
     "f32 matrix writes VGPR, memory instruction reads it"},
    {gfx942, sgemm, plain, Meeting::vector_read, 2, 1, "f32 matrix writes VGPR, VALU reads it"},
    {both, dgemm_4, memory, Meeting::vector_read, 9, 0,
     "f64 4x4x4 writes VGPR, memory instruction reads it"},
    {both, dgemm_4, plain, Meeting::vector_read, 6, 0, "f64 4x4x4 writes VGPR, VALU reads it"},
    {both, dgemm_16, memory, Meeting::vector_read, 18, 0,
     "f64 16x16x4 writes VGPR, memory instruction reads it"},
    {both, dgemm_16, plain, Meeting::vector_read, 11, 0, "f64 16x16x4 writes VGPR, VALU reads it"},
    {both, xdl, plain, Meeting::vector_written, 3, 1, "matrix writes VGPR, VALU writes it"},
    {both, xdl, memory, Meeting::vector_written, 3, 1, "matrix writes VGPR, a load writes it"},
    {gfx942, sgemm, plain, Meeting::vector_written, 2, 1, "f32 matrix writes VGPR, VALU writes it"},
    {gfx942, sgemm, memory, Meeting::vector_written, 2, 1,
     "f32 matrix writes VGPR, a load writes it"},
    {both, dgemm_4, plain, Meeting::vector_written, 6, 0, "f64 4x4x4 writes VGPR, VALU writes it"},
    {both, dgemm_4, memory, Meeting::vector_written, 6, 0,
     "f64 4x4x4 writes VGPR, a load writes it"},
    {both, dgemm_16, plain, Meeting::vector_written, 11, 0,
     "f64 16x16x4 writes VGPR, VALU writes it"},
    {both, dgemm_16, memory, Meeting::vector_written, 11, 0,
     "f64 16x16x4 writes VGPR, a load writes it"},
    // The number is one less than the passes: the table holds what is left of the last pass.
    {both, xdl, plain, Meeting::c_written, -1, 1, "matrix reads C, VALU writes it"},
    {both, xdl, memory, Meeting::c_written, -1, 1, "matrix reads C, a load writes it"},
    {both, dgemm, fma_f64, Meeting::always, 2, 0, "f64 matrix, v_fma_f64 or v_fmac_f64"},
    {both, dot, plain, Meeting::read_as_product, 3, 0, "v_dot writes VGPR, VALU reads it"},
    {both, dot, memory, Meeting::vector_read, 3, 0, "v_dot writes VGPR, memory instruction reads"},
    {both, dot, plain, Meeting::written_by_other, 3, 0,
     "v_dot writes VGPR, another VALU writes it"},
    {both, dot, memory, Meeting::vector_written, 3, 0, "v_dot writes VGPR, a load writes it"},
};

constexpr std::size_t rule_count = std::size(rules);
static_assert(rule_count <= 64);
constexpr int most_passes = 16;

/// For each number of wait states, the rules that require more.
constexpr auto beyond = [] {
  std::array<u64, longest_wait> sets{};
  for (std::size_t n = 0; n < rule_count; ++n)
    for (int states = 0; states < rules[n].needed(most_passes); ++states)
      sets[std::size_t(states)] |= u64{1} << n;  // out of bounds if longest_wait is too small
  return sets;
}();

}  // namespace

std::span<const Rule> wait_state_rules() {
  return rules;
}

u64 rules_beyond(u64 states) {
  return states < longest_wait ? beyond[states] : 0;
}

}  // namespace mi300x
