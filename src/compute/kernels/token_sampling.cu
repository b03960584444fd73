// Draws next tokens from logits. Their order is that of descending logits, equal ones in ascending
// order of their numbers, and a prefix of this order may be drawn. A random number in [0, 1) says
// where in the sum of the weights exp((logit - largest) / temperature) the token lies. Nothing is
// sorted: a histogram finds the part of the order in which a sum is reached, and further ones
// divide that part until it is one logit. Sums are of integers, so that they do not depend on their
// order.
//
// Most work is the first histogram, which adds every weight: about 65 instructions and up to three
// additions to shared memory for each token. So several blocks share a row there, and draw_tokens
// adds up what they found. 64 rows of 151,936 logits in bf16 are 19 MB, which stay in the L2 of a
// GPU like the H200: with 2 blocks for each row, 128 of its 132 multiprocessors read 152 KB each.
// Then a block draws the token of each row. It reads 2 sums of 12 KB, and the row once or twice,
// with about 7 instructions for each token: to list the tokens where top_p may end, and those that
// may be drawn. Whatever needs more instructions is done for listed tokens alone.
#include "rows.h"
#include "token_penalty.h"
#include "token_weights.h"

#define SAMPLING_THREADS 1024

namespace {

/// How the token of one row of logits is drawn, as in model/operations/token_sampling.h.
struct DrawnRow {
  double temperature, top_p, min_p, uniform;
  i64 row, top_k;  ///< top_k: 0 allows all
};

/// What stands before a place in the order.
struct Before {
  u64 mass, count;
};

/// Where a sum over the order exceeds a target.
struct Place {
  u32 key;
  bool listed;     ///< whether the tokens of this key are in the list
  u64 of_key;      ///< tokens of this key up to there
  Before through;  ///< sums over all tokens up to there
};

/// Tokens whose keys are in a range, in any order.
struct TokenList {
  static constexpr u32 most = 2048;  ///< if there are more, none is listed
  u64 entries[most];                 ///< the key, and in the lower half the token
  u32 count;
};

/// The row of one block.
template <typename T>
struct SamplingRow {
  const T* logits;
  u64 vocabulary;
  Weights weights;
  const MassSums* whole;
  Histogram* part;
  TokenList* list;
  u64* scratch;  ///< 2 * groups elements, and at least most_waves + 1

  /// Writes masses and counts of groups of bins.
  template <typename Sums>
  DEVICE void sum_groups(const Sums& histogram, u64* of_groups) const {
#if defined(ON_CPU)
    for (u32 g = 0; g < groups; ++g) {
      of_groups[g] = of_groups[groups + g] = 0;
      for (u32 i = g * bins_of_group; i < (g + 1) * bins_of_group; ++i) {
        of_groups[g] += histogram.mass_of(i);
        of_groups[groups + g] += histogram.count[i];
      }
    }
#else
    static_assert(wave_width % bins_of_group == 0, "a group's lanes are in one wave");
    for (u32 i = thread_index(); i < bins; i += block_threads()) {
      const u64 mass = team_reduce(histogram.mass_of(i), Sum{}, bins_of_group);
      const u32 count = team_reduce(histogram.count[i], Sum{}, bins_of_group);
      if (i % bins_of_group == 0) {
        of_groups[i / bins_of_group] = mass;
        of_groups[groups + i / bins_of_group] = count;
      }
    }
#endif
  }

  /// Returns the bin in which the sum of masses, or of counts, exceeds `target`, and adds to
  /// `before` what the bins before it have. If no bin does, it is the last one with tokens.
  template <typename Sums>
  DEVICE u32 find(const Sums& histogram, bool by_count, u64 target, Before& before) const {
    u64* const of_groups = scratch;  // masses and counts
    sum_groups(histogram, of_groups);
    barrier();
    u32 found = 0;
    Before at_found = before, now = before;
    const auto exceeds = [&](u64 mass, u64 count) {
      return (by_count ? now.count + count : now.mass + mass) > target;
    };
    u32 group = 0;
    while (group + 1 < groups && !exceeds(of_groups[group], of_groups[groups + group])) {
      // Tokens of no mass may be all that is left.
      if (of_groups[group] + of_groups[groups + group] > 0) {
        found = group;
        at_found = now;
      }
      now.mass += of_groups[group];
      now.count += of_groups[groups + group];
      ++group;
    }
    if (!exceeds(of_groups[group], of_groups[groups + group]) &&
        of_groups[group] + of_groups[groups + group] == 0) {
      group = found;
      now = at_found;
    }
    found = group * bins_of_group;
    at_found = now;
    for (u32 i = found; i < (group + 1) * bins_of_group; ++i) {
      const u64 mass = histogram.mass_of(i);
      if (mass + histogram.count[i] == 0) continue;
      found = i;
      at_found = now;
      if (exceeds(mass, histogram.count[i])) break;
      now.mass += mass;
      now.count += histogram.count[i];
    }
    before = at_found;
    barrier();  // scratch is free
    return found;
  }

