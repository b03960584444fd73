// Token and position embeddings of a transformer, and their gradients without atomics: the host has
// sorted the batch's tokens, so that all rows that add to one embedding are neighbours.
#include "rows.h"
#include "step_state.h"

namespace {

/// Columns of a block's tile. Tiles are wide, because most tokens of a batch belong to few
/// embeddings.
constexpr int embedding_columns = 256;

template <typename T>
DEVICE void embed(T* x, const T* embedding, const T* positions, const i32* tokens,
                  BatchChoice choice, u64 count, u64 sequence, u64 width) {
  tokens += choice.index() * count;
  const u64 row_packs = width / row_pack;
  const Tiles tiles = my_tiles(count * row_packs, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i >= count * row_packs) continue;
    const u64 row = i / row_packs, column = i % row_packs * row_pack;
    const u64 token = static_cast<u64>(tokens[row]);
    Floats sum = load_floats(embedding + token * width + column);
    if (positions != nullptr) {
      sum = sum + load_floats(positions + row % sequence * width + column);
    }
    store_floats(x + row * width + column, sum);
  }
}

template <typename T>
DEVICE void embedding_gradient(T* gradient, const T* dx, const i32* tokens, const i32* order,
                               const i32* starts, BatchChoice choice, u64 count, u64 width) {
  const u64 batch = choice.index();
  tokens += batch * count;
  order += batch * count;
  starts += batch * (count + 1);
  const u64 begin = static_cast<u64>(starts[block_index()]);
  const u64 end = static_cast<u64>(starts[block_index() + 1]);
  if (begin == end) return;
  T* const row_of_token = gradient + static_cast<u64>(tokens[order[begin]]) * width;
  sum_over_rows<1, embedding_columns>(
      begin, end, u64{block_index_y()} * embedding_columns, width,
      [&](u64 place, u64 column, Floats* totals) {
        totals[0] = totals[0] + load_floats(dx + static_cast<u64>(order[place]) * width + column);
      },
      [&](u64 column, int, float total) {
        row_of_token[column] = encode<T>(decode(row_of_token[column]) + total);
      });
}

template <typename T>
DEVICE void position_gradient(T* gradient, const T* dx, u64 batch, u64 sequence, u64 width,
                              int add) {
  const u64 elements = sequence * width;
  for_each_pack_of_all(elements, [&](u64 i) {
    Floats total = add != 0 ? load_floats(gradient + i) : floats_of(0);
    for (u64 b = 0; b < batch; ++b) total = total + load_floats(dx + b * elements + i);
    store_floats(gradient + i, total);
  });
}

}  // namespace

/// x[count, width] = the embedding of each token plus that of its position, unless that table is null.
#define EMBED_KERNELS(T, suffix)                                                                   \
  KERNEL(embed_##suffix, T* x, const T* embedding, const T* positions, const i32* tokens,          \
         BatchChoice choice, u64 count, u64 sequence, u64 width) {                                 \
    embed(x, embedding, positions, tokens, choice, count, sequence, width);                        \
  }                                                                                                \
  /* Adds the sums of dx over equal tokens to their rows of `gradient`. Tokens of a batch in the   \
     order `order`, equal ones from starts[i] to starts[i + 1]; grid: count x tiles of columns. */ \
  KERNEL(embedding_gradient_##suffix, T* gradient, const T* dx, const i32* tokens,                 \
         const i32* order, const i32* starts, BatchChoice choice, u64 count, u64 width) {          \
    embedding_gradient(gradient, dx, tokens, order, starts, choice, count, width);                 \
  }                                                                                                \
  /* gradient[sequence, width] = the sum of dx over the batch, `add`ed to what is there. */        \
  KERNEL(position_gradient_##suffix, T* gradient, const T* dx, u64 batch, u64 sequence, u64 width, \
         int add) {                                                                                \
    position_gradient(gradient, dx, batch, sequence, width, add);                                  \
  }
/// to[count] = those numbers of the batch.
KERNEL(take_batch, i32* to, const i32* numbers, BatchChoice choice, u64 count) {
  numbers += choice.index() * count;
  const Tiles tiles = my_tiles(count, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i < count) to[i] = numbers[i];
  }
}
EMBED_KERNELS(float, f32)
EMBED_KERNELS(Bf16, bf16)
EMBED_KERNELS(F16, f16)
