// The list of matrix instructions: v_mfma_* of gfx942 and, with different spellings, of gfx90a;
// v_smfmac_* with a structured sparse A.
#include "emulator/matrix_multiply.h"

namespace mi300x {
namespace {

using matrix::add;
using matrix::Shape;
using E = matrix::Element;
using S = matrix::Sum;
using B = matrix::Broadcast;

}  // namespace

void add_matrix_operations(OperationTable& table) {
  // On both chips 32x32x1, 16x16x1 and 4x4x1 of f32 and similar instructions compute several
  // blocks.
  constexpr Shape f32_32x32x1{32, 1, 2, E::f32, E::f32, S::in_turn, B::lanes_and_blocks};
  constexpr Shape f32_16x16x1{16, 1, 4, E::f32, E::f32, S::in_turn, B::lanes_and_blocks};
  constexpr Shape f32_4x4x1{4, 1, 16, E::f32, E::f32, S::in_turn, B::lanes_and_blocks};
  constexpr Shape f32_32x32x2{32, 2, 1, E::f32, E::f32, S::in_turn, B::lanes_of_b};
  constexpr Shape f32_16x16x4{16, 4, 1, E::f32, E::f32, S::in_turn, B::lanes_of_b};
  constexpr Shape i8_32x32x4{32, 4, 2, E::i8, E::i8, S::in_turn, B::lanes_and_blocks};
  constexpr Shape i8_16x16x4{16, 4, 4, E::i8, E::i8, S::in_turn, B::lanes_and_blocks};
  constexpr Shape i8_4x4x4{4, 4, 16, E::i8, E::i8, S::in_turn, B::lanes_and_blocks};

  // gfx942
  add<f32_32x32x1>(table, "v_mfma_f32_32x32x1_2b_f32");
  add<f32_16x16x1>(table, "v_mfma_f32_16x16x1_4b_f32");
  add<f32_4x4x1>(table, "v_mfma_f32_4x4x1_16b_f32");
  add<f32_32x32x2>(table, "v_mfma_f32_32x32x2_f32");
  add<f32_16x16x4>(table, "v_mfma_f32_16x16x4_f32");
  add<Shape{32, 4, 2, E::f16, E::f16, S::aligned, B::lanes_and_blocks}>(
      table, "v_mfma_f32_32x32x4_2b_f16");
  add<Shape{16, 4, 4, E::f16, E::f16, S::aligned, B::lanes_and_blocks}>(
      table, "v_mfma_f32_16x16x4_4b_f16");
  add<Shape{4, 4, 16, E::f16, E::f16, S::aligned, B::lanes_and_blocks}>(table,
                                                                        "v_mfma_f32_4x4x4_16b_f16");
  add<Shape{32, 8, 1, E::f16, E::f16, S::aligned, B::none}>(table, "v_mfma_f32_32x32x8_f16");
  add<Shape{16, 16, 1, E::f16, E::f16, S::aligned, B::none}>(table, "v_mfma_f32_16x16x16_f16");
  add<Shape{32, 4, 2, E::bf16, E::bf16, S::aligned, B::lanes_and_blocks}>(
      table, "v_mfma_f32_32x32x4_2b_bf16");
  add<Shape{16, 4, 4, E::bf16, E::bf16, S::aligned, B::lanes_and_blocks}>(
      table, "v_mfma_f32_16x16x4_4b_bf16");
  add<Shape{4, 4, 16, E::bf16, E::bf16, S::aligned, B::lanes_and_blocks}>(
      table, "v_mfma_f32_4x4x4_16b_bf16");
  add<Shape{32, 8, 1, E::bf16, E::bf16, S::aligned, B::none}>(table, "v_mfma_f32_32x32x8_bf16");
  add<Shape{16, 16, 1, E::bf16, E::bf16, S::aligned, B::none}>(table, "v_mfma_f32_16x16x16_bf16");
  add<i8_32x32x4>(table, "v_mfma_i32_32x32x4_2b_i8");
  add<i8_16x16x4>(table, "v_mfma_i32_16x16x4_4b_i8");
  add<i8_4x4x4>(table, "v_mfma_i32_4x4x4_16b_i8");
  add<Shape{32, 16, 1, E::i8, E::i8, S::in_turn, B::none}>(table, "v_mfma_i32_32x32x16_i8");
  add<Shape{16, 32, 1, E::i8, E::i8, S::in_turn, B::none}>(table, "v_mfma_i32_16x16x32_i8");
  add<Shape{16, 8, 1, E::xf32, E::xf32, S::aligned, B::none}>(table, "v_mfma_f32_16x16x8_xf32");
  add<Shape{32, 4, 1, E::xf32, E::xf32, S::aligned, B::none}>(table, "v_mfma_f32_32x32x4_xf32");
  add<Shape{16, 4, 1, E::f64, E::f64, S::in_turn, B::negation}>(table, "v_mfma_f64_16x16x4_f64");
  add<Shape{4, 4, 4, E::f64, E::f64, S::in_turn, B::negation}>(table, "v_mfma_f64_4x4x4_4b_f64");
  add<Shape{16, 32, 1, E::fp8, E::fp8, S::aligned, B::none}>(table, "v_mfma_f32_16x16x32_fp8_fp8");
  add<Shape{16, 32, 1, E::fp8, E::bf8, S::aligned, B::none}>(table, "v_mfma_f32_16x16x32_fp8_bf8");
  add<Shape{16, 32, 1, E::bf8, E::fp8, S::aligned, B::none}>(table, "v_mfma_f32_16x16x32_bf8_fp8");
  add<Shape{16, 32, 1, E::bf8, E::bf8, S::aligned, B::none}>(table, "v_mfma_f32_16x16x32_bf8_bf8");
  add<Shape{32, 16, 1, E::fp8, E::fp8, S::aligned, B::none}>(table, "v_mfma_f32_32x32x16_fp8_fp8");
  add<Shape{32, 16, 1, E::fp8, E::bf8, S::aligned, B::none}>(table, "v_mfma_f32_32x32x16_fp8_bf8");
  add<Shape{32, 16, 1, E::bf8, E::fp8, S::aligned, B::none}>(table, "v_mfma_f32_32x32x16_bf8_fp8");
  add<Shape{32, 16, 1, E::bf8, E::bf8, S::aligned, B::none}>(table, "v_mfma_f32_32x32x16_bf8_bf8");

  // gfx942, A with 2 of 4 kept
  constexpr B indices = B::set_of_indices;
  add<Shape{16, 32, 1, E::f16, E::f16, S::aligned, indices, true}>(table,
                                                                   "v_smfmac_f32_16x16x32_f16");
  add<Shape{32, 16, 1, E::f16, E::f16, S::aligned, indices, true}>(table,
                                                                   "v_smfmac_f32_32x32x16_f16");
  add<Shape{16, 32, 1, E::bf16, E::bf16, S::aligned, indices, true}>(table,
                                                                     "v_smfmac_f32_16x16x32_bf16");
  add<Shape{32, 16, 1, E::bf16, E::bf16, S::aligned, indices, true}>(table,
                                                                     "v_smfmac_f32_32x32x16_bf16");
  add<Shape{16, 64, 1, E::i8, E::i8, S::in_turn, indices, true}>(table, "v_smfmac_i32_16x16x64_i8");
  add<Shape{32, 32, 1, E::i8, E::i8, S::in_turn, indices, true}>(table, "v_smfmac_i32_32x32x32_i8");
  add<Shape{16, 64, 1, E::fp8, E::fp8, S::aligned, indices, true}>(table,
                                                                   "v_smfmac_f32_16x16x64_fp8_fp8");
  add<Shape{16, 64, 1, E::fp8, E::bf8, S::aligned, indices, true}>(table,
                                                                   "v_smfmac_f32_16x16x64_fp8_bf8");
  add<Shape{16, 64, 1, E::bf8, E::fp8, S::aligned, indices, true}>(table,
                                                                   "v_smfmac_f32_16x16x64_bf8_fp8");
  add<Shape{16, 64, 1, E::bf8, E::bf8, S::aligned, indices, true}>(table,
                                                                   "v_smfmac_f32_16x16x64_bf8_bf8");
  add<Shape{32, 32, 1, E::fp8, E::fp8, S::aligned, indices, true}>(table,
                                                                   "v_smfmac_f32_32x32x32_fp8_fp8");
  add<Shape{32, 32, 1, E::fp8, E::bf8, S::aligned, indices, true}>(table,
                                                                   "v_smfmac_f32_32x32x32_fp8_bf8");
  add<Shape{32, 32, 1, E::bf8, E::fp8, S::aligned, indices, true}>(table,
                                                                   "v_smfmac_f32_32x32x32_bf8_fp8");
  add<Shape{32, 32, 1, E::bf8, E::bf8, S::aligned, indices, true}>(table,
                                                                   "v_smfmac_f32_32x32x32_bf8_bf8");

  // gfx90a
  add<f32_32x32x1>(table, "v_mfma_f32_32x32x1f32");
  add<f32_16x16x1>(table, "v_mfma_f32_16x16x1f32");
  add<f32_4x4x1>(table, "v_mfma_f32_4x4x1f32");
  add<f32_32x32x2>(table, "v_mfma_f32_32x32x2f32");
  add<f32_16x16x4>(table, "v_mfma_f32_16x16x4f32");
  add<Shape{32, 4, 2, E::f16, E::f16, S::in_fours, B::lanes_and_blocks}>(table,
                                                                         "v_mfma_f32_32x32x4f16");
  add<Shape{16, 4, 4, E::f16, E::f16, S::in_fours, B::lanes_and_blocks}>(table,
                                                                         "v_mfma_f32_16x16x4f16");
  add<Shape{4, 4, 16, E::f16, E::f16, S::in_fours, B::lanes_and_blocks}>(table,
                                                                         "v_mfma_f32_4x4x4f16");
  add<Shape{32, 8, 1, E::f16, E::f16, S::in_fours, B::lanes_of_b}>(table, "v_mfma_f32_32x32x8f16");
  add<Shape{16, 16, 1, E::f16, E::f16, S::in_fours, B::lanes_of_b}>(table,
                                                                    "v_mfma_f32_16x16x16f16");
  add<Shape{32, 4, 2, E::bf16, E::bf16, S::in_fours, B::lanes_and_blocks}>(
      table, "v_mfma_f32_32x32x4bf16_1k");
  add<Shape{16, 4, 4, E::bf16, E::bf16, S::in_fours, B::lanes_and_blocks}>(
      table, "v_mfma_f32_16x16x4bf16_1k");
  add<Shape{4, 4, 16, E::bf16, E::bf16, S::in_fours, B::lanes_and_blocks}>(
      table, "v_mfma_f32_4x4x4bf16_1k");
  add<Shape{32, 8, 1, E::bf16, E::bf16, S::in_fours, B::lanes_of_b}>(table,
                                                                     "v_mfma_f32_32x32x8bf16_1k");
  add<Shape{16, 16, 1, E::bf16, E::bf16, S::in_fours, B::lanes_of_b}>(table,
                                                                      "v_mfma_f32_16x16x16bf16_1k");
  add<Shape{32, 2, 2, E::bf16, E::bf16, S::in_pairs, B::lanes_and_blocks}>(
      table, "v_mfma_f32_32x32x2bf16");
  add<Shape{16, 2, 4, E::bf16, E::bf16, S::in_pairs, B::lanes_and_blocks}>(
      table, "v_mfma_f32_16x16x2bf16");
  add<Shape{4, 2, 16, E::bf16, E::bf16, S::in_pairs, B::lanes_and_blocks}>(table,
                                                                           "v_mfma_f32_4x4x2bf16");
  add<Shape{32, 4, 1, E::bf16, E::bf16, S::in_pairs, B::lanes_of_b}>(table,
                                                                     "v_mfma_f32_32x32x4bf16");
  add<Shape{16, 8, 1, E::bf16, E::bf16, S::in_pairs, B::lanes_of_b}>(table,
                                                                     "v_mfma_f32_16x16x8bf16");
  add<i8_32x32x4>(table, "v_mfma_i32_32x32x4i8");
  add<i8_16x16x4>(table, "v_mfma_i32_16x16x4i8");
  add<i8_4x4x4>(table, "v_mfma_i32_4x4x4i8");
  add<Shape{32, 8, 1, E::i8, E::i8, S::in_turn, B::lanes_of_b}>(table, "v_mfma_i32_32x32x8i8");
  add<Shape{16, 16, 1, E::i8, E::i8, S::in_turn, B::lanes_of_b}>(table, "v_mfma_i32_16x16x16i8");
  add<Shape{16, 4, 1, E::f64, E::f64, S::in_turn, B::none}>(table, "v_mfma_f64_16x16x4f64");
  add<Shape{4, 4, 4, E::f64, E::f64, S::in_turn, B::none}>(table, "v_mfma_f64_4x4x4f64");
}

}  // namespace mi300x