  /// Returns the keys of a bin of the first histogram: its bins grow as keys fall.
  DEVICE KeyRange keys_of(u32 bin) const {
    const auto first_key_in = [&](u32 last_bin) {  // the lowest key whose bin is not above it
      u32 below = 0, there = Keys<T>::of(weights.largest);
      while (below < there) {
        const u32 middle = below + (there - below) / 2;
        if (weights.bin(Keys<T>::logit(middle)) <= last_bin) {
          there = middle;
        } else {
          below = middle + 1;
        }
      }
      return there;
    };
    return {bin + 1 < bins ? first_key_in(bin) : 0,
            bin > 0 ? first_key_in(bin - 1) - 1 : Keys<T>::of(weights.largest)};
  }

  /// Calls body(key, token) for the row's tokens in `range`. Logits are compared faster than keys;
  /// keys below that of -infinity are of no numbers.
  template <typename Body>
  DEVICE void for_each_in(KeyRange range, Body body) const {
    const float never = float_of(0xFF800000), highest = Keys<T>::logit(range.highest),
                lowest = range.lowest > Keys<T>::of(never) ? Keys<T>::logit(range.lowest) : never;
    for_each_logit(logits, 0, vocabulary, [&](u64 token, float logit) {
      if (logit >= lowest && logit <= highest) body(Keys<T>::of(logit), static_cast<u32>(token));
    });
  }

  /// Lists the tokens in `range`. They are few, and what is done for each of them by threads whose
  /// neighbours have none would take as long as if all had one.
  DEVICE void list_tokens(KeyRange range) const {
    if (thread_index() == 0) list->count = 0;
    barrier();
    for_each_in(range, [&](u32 key, u32 token) {
      const u32 place = atomic_add(&list->count, 1u);
      if (place < TokenList::most) list->entries[place] = u64{key} << 32 | token;
    });
    barrier();
  }

  /// Calls body(key, token) as for_each_in() does; the range was listed, or is a part of one that
  /// was.
  template <typename Body>
  DEVICE void for_each_listed(KeyRange range, Body body) const {
    if (list->count > TokenList::most) return for_each_in(range, body);
    for (u32 i = thread_index(); i < list->count; i += block_threads()) {
      const u32 key = static_cast<u32>(list->entries[i] >> 32);
      if (range.contains(key)) body(key, static_cast<u32>(list->entries[i]));
    }
  }

  /// Finds where the sum of masses, or of counts, exceeds `target`, which the sum over all tokens
  /// does.
  DEVICE Place select(bool by_count, u64 target) const {
    Before before = {0, 0};
    KeyRange range = keys_of(find(*whole, by_count, target, before));
    const bool listed = range.lowest < range.highest;
    if (listed) list_tokens(range);
    while (range.lowest < range.highest) {
      part->clear();
      for_each_listed(range, [&](u32 key, u32) {
        part->add(range.bin(key), weights.mass(Keys<T>::logit(key)));
      });
      barrier();
      range = range.of_bin(find(*part, by_count, target, before));
    }
    const u64 mass = weights.mass(Keys<T>::logit(range.lowest));
    // Kernels may round a weight differently, so a key found by its bins may have no mass.
    const u64 index =
        by_count ? target - before.count : (target - before.mass) / (mass > 0 ? mass : 1);
    return {range.lowest,
            listed,
            index + 1,
            {before.mass + (index + 1) * mass, before.count + index + 1}};
  }

  /// Returns the token at a place. Tokens of one key are usually few, which are ranked.
  DEVICE u64 token_at(const Place& place) const {
    constexpr u32 most_ranked = 512;
    u64 number = place.of_key - 1;
    const KeyRange of_key = {place.key, place.key};
    if (!place.listed) list_tokens(of_key);
    u32 *const tokens = part->mass[0], *const found_tokens = part->count;
    u64* const found = scratch + most_waves;
    if (thread_index() == 0) *found = *found_tokens = 0;
    barrier();
    for_each_listed(of_key, [&](u32, u32 token) {
      const u32 at = atomic_add(found_tokens, 1u);
      if (at < most_ranked) tokens[at] = token;
    });
    barrier();
    const u32 count = *found_tokens;
    barrier();
    if (number >= count) number = count > 0 ? count - 1 : 0;  // the last, if sums were rounded
    if (count > most_ranked) return token_in_order(Keys<T>::logit(place.key), number);
    for (u32 i = thread_index(); i < count; i += block_threads()) {
      u32 before = 0;
      for (u32 j = 0; j < count; ++j) before += tokens[j] < tokens[i] ? 1 : 0;
      if (before == number) *found = tokens[i];
    }
    barrier();
    return *found;
  }

