// Sums over ranks that write into each other's memory. Every rank has a window, which all map:
// flags, then slots. A flag holds the number of the meeting that its rank has come to, so that it
// is never taken back.
#include "rows.h"

namespace {

/// In the window's first bytes.
DEVICE u32* flag_of(u8* window, u32 rank) {
  return reinterpret_cast<u32*>(window) + rank;
}

/// Returns once come() is true, or soon after `stop` is set: that lies in the host's memory, which
/// takes long to read.
template <typename Come>
DEVICE void wait_until(const u32* stop, Come come) {
#if defined(ON_CPU)
  constexpr u32 looks = 16;
#else
  constexpr u32 looks = 4096;
#endif
  for (u32 tries = 1; !come(); ++tries) {
    if (tries % looks == 0 && observe(stop) != 0) return;
#if !defined(ON_CUDA)  // which may sleep for 200 ns, as long as words are on their way
    yield();
#endif
  }
}

struct Ranks {
  u8* const* windows;  // of each, as mapped here
  u32 rank, count;
  const u32* stop;  // not 0: nobody is waited for any more
};

// Packs that may lie anywhere, and incomplete ones: whole aligned ones in one access.

template <typename T>
DEVICE bool is_aligned(const T* address) {
  return reinterpret_cast<u64>(address) % sizeof(Pack<T, row_pack>) == 0;
}
template <typename T>
DEVICE Floats load_any(const T* from, int elements, bool aligned) {
  if (aligned && elements == row_pack) return load_floats(from);
  Floats x = floats_of(0);
  for (int i = 0; i < elements; ++i) x.v[i] = decode(from[i]);
  return x;
}
template <typename T>
DEVICE void store_any(T* to, Floats x, int elements, bool aligned) {
  if (aligned && elements == row_pack) return store_floats(to, x);
  for (int i = 0; i < elements; ++i) to[i] = encode<T>(x.v[i]);
}

/// body(first element, elements) for every pack, the last of which may be incomplete. A block takes
/// the same elements wherever its rank has them.
template <typename Body>
DEVICE void for_all(u64 count, Body body) {
  const Tiles tiles = my_tiles((count + row_pack - 1) / row_pack, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = (tile + thread_index()) * row_pack;
    if (i < count) body(i, count - i < row_pack ? static_cast<int>(count - i) : row_pack);
  }
}

/// out = the sum of all ranks' elements, in the order of ranks: `mine` and what pack_of(rank, i)
/// has.
template <typename T, typename PackOf>
DEVICE void sum_over_ranks(T* out, const T* mine, u64 count, u32 rank, u32 ranks, PackOf pack_of) {
  const bool from_aligned = is_aligned(mine), to_aligned = is_aligned(out);
  for_all(count, [&](u64 i, int elements) {
    Floats sum = floats_of(0);
    for (u32 r = 0; r < ranks; ++r) {
      const Floats x = r == rank ? load_any(mine + i, elements, from_aligned) : pack_of(r, i);
      sum = r == 0 ? x : sum + x;
    }
    store_any(out + i, sum, elements, to_aligned);
  });
}

// ---- Small sums: words that say themselves when they have come ----

/// 4 bytes of data, and above them the number of the sum that they belong to: one access moves
/// both, so that no fence orders them.
DEVICE u64 word_of(u32 data, u32 number) {
  return u64{number} << 32 | data;
}
DEVICE void publish_two(u64* to, u64 a, u64 b) {
#if defined(ON_CUDA)
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(a), "l"(b) : "memory");
#else
  publish(to, a);
  publish(to + 1, b);
#endif
}
DEVICE void observe_two(const u64* from, u64& a, u64& b) {
#if defined(ON_CUDA)
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(a), "=l"(b)
               : "l"(from)
               : "memory");
#else
  a = observe(from);
  b = observe(from + 1);
#endif
}

/// A pack as the data of its words.
template <typename T>
struct PackWords {
  static constexpr int count = row_pack * sizeof(T) / sizeof(u32);
  u32 data[count];
};

/// Of 32 neighbouring packs, first the first two words of each, then the next two, and so on: what
/// neighbouring threads store in one instruction lies together.
constexpr u64 packs_together = 32;

/// Where the first two words lie of the pack that begins with element `i`, from a slot's begin; the
/// next two lie 2 * packs_together words further.
template <typename T>
DEVICE u64 place_of(u64 i) {
  const u64 pack = i / row_pack, within = pack % packs_together;
  return (pack - within) * PackWords<T>::count + 2 * within;
}

