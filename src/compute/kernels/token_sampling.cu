// Draws next tokens from logits. Their order is that of descending logits, equal ones in ascending
// order of their numbers, and a prefix of this order may be drawn. A random number in [0, 1) says
// where in the sum of the weights exp((logit - largest) / temperature) the token lies. Nothing is
// sorted: a histogram finds the part of the order in which a sum is reached, and further ones
// divide that part until it is one logit. Sums are of integers, so that they do not depend on their
// order.
//
// Most work is the first histogram, which adds every weight: about 45 instructions and up to three
// additions to shared memory for each token. So several blocks share a row there, and draw_tokens
// adds up what they found. 64 rows of 151,936 logits in bf16 are 19 MB, which stay in the L2 of a
// GPU like the H200: with 2 blocks for each row, 128 of its 132 multiprocessors read 152 KB each. A
// block then draws the token of a row: it reads 2 sums of 12 KB, and the row once for each division
// of a part, of which bf16 needs one for top_p and one for the token, and once to find the token
// among equal logits. Each of these three passes takes about 8 instructions for each token.
#include "fast_math.h"
#include "rows.h"
#include "token_penalty.h"

#define SAMPLING_THREADS 1024

namespace {

/// How the token of one row of logits is drawn, as in model/operations/token_sampling.h.
struct DrawnRow {
  double temperature, top_p, min_p, uniform;
  i64 row, top_k;  ///< top_k: 0 allows all
};

// Weights are integers times 2^-mass_bits; a smaller weight than that of one is 0.
constexpr int mass_bits = 40;
constexpr u32 bins = 1024, groups = 32, bins_of_group = bins / groups;

/// Logits of T as numbers that grow with them; both zeros are equal. Logits of bf16 have 16 bits.
template <typename T>
struct Keys {
  static constexpr int unused_bits = sizeof(T) == 2 ? 16 : 0;

  static DEVICE u32 of(float x) {
    const u32 bits = x == 0 ? 0 : bits_of(x);
    return (bits >> 31 != 0 ? ~bits : bits | 0x80000000u) >> unused_bits;
  }
  static DEVICE float logit(u32 key) {
    const u32 bits = key << unused_bits;
    if (bits >> 31 != 0) return float_of(bits & 0x7FFFFFFFu);
    return float_of(~(bits | ((u32{1} << unused_bits) - 1)));
  }
};

/// 2^x for x in [-0.5, 0.5], by its series; relative error below 2^-23.
DEVICE float exp2_of_fraction(float x) {
  const float coefficients[] = {1.52527e-5f,   1.540353e-4f, 1.3333558e-3f, 9.6181291e-3f,
                                5.5504109e-2f, 0.24022651f,  0.69314718f,   1.0f};
  float sum = 0;
  UNROLL_LOOP
  for (int i = 0; i < 8; ++i) sum = sum * x + coefficients[i];
  return sum;
}

struct Weights {
  float largest, scale;  ///< the largest logit, and log2(e) / temperature

  DEVICE static Weights of(float largest, double temperature) {
    return {largest, static_cast<float>(1.4426950408889634 / temperature)};
  }
  /// Returns how many times the largest weight is halved to become that of the logit.
  DEVICE float halvings(float logit) const { return (largest - logit) * scale; }
  /// Relative error below 2^-20 for weights of at least 2^-8, and the smaller the weight the
  /// larger.
  DEVICE u64 mass(float logit) const {
    const float halved = halvings(logit);
    if (!(halved < mass_bits + 1)) return 0;
    const i32 whole = nearest_integer(halved);
    const float fraction = exp2_of_fraction(static_cast<float>(whole) - halved);
    const u32 digits = static_cast<u32>(fraction * 1073741824.0f);  // 2^30 of it
    const i32 shift = mass_bits - 30 - whole;
    return shift >= 0 ? u64{digits} << shift : digits >> -shift;
  }
  /// Returns the bin of the first histogram; the last one takes all weights that are nearly 0.
  DEVICE u32 bin(float logit) const {
    const float at = halvings(logit) * (float{bins} / mass_bits);
    return at < float{bins - 1} ? static_cast<u32>(at) : bins - 1;
  }
};

/// Masses are added in parts of 14 bits, because shared memory adds words of 32 bits at once: those
/// of 2^18 tokens fit.
struct Histogram {
  static constexpr int parts = 3, part_bits = 14;
  u32 mass[parts][bins];
  u32 count[bins];

  DEVICE void clear() {
    for (u32 i = thread_index(); i < bins; i += block_threads()) {
      UNROLL_LOOP
      for (int p = 0; p < parts; ++p) mass[p][i] = 0;
      count[i] = 0;
    }
    barrier();
  }
  DEVICE void add(u32 bin, u64 of_token) {
    atomic_add(&count[bin], 1u);
    add_mass(bin, of_token);
  }
  DEVICE void add_mass(u32 bin, u64 of_token) {
    UNROLL_LOOP
    for (int p = 0; p < parts; ++p) {
      const u32 part = static_cast<u32>(of_token >> p * part_bits) & ((1u << part_bits) - 1);
      if (part != 0) atomic_add(&mass[p][bin], part);
    }
  }
  DEVICE u64 mass_of(u32 bin) const {
    u64 sum = 0;
    UNROLL_LOOP
    for (int p = 0; p < parts; ++p) sum += u64{mass[p][bin]} << p * part_bits;
    return sum;
  }
};
static_assert(mass_bits < Histogram::parts * Histogram::part_bits, "the largest mass");

/// The first histogram of a row, or of the part of it that a block reads. Tokens are counted only
/// where top_k needs it.
struct MassSums {
  u64 mass[bins];
  u32 count[bins];
  u64 allowed_mass, allowed_tokens;  ///< what min_p leaves

