// Checksums of blocks of memory, and patterns that show which bits memory cannot keep.
#include "checksum_block.h"
#include "element_hash.h"
#include "wave.h"

namespace {

/// A bijection of the word for each index, so that one wrong word always changes the sum.
DEVICE u64 word_hash(u64 word, u64 index) {
  return mix(word + (index + 1) * 0x9E3779B97F4A7C15ull);
}

DEVICE u64 last_word(const u8* bytes, u64 count) {
  u64 word = 0;
  for (u64 i = 0; i < count; ++i) word |= static_cast<u64>(bytes[i]) << (8 * i);
  return word;
}

/// Word `i` of a pattern: 0 all zeros, 1 alternating bits, 2 its own number, 3 a hash of it. Odd
/// patterns of a pair have all bits inverted.
DEVICE u64 pattern_word(u64 i, u32 pattern, u64 seed) {
  u64 word = 0;
  switch (pattern / 2) {
    case 0:
      break;
    case 1:
      word = i % 2 == 0 ? 0x5555555555555555ull : 0xAAAAAAAAAAAAAAAAull;
      break;
    case 2:
      word = i * 8;
      break;
    default:
      word = hash_at(i, seed);
  }
  return pattern % 2 == 0 ? word : ~word;
}

constexpr u64 loads_in_flight = 8;

/// Counts this block at the multiprocessor that runs it.
DEVICE void note_multiprocessor(u32* blocks_run) {
  if (thread_index() == 0) {
    atomic_add(blocks_run + multiprocessor_index() % multiprocessor_numbers, u32{1});
  }
}

}  // namespace

/// sums[i]: the checksum of blocks[i], the sum of its words' hashes modulo 2^64, which does not
/// depend on the order of the additions. blocks_run[i]: thread blocks that multiprocessor i ran.
KERNEL(checksum_blocks, u64* sums, const ChecksumBlock* blocks, u64 count, u32* blocks_run) {
  SHARED u64 scratch[most_waves];
  note_multiprocessor(blocks_run);
  for (u64 b = block_index(); b < count; b += grid_blocks()) {
    const u64* const words = reinterpret_cast<const u64*>(blocks[b].address);
    const u64 bytes = blocks[b].bytes, n = bytes / 8, threads = block_threads();
    u64 sum = 0, i = thread_index();
    for (; i + (loads_in_flight - 1) * threads < n; i += loads_in_flight * threads) {
      u64 word[loads_in_flight];
      UNROLL_LOOP
      for (u64 u = 0; u < loads_in_flight; ++u) word[u] = words[i + u * threads];
      UNROLL_LOOP
      for (u64 u = 0; u < loads_in_flight; ++u) sum += word_hash(word[u], i + u * threads);
    }
    for (; i < n; i += threads) sum += word_hash(words[i], i);
    if (thread_index() == 0 && bytes % 8 != 0) {
      sum += word_hash(last_word(reinterpret_cast<const u8*>(words + n), bytes % 8), n);
    }
    sum = block_reduce(sum, Sum{}, scratch);
    if (thread_index() == 0) sums[b] = sum;
    barrier();
  }
}

/// Inverts the bits of `mask` in a word.
KERNEL(flip_bits, u64* word, u64 mask) {
  if (block_index() == 0 && thread_index() == 0) *word ^= mask;
}

/// Compares every word with pattern `expected` and then writes pattern `next` into it, so that each
/// word is read before and after every change of its neighbours. found[3 * block]: number of words
/// that differ; then the index of the first one, and what it held. blocks_run: as checksum_blocks().
KERNEL(march_pattern, u64* found, u64* words, u64 n, u32 expected, u32 next, u64 seed,
       u32* blocks_run) {
  note_multiprocessor(blocks_run);
  const Tiles tiles = my_tiles(n, block_threads());
  u64 wrong = 0, first = n, held = 0;
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i >= n) continue;
    const u64 word = words[i];
    if (word != pattern_word(i, expected, seed)) {
      if (wrong++ == 0) {
        first = i;
        held = word;
      }
    }
    words[i] = pattern_word(i, next, seed);
  }
  SHARED u64 scratch[2][most_waves];
  wrong = block_reduce(wrong, Sum{}, scratch[0]);
  const u64 lowest = block_reduce(first, Minimum{}, scratch[1]);
  if (thread_index() == 0) {
    found[3 * block_index()] = wrong;
    found[3 * block_index() + 1] = lowest;
    found[3 * block_index() + 2] = 0;
  }
  barrier();
  if (first == lowest && first < n) found[3 * block_index() + 2] = held;
}

/// Writes pattern `next` into every word.
KERNEL(write_pattern, u64* words, u64 n, u32 next, u64 seed) {
  const Tiles tiles = my_tiles(n, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i < n) words[i] = pattern_word(i, next, seed);
  }
}
