// Matrix units. A wave computes a tile of a product, sums += left right, from operands in shared
// memory: by mma.sync on NVIDIA, MFMA on CDNA; on the CPU the one thread of a block owns the tile.
// This file has the common parts; there is one file per hardware with its
//
//   WaveTile<T, M, N>        the M x N sums of a wave in f32; T is Bf16 or F16, M and N multiples
//                            of 16
//     Left, Right            operands, M x tile_depth and tile_depth x N:
//       load<order>(tile, line, depth)   from row (of left) or column (of right) `line` on
//       lines, line(slot)      the rows (of left) or columns (of right) that this lane has a part
//       of set(slot, elements)    tile_depth / parts elements of that line; the lanes of a line
//       have
//                              different ones, in any order that both operands have
//     parts, depth_part()    how many lanes share a line, and which of them this one is
//     depth_of(e)            the depth of element e that this lane has of a line, in operands that
//                            load() or take() made
//     fill(value)
//     multiply_add(left, right)          sums += left right
//     for_each(body)         body(row, column, sum) for the elements of this lane; sum may change
//     reduce_rows(combine)   one value per row, in the slots of `Rows` that this lane's rows have
//     for_each_in_rows(body) body(slot, sum): each element of this lane with its row's slot
//     for_each_with(other, body)   body(row, column, sum, sum of other); sum may change
//     for_each_row(body)     body(slot, row): the rows of which this lane has elements
//     first_in_row()         whether this lane is the first of those that share its rows
//     put(tile, row, column = 0)         stores the sums as T in the tile from there on, for this
//                            wave; `column` is a multiple of 8
//     sums_are_operands      whether registers hold sums as an operand wants; else put() them first
//     Left::take(sums, tile, row, depth)
//                            the operand at `depth` of another tile's sums, put at `row`
//
// Which lane holds which element depends on the hardware.
#pragma once

// Each file is inlined once: what several of those below include must not be left to one of them.
#include "conversions.h"
#include "tile_memory.h"

#if defined(ON_CUDA)
#include "tile_mma.h"
#elif defined(ON_HIP)
#include "tile_mfma.h"
#else
#include "tile_plain.h"
#endif