template <typename T>
DEVICE void send_pack(u64* to, Floats x, u32 number) {
  const auto words = bits_as<PackWords<T>>(from_floats<T, row_pack>(x));
  UNROLL_LOOP
  for (int i = 0; i < words.count; i += 2) {
    publish_two(to + i * packs_together, word_of(words.data[i], number),
                word_of(words.data[i + 1], number));
  }
}
/// Waits for the pack, or until `stop`. All its words are looked at together: one look after the
/// other would take as long again each.
template <typename T>
DEVICE Floats receive_pack(const u64* from, u32 number, const u32* stop) {
  constexpr int count = PackWords<T>::count;
  u64 words[count];
  wait_until(stop, [&] {
    UNROLL_LOOP
    for (int i = 0; i < count; i += 2) {
      observe_two(from + i * packs_together, words[i], words[i + 1]);
    }
    bool come = true;
    UNROLL_LOOP
    for (int i = 0; i < count; ++i) come = come && words[i] >> 32 == number;
    return come;
  });
  PackWords<T> data;
  UNROLL_LOOP
  for (int i = 0; i < count; ++i) data.data[i] = static_cast<u32>(words[i]);
  return to_floats(bits_as<Pack<T, row_pack>>(data));
}

/// A sum in one step: each rank sends its elements to all others and adds up what comes from them.
/// Slots of `slot_bytes`, by rank, lie behind `slots` bytes of a window, one set for odd sums and
/// one for even ones: whose words of the next sum have come has read those of the last. `sums`: how
/// many there were, and how many blocks of this one have read that.
template <typename T>
DEVICE void all_reduce(T* out, const T* in, u64 count, u64 slots, u64 slot_bytes, u32* sums,
                       const Ranks& ranks) {
  const u32 number = observe(&sums[0]) + 1;
  const auto slot = [&](u32 window, u32 from) {
    const u64 place = (number % 2) * ranks.count + from;
    return reinterpret_cast<u64*>(load_constant(ranks.windows + window) + slots +
                                  place * slot_bytes);
  };
  const bool aligned = is_aligned(in);
  for_all(count, [&](u64 i, int elements) {
    const Floats x = load_any(in + i, elements, aligned);
    for (u32 other = 0; other < ranks.count; ++other) {
      if (other == ranks.rank) continue;
      send_pack<T>(slot(other, ranks.rank) + place_of<T>(i), x, number);
    }
  });
  barrier();  // all threads of the block have read the number
  // While the others' elements are on their way, which takes longer than this.
  if (thread_index() == 0 && atomic_add(&sums[1], u32{1}) == grid_blocks() - 1) {
    publish(&sums[1], u32{0});
    publish(&sums[0], number);
  }
  sum_over_ranks(out, in, count, ranks.rank, ranks.count, [&](u32 from, u64 i) {
    return receive_pack<T>(slot(ranks.rank, from) + place_of<T>(i), number, ranks.stop);
  });
}

}  // namespace

/// Ranks meet: what each queued before is complete for what all queue after. One block.
KERNEL(peer_meeting, u8* const* windows, u32* meetings, const u32* stop, u32 rank, u32 ranks) {
  const u32 number = *meetings + 1;
  barrier();
  for (u32 other = thread_index(); other < ranks; other += block_threads()) {
    if (other == rank) continue;
    system_fence();
    publish(flag_of(windows[other], rank), number);
  }
  for (u32 other = thread_index(); other < ranks; other += block_threads()) {
    if (other == rank) continue;
    const u32* const flag = flag_of(windows[rank], other);
    wait_until(stop, [&] { return static_cast<i32>(observe(flag) - number) >= 0; });
    system_fence();
  }
  barrier();
  if (thread_index() == 0) *meetings = number;
}

#define PEER_KERNELS(type, T)                                                               \
  KERNEL(peer_all_reduce_##type, T* out, const T* in, u64 count, u64 slots, u64 slot_bytes, \
         u32* sums, u8* const* windows, const u32* stop, u32 rank, u32 ranks) {             \
    all_reduce(out, in, count, slots, slot_bytes, sums, {windows, rank, ranks, stop});      \
  }                                                                                         \
  /* out = in + what the other ranks have copied into the slots at `slots`. */              \
  KERNEL(peer_sum_##type, T* out, const T* in, const u8* slots, u64 slot_bytes, u64 count,  \
         u32 rank, u32 ranks) {                                                             \
    sum_over_ranks(out, in, count, rank, ranks, [&](u32 from, u64 i) {                      \
      return load_floats(reinterpret_cast<const T*>(slots + from * slot_bytes) + i);        \
    });                                                                                     \
  }
PEER_KERNELS(f32, float)
PEER_KERNELS(bf16, Bf16)
PEER_KERNELS(f16, F16)
