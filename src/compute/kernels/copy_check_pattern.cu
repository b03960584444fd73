// A pattern that differs in every word, to prove that a copy arrived completely.
#include "wave.h"

namespace {

/// Word `i` of the pattern; src/measure/benchmarks/copy/copy_pattern.cpp has the same formula for the
/// host.
DEVICE u64 pattern_word(u64 i, u64 seed) {
  return (i + seed) * 0x9E3779B97F4A7C15ull;
}

}  // namespace

KERNEL(fill_pattern, u64* words, u64 n, u64 seed) {
  const Tiles tiles = my_tiles(n, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i < n) words[i] = pattern_word(i, seed);
  }
}

/// wrong[block]: number of the block's words that differ from the pattern.
KERNEL(check_pattern, u64* wrong, const u64* words, u64 n, u64 seed) {
  const Tiles tiles = my_tiles(n, block_threads());
  u64 count = 0;
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i < n && words[i] != pattern_word(i, seed)) ++count;
  }
  SHARED u64 scratch[most_waves];
  count = block_reduce(count, Sum{}, scratch);
  if (thread_index() == 0) wrong[block_index()] = count;
}
