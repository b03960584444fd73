// Matrix units. A wave computes a tile of a product, sums += left right, from operands in shared
// memory: with mma.sync on NVIDIA and MFMA on CDNA. On the CPU the one thread of a block owns the
// tile. This file has the common parts; one file per hardware defines
//
//   WaveTile<T, M, N>        the M x N sums of a wave in f32; T is Bf16 or F16, M and N multiples
//                            of 16; N may be least_columns, where load() makes no right operand
//     Left, Right            operands, M x tile_depth and tile_depth x N:
//       load<order>(tile, line, depth)   loads from row (left) or column (right) `line` on
//       lines, line(slot)    the rows (left) or columns (right) of which this lane holds a part
//       set(slot, elements)  sets the tile_depth / parts elements of that line of this lane;
//                            the lanes of a line hold different ones, in any order that both
//                            operands share
//     parts, depth_part()    how many lanes share a line, and the index of this lane among them
//     depth_of(e)            the depth of this lane's element e of a line, in operands that load()
//                            or take() made
//     fill(value)
//     multiply_add(left, right)          sums += left right
//     for_each(body)         calls body(row, column, sum) for this lane's elements; it may change
//                            sum
//     reduce_rows(combine)   returns one value per row, in the slots of `Rows` of this lane's rows
//     for_each_in_rows(body) calls body(slot, sum) for this lane's elements, with their row's slot
//     for_each_with(other, body)   calls body(row, column, sum, sum of other); it may change sum
//     for_each_row(body)     calls body(slot, row) for the rows of which this lane holds elements
//     first_in_row()         whether this lane is the first of those that share its rows
//     reduce_columns(combine), for_each_in_columns(body), for_each_column(body), first_in_column()
//                            likewise for columns
//     put(tile, row, column = 0)         this wave stores the sums as T in the tile from there on;
//                            `column` is a multiple of 8
//     sums_are_operands      whether sums in registers have an operand's layout; else put() them
//                            first
//     Left::take(sums, tile, row, depth)
//                            the operand at `depth` of another tile's sums, put at `row`
//     Right::take(sums)      the operand whose depth are the tile_depth rows of another tile's
//                            sums; on CDNA only if M or N is not a multiple of 32
//
// Which lane holds which element depends on the hardware.
#pragma once

// Each file is inlined once, so an include that several of the files below need must be here.
#include "conversions.h"
#include "tile_memory.h"

#if defined(ON_CUDA)
#include "tile_mma.h"
#elif defined(ON_HIP)
#include "tile_mfma.h"
#else
#include "tile_plain.h"
#endif