  /// Returns the token that is number `number` of those with this logit, from 0, of any number of
  /// them.
  DEVICE u64 token_in_order(float logit, u64 number) const {
    const u64 tile = u64{block_threads()} * row_pack;
    u64 seen = 0;
    u64* const found = scratch + most_waves;
    if (thread_index() == 0) *found = 0;
    for (u64 begin = 0; begin < vocabulary; begin += tile) {
      const u64 mine = begin + u64{thread_index()} * row_pack;
      u32 matches = 0;
      Floats values = floats_of(0);
      if (mine < vocabulary) values = load_floats(logits + mine);
      for (u64 e = 0; e < row_pack && mine + e < vocabulary; ++e) {
        matches += values.v[e] == logit ? 1 : 0;
      }
      u32* const of_waves = reinterpret_cast<u32*>(scratch);
      const u32 of_tile = block_reduce(matches, Sum{}, of_waves);
      barrier();
      if (seen + of_tile <= number) {
        seen += of_tile;
        continue;
      }
      // Threads with matches are few. Each counts those before it by its number.
      u32* const of_threads = part->count;
      static_assert(bins >= SAMPLING_THREADS, "a place for each thread");
      of_threads[thread_index()] = matches;
      barrier();
      if (matches > 0) {
        u64 before = seen;
        for (u32 t = 0; t < thread_index(); ++t) before += of_threads[t];
        for (u64 e = 0; e < row_pack && mine + e < vocabulary; ++e) {
          if (values.v[e] == logit && before++ == number) *found = mine + e;
        }
      }
      barrier();
      break;
    }
    barrier();
    return *found;
  }
};

template <typename T>
DEVICE Weights weights_of(const i32* next, const T* of_row, const DrawnRow& how) {
  return Weights::of(decode(of_row[next[how.row]]), how.temperature);
}

/// Grid: rows, parts of each row.
template <typename T>
DEVICE void sum_masses(MassSums* sums, const i32* next, const T* logits, const DrawnRow* drawn,
                       u64 count, u64 vocabulary, u64 columns, u64 parts) {
  SHARED Histogram histogram;
  SHARED u64 scratch[most_waves];
  const u64 packs = (vocabulary + row_pack - 1) / row_pack, part = block_index_y(),
            share = (packs + parts - 1) / parts * row_pack, begin = part * share,
            end = begin + share < vocabulary ? begin + share : vocabulary;
  const Tiles mine = my_tiles(count, 1);
  for (u64 i = mine.begin; i < mine.end; i += mine.step) {
    const DrawnRow how = drawn[i];
    const T* const of_row = logits + static_cast<u64>(how.row) * columns;
    const Weights weights = weights_of(next, of_row, how);
    const u64 least = static_cast<u64>(how.min_p * static_cast<double>(u64{1} << mass_bits));
    const bool counts = how.top_k > 0;
    histogram.clear();
    u64 mass = 0;
    u32 tokens = 0, unlikely = 0;  // tokens of the last bin, which most may belong to
    for_each_logit(of_row, begin, end, [&](u64, float logit) {
      const u64 of_token = weights.mass(logit);
      const u32 bin = weights.bin(logit);
      if (of_token != 0) histogram.add_mass(bin, of_token);
      if (counts && bin + 1 == bins) ++unlikely;
      if (counts && bin + 1 < bins) atomic_add(&histogram.count[bin], 1u);
      if (of_token < least) return;
      mass += of_token;
      ++tokens;
    });
    if (unlikely > 0) atomic_add(&histogram.count[bins - 1], unlikely);
    MassSums& found = sums[i * parts + part];
    mass = block_reduce(mass, Sum{}, scratch);
    barrier();
    tokens = block_reduce(tokens, Sum{}, reinterpret_cast<u32*>(scratch));
    barrier();  // the histogram is complete, too
    for (u32 bin = thread_index(); bin < bins; bin += block_threads()) {
      found.mass[bin] = histogram.mass_of(bin);
      found.count[bin] = histogram.count[bin];
    }
    if (thread_index() == 0) {
      found.allowed_mass = mass;
      found.allowed_tokens = tokens;
    }
    barrier();  // everything shared is free for the next row
  }
}

/// Adds up the sums of a row's parts.
DEVICE void add_parts(MassSums& whole, const MassSums* of_parts, u64 parts) {
  for (u32 bin = thread_index(); bin < bins; bin += block_threads()) {
    u64 mass = 0;
    u32 count = 0;
    for (u64 p = 0; p < parts; ++p) {
      mass += of_parts[p].mass[bin];
      count += of_parts[p].count[bin];
    }
    whole.mass[bin] = mass;
    whole.count[bin] = count;
  }
  if (thread_index() == 0) {
    whole.allowed_mass = whole.allowed_tokens = 0;
    for (u64 p = 0; p < parts; ++p) {
      whole.allowed_mass += of_parts[p].allowed_mass;
      whole.allowed_tokens += of_parts[p].allowed_tokens;
    }
  }
  barrier();
}

template <typename T>
DEVICE void draw_tokens(i32* next, const MassSums* sums, const T* logits, const DrawnRow* drawn,
                        u64 count, u64 vocabulary, u64 columns, u64 parts) {
  SHARED MassSums whole;
  SHARED Histogram part;
  SHARED TokenList list;
  SHARED u64 scratch[2 * groups > most_waves + 1 ? 2 * groups : most_waves + 1];
  wait_for_previous_kernel();
  const Tiles mine = my_tiles(count, 1);
  for (u64 i = mine.begin; i < mine.end; i += mine.step) {
    const DrawnRow how = drawn[i];
    const T* const of_row = logits + static_cast<u64>(how.row) * columns;
    const SamplingRow<T> row = {of_row, vocabulary, weights_of(next, of_row, how), &whole, &part,
                                &list,  scratch};
    add_parts(whole, sums + i * parts, parts);
    u64 mass = whole.allowed_mass;
    const u64 tokens = whole.allowed_tokens;
    if (mass > 0) {  // else the largest logit is infinite or NaN, and the token stays
      if (how.top_k > 0 && static_cast<u64>(how.top_k) < tokens) {
        mass = row.select(true, static_cast<u64>(how.top_k) - 1).through.mass;
      }
      if (how.top_p < 1) {
        const double reached = how.top_p * static_cast<double>(mass);
        u64 target = static_cast<u64>(reached);
        if (static_cast<double>(target) < reached) ++target;
        mass = row.select(false, target > 0 ? (target < mass ? target : mass) - 1 : 0).through.mass;
      }
      const u64 at = static_cast<u64>(how.uniform * static_cast<double>(mass));
      const Place place = row.select(false, at < mass ? at : mass - 1);
      const u64 token = row.token_at(place);
      barrier();
      if (thread_index() == 0) next[how.row] = static_cast<i32>(token);
    }
    barrier();  // everything shared is free for the next row
  }
}

template <typename T>
DEVICE void penalize(T* logits, TokenPenalty* penalties, u64 count, u64 columns) {
  const Tiles tiles = my_tiles(count, block_threads());
  for (u64 tile = tiles.begin; tile < tiles.end; tile += tiles.step) {
    const u64 i = tile + thread_index();
    if (i >= count) continue;
    const TokenPenalty penalty = penalties[i];
    T* const logit =
        logits + static_cast<u64>(penalty.row) * columns + static_cast<u64>(penalty.token);
    const float x = decode(*logit);
    penalties[i].logit = x;
    *logit = encode<T>((x > 0 ? x / penalty.divisor : x * penalty.divisor) - penalty.amount);
  }
}

}  // namespace

