// Questions that only hardware can answer: whether words arrive whole, whether atomics and fences
// reach all multiprocessors and devices, what the clock is. Waiting is always bounded by a number of
// looks, so that a wrong answer cannot hang the device.
#include "wave.h"

namespace {

/// Both halves of the word that round `round` stores in every place.
DEVICE u64 word_of_round(u32 round) {
  return u64{round} << 32 | round;
}

}  // namespace

/// Stores the words of rounds first ... first + rounds - 1, one after the other, in each of the n
/// words. One thread stores one word.
KERNEL(store_rounds, u64* words, u32 n, u32 first, u32 rounds) {
  const Tiles tiles = my_tiles(n, block_threads());
  for (u32 round = first; round < first + rounds; ++round) {
    for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
      const u64 i = tile + thread_index();
      if (i < n) publish(words + i, word_of_round(round));
    }
  }
}

/// Looks at each of the n words until it is that of round `last`, at most `looks` times. Adds to
/// found[0] how often its halves differed, to found[1] how often it had changed, to found[2] one if
/// the last round was not seen. One thread looks at one word.
KERNEL(watch_rounds, const u64* words, u32 n, u32 last, u32 looks, u32* found) {
  const Tiles tiles = my_tiles(n, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i >= n) continue;
    u32 torn = 0, changed = 0, look = 0;
    u64 before = observe(words + i);
    for (; look < looks; ++look) {
      const u64 word = observe(words + i);
      torn += static_cast<u32>(word >> 32) != static_cast<u32>(word);
      changed += word != before;
      before = word;
      if (word == word_of_round(last)) break;
    }
    if (torn > 0) atomic_add(found, torn);
    if (changed > 0) atomic_add(found + 1, changed);
    if (look == looks) atomic_add(found + 2, 1u);
  }
}

/// Every block stores `round` in its `part` numbers, and the last block to arrive looks at those of
/// all. Adds to *wrong how many were not `round`. *arrived is zero before and after.
KERNEL(last_block_looks, u32* numbers, u32 part, u32 round, u32* arrived, u32* wrong) {
  u32* const mine = numbers + u64{block_index()} * part;
  for (u32 i = thread_index(); i < part; i += block_threads()) mine[i] = round;
  if (!is_last_block(arrived, grid_blocks())) return;
  u32 bad = 0;
  for (u64 i = thread_index(); i < u64{grid_blocks()} * part; i += block_threads()) {
    bad += numbers[i] != round;
  }
  if (bad > 0) atomic_add(wrong, bad);
}

/// Every thread adds 1 to each sum, and sets *largest to its number in the grid, counted from 1, if
/// that is greater. The first thread of each block increments *turns by compare-and-exchange.
KERNEL(count_threads, u32* sum, u64* wide_sum, float* float_sum, u32* largest, u32* turns) {
  const u32 number = block_index() * block_threads() + thread_index() + 1;
  atomic_add(sum, 1u);
  atomic_add(wide_sum, u64{1});
  atomic_add(float_sum, 1.0f);
  atomic_max(largest, number);
  if (thread_index() != 0) return;
  for (u32 seen = 0, tries = 0; tries < 1000000; ++tries) {
    const u32 found = atomic_compare_exchange(turns, seen, seen + 1);
    if (found == seen) break;
    seen = found;
  }
}

/// Stores `round` in the n numbers, which another device may read, and then in *flag. One block.
KERNEL(send_numbers, u32* numbers, u32 n, u32* flag, u32 round) {
  for (u32 i = thread_index(); i < n; i += block_threads()) publish(numbers + i, round);
  system_fence();
  barrier();
  if (thread_index() == 0) {
    system_fence();
    publish(flag, round);
  }
}

/// Waits until *flag is `round`, at most `looks` looks, and looks at the n numbers. Adds to found[0]
/// how many are not `round`, and 1 to found[1] if the flag did not come. One block.
KERNEL(receive_numbers, const u32* numbers, u32 n, const u32* flag, u32 round, u32 looks,
       u32* found) {
  u32 look = 0;
  while (observe(flag) != round && look < looks) {
    ++look;
    yield();
  }
  if (look == looks) {
    if (thread_index() == 0) atomic_add(found + 1, 1u);
    return;
  }
  system_fence();
  u32 bad = 0;
  for (u32 i = thread_index(); i < n; i += block_threads()) bad += observe(numbers + i) != round;
  if (bad > 0) atomic_add(found, bad);
}

/// ticks[b]: the clock of block b's first thread.
KERNEL(read_ticks, u64* ticks) {
  if (thread_index() == 0) ticks[block_index()] = wall_ticks();
}