  DEVICE u64 mass_of(u32 bin) const { return mass[bin]; }
};
static_assert(sizeof(MassSums) == 12304, "as in model/operations/token_sampling.cpp");

/// A part of the order: the tokens whose keys are in a range.
struct KeyRange {
  u32 lowest, highest;

  DEVICE bool contains(u32 key) const { return lowest <= key && key <= highest; }
  DEVICE u64 span() const { return u64{highest - lowest} + 1; }
  /// Bins of equal ranges, from the highest key down.
  DEVICE u32 bin(u32 key) const { return static_cast<u32>(u64{highest - key} * bins / span()); }
  /// Returns the keys of a bin.
  DEVICE KeyRange of_bin(u32 bin) const {
    const auto first = [&](u64 of) { return (of * span() + bins - 1) / bins; };
    return {highest - static_cast<u32>(first(bin + 1) - 1), highest - static_cast<u32>(first(bin))};
  }
};

/// What stands before a place in the order.
struct Before {
  u64 mass, count;
};

/// Where a sum over the order exceeds a target.
struct Place {
  float logit;
  u64 of_logit;    ///< tokens of this logit up to there
  Before through;  ///< sums over all tokens up to there
};

/// The row of one block.
template <typename T>
struct SamplingRow {
  const T* logits;
  u64 vocabulary;
  Weights weights;
  const MassSums* whole;
  Histogram* part;
  u64* scratch;  ///< most_waves, and four more

  template <typename Body>
  DEVICE void for_each(Body body) const {
    for_each_pack(vocabulary, [&](u64 i) {
      const Floats values = load_floats(logits + i);
      for (u64 e = 0; e < row_pack && i + e < vocabulary; ++e) body(i + e, values.v[e]);
    });
  }

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

  /// Finds where the sum of masses, or of counts, exceeds `target`, which the sum over all tokens
  /// does.
  DEVICE Place select(bool by_count, u64 target) const {
    Before before = {0, 0};
    KeyRange range = keys_of(find(*whole, by_count, target, before));
    while (range.lowest < range.highest) {
      part->clear();
      for_each([&](u64, float logit) {
        const u32 key = Keys<T>::of(logit);
        if (range.contains(key)) part->add(range.bin(key), weights.mass(logit));
      });
      barrier();
      range = range.of_bin(find(*part, by_count, target, before));
    }
    const float logit = Keys<T>::logit(range.lowest);
    const u64 mass = weights.mass(logit);
    const u64 index = by_count ? target - before.count : (target - before.mass) / mass;
    return {logit, index + 1, {before.mass + (index + 1) * mass, before.count + index + 1}};
  }

  /// Returns the token that is number `number` of those with this logit, from 0. They are usually
  /// few, which are listed and ranked.
  DEVICE u64 token_of(float logit, u64 number) const {
    constexpr u32 most_listed = 512;
    u32 *const list = part->mass[0], *const listed = part->count;
    u64* const found = scratch + most_waves;
    if (thread_index() == 0) *found = *listed = 0;
    barrier();
    for_each([&](u64 token, float other) {
      if (other != logit) return;
      const u32 place = atomic_add(listed, 1u);
      if (place < most_listed) list[place] = static_cast<u32>(token);
    });
    barrier();
    const u32 matches = *listed;
    barrier();
    if (matches > most_listed) return token_in_order(logit, number);
    for (u32 i = thread_index(); i < matches; i += block_threads()) {
      u32 before = 0;
      for (u32 j = 0; j < matches; ++j) before += list[j] < list[i] ? 1 : 0;
      if (before == number) *found = list[i];
    }
    barrier();
    return *found;
  }

  /// The same, tile by tile.
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
    u64 mass = 0, tokens = 0;
    u32 unlikely = 0;  // tokens of the last bin, which most may belong to
    for_each_pack(begin < end ? end - begin : 0, [&](u64 offset) {
      const u64 at = begin + offset;
      const Floats values = load_floats(of_row + at);
      for (u64 e = 0; e < row_pack && at + e < end; ++e) {
        const float logit = values.v[e];
        const u64 of_token = weights.mass(logit);
        const u32 bin = weights.bin(logit);
        if (of_token != 0) histogram.add_mass(bin, of_token);
        if (counts && bin + 1 == bins) ++unlikely;
        if (counts && bin + 1 < bins) atomic_add(&histogram.count[bin], 1u);
        if (of_token < least) continue;
        mass += of_token;
        ++tokens;
      }
    });
    if (unlikely > 0) atomic_add(&histogram.count[bins - 1], unlikely);
    MassSums& found = sums[i * parts + part];
    mass = block_reduce(mass, Sum{}, scratch);
    barrier();
    tokens = block_reduce(tokens, Sum{}, scratch);
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
  SHARED u64 scratch[2 * groups > most_waves + 1 ? 2 * groups : most_waves + 1];
  wait_for_previous_kernel();
  const Tiles mine = my_tiles(count, 1);
  for (u64 i = mine.begin; i < mine.end; i += mine.step) {
    const DrawnRow how = drawn[i];
    const T* const of_row = logits + static_cast<u64>(how.row) * columns;
    const SamplingRow<T> row = {of_row, vocabulary, weights_of(next, of_row, how),
                                &whole, &part,      scratch};
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
      const u64 token = row.token_of(place.logit, place.of_logit - 1);
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