/// sum_masses: sums[count, parts] = the first histogram of each part of row drawn[i].row of
/// logits[rows, columns], for its first `vocabulary` logits, whose largest is that of next[row].
/// draw_tokens: next[drawn[i].row] = the token drawn by these sums; it stays if no logit has a
/// weight. Rows must be readable up to a multiple of eight.
#define SAMPLING_KERNELS(T, suffix)                                                         \
  KERNEL_OF(SAMPLING_THREADS, 1, sum_masses_##suffix, MassSums* sums, const i32* next,      \
            const T* logits, const DrawnRow* drawn, u64 count, u64 vocabulary, u64 columns, \
            u64 parts) {                                                                    \
    sum_masses(sums, next, logits, drawn, count, vocabulary, columns, parts);               \
  }                                                                                         \
  KERNEL_OF(SAMPLING_THREADS, 1, draw_tokens_##suffix, i32* next, const MassSums* sums,     \
            const T* logits, const DrawnRow* drawn, u64 count, u64 vocabulary, u64 columns, \
            u64 parts) {                                                                    \
    draw_tokens(next, sums, logits, drawn, count, vocabulary, columns, parts);              \
  }
SAMPLING_KERNELS(float, f32)
SAMPLING_KERNELS(Bf16, bf16)

/// The logit of each token that `penalties` names becomes smaller, and is kept there as it was.
/// None is named twice.
#define PENALTY_KERNEL(T, suffix)                                                         \
  KERNEL(penalize_##suffix, T* logits, TokenPenalty* penalties, u64 count, u64 columns) { \
    penalize(logits, penalties, count, columns);                                          \
  }
PENALTY_KERNEL(float, f32)
PENALTY_KERNEL(Bf16, bf16)
