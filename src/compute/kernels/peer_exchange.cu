// Sums over ranks that write into each other's memory. Every rank has a window, which all map:
// flags, then slots. A group of each rank's blocks meets the same group of the others; a flag holds
// the number of the meeting that its rank has come to, so that it is never taken back.
#include "rows.h"

/// The window's first bytes: flag of group g and rank r at g * most_ranks + r.
constexpr u32 most_ranks = 16;

DEVICE u32* flag_of(u8* window, u32 group, u32 rank) {
  return reinterpret_cast<u32*>(window) + group * most_ranks + rank;
}

struct Ranks {
  u8* const* windows;  // of each, as mapped here
  u32 rank, count;
  const u32* stop;  // not 0: nobody is waited for any more
};

/// What this block has stored in the windows of others is there for their same group after its
/// meeting `number`, and the other way round.
DEVICE void meet(const Ranks& ranks, u32 group, u32 number) {
  system_fence();
  barrier();
  for (u32 other = thread_index(); other < ranks.count; other += block_threads()) {
    if (other != ranks.rank) publish(flag_of(ranks.windows[other], group, ranks.rank), number);
  }
  for (u32 other = thread_index(); other < ranks.count; other += block_threads()) {
    if (other == ranks.rank) continue;
    const u32* const flag = flag_of(ranks.windows[ranks.rank], group, other);
    while (static_cast<i32>(observe(flag) - number) < 0 && observe(ranks.stop) == 0) yield();
  }
  system_fence();
  barrier();
}

/// Ranks meet: what each queued before is complete for what all queue after. One block.
KERNEL(peer_meeting, u8* const* windows, u32* meetings, const u32* stop, u32 rank, u32 ranks) {
  const u32 number = meetings[0] + 1;
  meet({windows, rank, ranks, stop}, 0, number);
  if (thread_index() == 0) meetings[0] = number;
}

/// Packs that may lie anywhere: aligned ones in one access.
template <typename T>
DEVICE bool is_aligned(const T* address) {
  return reinterpret_cast<u64>(address) % sizeof(Pack<T, row_pack>) == 0;
}
DEVICE float load_float(const float* from) {
  return *from;
}
template <typename T>
DEVICE float load_float(const T* from) {
  return from->decode();
}
DEVICE void store_float(float* to, float x) {
  *to = x;
}
template <typename T>
DEVICE void store_float(T* to, float x) {
  *to = T::encode(x);
}
template <typename T>
DEVICE Floats load_any(const T* from, bool aligned) {
  if (aligned) return load_floats(from);
  Floats x;
  for (int i = 0; i < row_pack; ++i) x.v[i] = load_float(from + i);
  return x;
}
template <typename T>
DEVICE void store_any(T* to, Floats x, bool aligned) {
  if (aligned) return store_floats(to, x);
  for (int i = 0; i < row_pack; ++i) store_float(to + i, x.v[i]);
}

/// packs(first element) for all whole packs, then element(element) for the rest. A block takes the
/// same elements wherever its rank has them.
template <typename Packs, typename Element>
DEVICE void for_all(u64 count, Packs packs, Element element) {
  const u64 whole = count / row_pack * row_pack;
  for_each_pack_of_all(whole, packs);
  const u32 last = grid_blocks() - 1;
  if (block_index() != last) return;
  for (u64 i = whole + thread_index(); i < count; i += block_threads()) element(i);
}

/// out = the sum of all ranks' elements, in the order of ranks: `mine` and what slot(rank) has.
template <typename T, typename Slot>
DEVICE void sum_slots(T* out, const T* mine, u64 count, u32 rank, u32 ranks, Slot slot) {
  const bool from_aligned = is_aligned(mine), to_aligned = is_aligned(out);
  const auto row_of = [&](u32 r, u64 i) {
    return r == rank ? load_any(mine + i, from_aligned) : load_floats(slot(r) + i);
  };
  const auto element_of = [&](u32 r, u64 i) {
    return load_float((r == rank ? mine : slot(r)) + i);
  };
  for_all(
      count,
      [&](u64 i) {
        Floats sum = row_of(0, i);
        for (u32 r = 1; r < ranks; ++r) sum = sum + row_of(r, i);
        store_any(out + i, sum, to_aligned);
      },
      [&](u64 i) {
        float sum = element_of(0, i);
        for (u32 r = 1; r < ranks; ++r) sum += element_of(r, i);
        store_float(out + i, sum);
      });
}

/// A sum in one step: each block writes its elements into a slot of every other rank, meets the
/// same block of the others, and adds up. Slots of `slot_bytes` lie behind `slots` bytes of the
/// window, one set for odd meetings and one for even ones: who has come to the next meeting has
/// read those of the last. All ranks have the same grid.
template <typename T>
DEVICE void all_reduce(T* out, const T* in, u64 count, u64 slots, u64 slot_bytes, u32* meetings,
                       const Ranks& ranks) {
  const u32 group = 1 + block_index(), number = meetings[group] + 1;
  const auto slot = [&](u32 of_rank, u32 from) {
    const u64 place = (number % 2) * ranks.count + from;
    return reinterpret_cast<T*>(ranks.windows[of_rank] + slots + place * slot_bytes);
  };
  const bool aligned = is_aligned(in);
  for (u32 other = 0; other < ranks.count; ++other) {
    if (other == ranks.rank) continue;
    T* const to = slot(other, ranks.rank);
    for_all(
        count, [&](u64 i) { store_floats(to + i, load_any(in + i, aligned)); },
        [&](u64 i) { to[i] = in[i]; });
  }
  meet(ranks, group, number);
  sum_slots(out, in, count, ranks.rank, ranks.count,
            [&](u32 from) { return static_cast<const T*>(slot(ranks.rank, from)); });
  if (thread_index() == 0) meetings[group] = number;
}

#define PEER_KERNELS(type, T)                                                                   \
  KERNEL(peer_all_reduce_##type, T* out, const T* in, u64 count, u64 slots, u64 slot_bytes,     \
         u32* meetings, u8* const* windows, const u32* stop, u32 rank, u32 ranks) {             \
    all_reduce(out, in, count, slots, slot_bytes, meetings, {windows, rank, ranks, stop});      \
  }                                                                                             \
  /* out = in + what the other ranks have copied into the slots at `slots`. */                  \
  KERNEL(peer_sum_##type, T* out, const T* in, const u8* slots, u64 slot_bytes, u64 count,      \
         u32 rank, u32 ranks) {                                                                 \
    sum_slots(out, in, count, rank, ranks,                                                      \
              [&](u32 from) { return reinterpret_cast<const T*>(slots + from * slot_bytes); }); \
  }
PEER_KERNELS(f32, float)
PEER_KERNELS(bf16, Bf16)
PEER_KERNELS(f16, F16)
