// VOP3P: two values at once, halves of a register or words of a register pair. op_sel and
// op_sel_hi say which half of each source the low and the high result take.
#include "emulator/float_rules.h"

namespace mi300x {

namespace {

constexpr unsigned most_sources = 3;

bool selects_high(const Instruction& instruction, unsigned source, unsigned half) {
  return (half ? instruction.op_sel_hi : instruction.op_sel) >> source & 1;
}
bool negates(const Instruction& instruction, unsigned source, unsigned half) {
  return (half ? instruction.neg_hi : instruction.neg_lo) >> source & 1;
}

const u32* packed_word(const Wave& wave, const Instruction& instruction, unsigned source,
                       bool is_target, u32* storage) {
  if (is_target) return wave.vector[instruction.targets[0].index].lane;
  return fetch_word(wave, instruction, source, 0, storage);
}

/// Both halves by a function of u16, i16 or Half; `exact` gives integers before they are cut, for
/// clamp.
template <auto function, auto exact, Options options, class T, std::size_t... n>
void run_halves(Wave& wave, const Instruction& instruction, std::index_sequence<n...>) {
  if constexpr (std::same_as<T, Half>) check_float_mode(wave, instruction, true);
  alignas(64) u32 storage[sizeof...(n)][wave_lanes], result[wave_lanes] = {};
  const u32* words[] = {packed_word(wave, instruction, n,
                                    options.accumulates && n + 1 == sizeof...(n), storage[n])...};
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned shifts[] = {(selects_high(instruction, n, half) ? 16u : 0u)...};
    const u32 flips[] = {(negates(instruction, n, half) ? 0x8000u : 0u)...};
    const auto value = [&](unsigned source, unsigned lane) {
      return LaneType<T>::from(((words[source][lane] >> shifts[source]) & 0xFFFF) ^ flips[source]);
    };
    for (unsigned i = 0; i < wave_lanes; ++i) {
      u32 bits;
      if constexpr (std::same_as<T, Half>) {
        Half x = function(value(n, i)...);
        if constexpr (!options.needs_ieee)
          x = chosen_nan(x, value(n, i)...);
        else if (!(wave.mode & mode::ieee) && (is_nan(value(n, i)) | ...)) [[unlikely]]
          not_emulated(instruction, "of a NaN while MODE.IEEE is off");
        if (instruction.clamp)
          x.value = modify_output(x.value, 0, true, wave.mode & mode::dx10_clamp);
        bits = LaneType<T>::to(x);
      } else if (instruction.clamp) {
        using Limits = std::numeric_limits<T>;
        bits = u16(std::clamp<i64>(exact(value(n, i)...), Limits::min(), Limits::max()));
      } else {
        bits = u16(function(value(n, i)...));
      }
      result[i] |= bits << (16 * half);
    }
  }
  store32(wave, instruction, result);
}

template <class Signature>
struct FirstArgument;
template <class Result, class First, class... Others>
struct FirstArgument<Result (*)(First, Others...)> {
  using Value = First;
  static constexpr std::size_t count = 1 + sizeof...(Others);
};

template <auto function, auto exact = function, Options options = Options{}>
void add_halves(VectorTable table, std::string_view name) {
  using First = FirstArgument<decltype(+function)>;
  using T = typename First::Value;
  constexpr auto execute = [](Wave& wave, const Instruction& instruction) {
    run_halves<function, exact, options, T>(wave, instruction,
                                            std::make_index_sequence<First::count>{});
  };
  constexpr Type type = std::same_as<T, Half> ? Type::packed_f16 : Type::packed_b16;
  table.add_special(name, execute, {type, type, type}).reads_target = options.accumulates;
}

// The clamp of shifts and products is not documented, so they cannot saturate.
template <class T>
i64 no_clamp(T, T) {
  throw Fault(FaultKind::unknown_instruction, "clamp of this packed operation");
}

template <class T>
void add_packed_integers(VectorTable table, const std::array<std::string_view, 5>& names) {
  add_halves<[](T a, T b) { return T(a + b); }, [](T a, T b) { return i64{a} + b; }>(table,
                                                                                     names[0]);
  add_halves<[](T a, T b) { return T(a - b); }, [](T a, T b) { return i64{a} - b; }>(table,
                                                                                     names[1]);
  add_halves<[](T a, T b, T c) { return T(i64{a} * b + c); },
             [](T a, T b, T c) { return i64{a} * b + c; }>(table, names[2]);
  add_halves<[](T a, T b) { return std::min(a, b); }>(table, names[3]);
  add_halves<[](T a, T b) { return std::max(a, b); }>(table, names[4]);
}

void add_packed_shifts(VectorTable table) {
  add_halves<[](u16 a, u16 b) { return u16(b << (a & 15)); }, no_clamp<u16>>(table,
                                                                             "v_pk_lshlrev_b16");
  add_halves<[](u16 a, u16 b) { return u16(b >> (a & 15)); }, no_clamp<u16>>(table,
                                                                             "v_pk_lshrrev_b16");
  add_halves<[](i16 a, i16 b) { return i16(b >> (a & 15)); }, no_clamp<i16>>(table,
                                                                             "v_pk_ashrrev_i16");
  add_halves<[](u16 a, u16 b) { return u16(u32{a} * b); }, no_clamp<u16>>(table, "v_pk_mul_lo_u16");
}

void add_packed_halves(VectorTable table) {
  constexpr auto sum = [](Half a, Half b) { return Half{a.value + b.value}; };
  constexpr auto product = [](Half a, Half b) { return Half{a.value * b.value}; };
  constexpr auto fused_sum = [](Half a, Half b, Half c) { return fused(a, b, c); };
  add_halves<sum>(table, "v_pk_add_f16");
  add_halves<product>(table, "v_pk_mul_f16");
  constexpr Options ieee{.needs_ieee = true};
  constexpr auto smaller = half2<least<float>>;
  constexpr auto larger = half2<greatest<float>>;
  add_halves<smaller, smaller, ieee>(table, "v_pk_min_f16");
  add_halves<larger, larger, ieee>(table, "v_pk_max_f16");
  add_halves<fused_sum>(table, "v_pk_fma_f16");
  add_halves<fused_sum, fused_sum, Options{.accumulates = true}>(table, "v_pk_fmac_f16");
}

// ---- Two words ----

const u32* selected_word(const Wave& wave, const Instruction& instruction, unsigned source,
                         bool high, u32* storage) {
  // Inline constants are 32 bits; what a high word of them would be is not documented.
  if (high && instruction.sources[source].kind == OperandKind::constant)
    not_emulated(instruction, "the high word of a constant");
  return fetch_word(wave, instruction, source, high, storage);
}

template <auto function, std::size_t... n>
void run_words(Wave& wave, const Instruction& instruction, std::index_sequence<n...>) {
  check_float_mode(wave, instruction, false);
  alignas(64) u32 result[2][wave_lanes];
  for (unsigned half = 0; half < 2; ++half) {
    alignas(64) u32 storage[sizeof...(n)][wave_lanes];
    const u32* words[] = {
        selected_word(wave, instruction, n, selects_high(instruction, n, half), storage[n])...};
    const u32 flips[] = {(negates(instruction, n, half) ? 0x80000000u : 0u)...};
    const auto read = [&](unsigned source) {
      if (!(wave.mode & mode::f32_input)) [[unlikely]] {
        flush_denormals(words[source], storage[source]);
        words[source] = storage[source];
      }
    };
    (read(n), ...);
    const auto value = [&](unsigned source, unsigned lane) {
      return std::bit_cast<float>(words[source][lane] ^ flips[source]);
    };
    u32 nans = 0;
    INDEPENDENT_LANES
    for (unsigned i = 0; i < wave_lanes; ++i) {
      const float x = function(value(n, i)...);
      nans |= is_nan(x);
      result[half][i] = std::bit_cast<u32>(x);
    }
    if (nans) [[unlikely]]
      for (unsigned i = 0; i < wave_lanes; ++i)
        result[half][i] =
            std::bit_cast<u32>(chosen_nan(std::bit_cast<float>(result[half][i]), value(n, i)...));
    if (!(wave.mode & mode::f32_output)) [[unlikely]]
      flush_denormals(result[half], result[half]);
    if (instruction.clamp) [[unlikely]]
      for (unsigned i = 0; i < wave_lanes; ++i)
        result[half][i] = std::bit_cast<u32>(modify_output(std::bit_cast<float>(result[half][i]), 0,
                                                           true, wave.mode & mode::dx10_clamp));
  }
  store64(wave, instruction, result[0], result[1]);
}

template <auto function, std::size_t count>
void add_words(VectorTable table, std::string_view name) {
  constexpr auto execute = [](Wave& wave, const Instruction& instruction) {
    run_words<function>(wave, instruction, std::make_index_sequence<count>{});
  };
  table.add_special(name, execute, {Type::packed_f32, Type::packed_f32, Type::packed_f32});
}

/// The low word comes from the first source, the high one from the second; op_sel chooses words.
void move_pair(Wave& wave, const Instruction& instruction) {
  alignas(64) u32 storage[2][wave_lanes], low[wave_lanes], high[wave_lanes];
  const bool first = instruction.op_sel & 1, second = instruction.op_sel >> 1 & 1;
  std::memcpy(low, selected_word(wave, instruction, 0, first, storage[0]), sizeof low);
  std::memcpy(high, selected_word(wave, instruction, 1, second, storage[1]), sizeof high);
  store64(wave, instruction, low, high);
}

// ---- Sources of mixed widths ----

/// v_fma_mix: op_sel_hi makes a source an f16, op_sel then says which half; the signs act on what
/// was read.
float mixed_value(const Instruction& instruction, unsigned source, u32 word) {
  const Operand& operand = instruction.sources[source];
  const bool is_half = instruction.op_sel_hi >> source & 1;
  const bool high = instruction.op_sel >> source & 1;
  float x = is_half ? LaneType<Half>::from((word >> (high ? 16 : 0)) & 0xFFFF).value
                    : std::bit_cast<float>(word);
  if (operand.absolute) x = std::fabs(x);
  return operand.negate ? -x : x;
}

enum class MixTarget { word, low_half, high_half };

template <MixTarget target>
void fused_mix(Wave& wave, const Instruction& instruction) {
  check_float_mode(wave, instruction, true);
  if ((wave.mode & mode::f32_input) == 0 || (wave.mode & mode::f32_output) == 0)
    not_emulated(instruction, "f32 denormals are flushed");
  alignas(64) u32 storage[most_sources][wave_lanes], result[wave_lanes];
  const u32* words[most_sources];
  for (unsigned n = 0; n < most_sources; ++n) {
    if (instruction.sources[n].kind == OperandKind::constant && instruction.op_sel_hi >> n & 1)
      not_emulated(instruction, "a constant as f16");
    words[n] = fetch_word(wave, instruction, n, 0, storage[n]);
  }
  const u32* old = wave.vector[instruction.targets[0].index].lane;
  for (unsigned i = 0; i < wave_lanes; ++i) {
    const auto value = [&](unsigned n) { return mixed_value(instruction, n, words[n][i]); };
    float x = chosen_nan(std::fma(value(0), value(1), value(2)), value(0), value(1), value(2));
    if (instruction.clamp) x = modify_output(x, 0, true, wave.mode & mode::dx10_clamp);
    if constexpr (target == MixTarget::word)
      result[i] = std::bit_cast<u32>(x);
    else if constexpr (target == MixTarget::low_half)
      result[i] = (old[i] & 0xFFFF0000) | f16_from_f32(x);
    else
      result[i] = (old[i] & 0xFFFF) | u32{f16_from_f32(x)} << 16;
  }
  store32(wave, instruction, result);
}

}  // namespace

void add_packed(VectorTable table) {
  add_packed_integers<u16>(
      table, {"v_pk_add_u16", "v_pk_sub_u16", "v_pk_mad_u16", "v_pk_min_u16", "v_pk_max_u16"});
  add_packed_integers<i16>(
      table, {"v_pk_add_i16", "v_pk_sub_i16", "v_pk_mad_i16", "v_pk_min_i16", "v_pk_max_i16"});
  add_packed_shifts(table);
  add_packed_halves(table);

  add_words<[](float a, float b) { return a + b; }, 2>(table, "v_pk_add_f32");
  add_words<[](float a, float b) { return a * b; }, 2>(table, "v_pk_mul_f32");
  add_words<[](float a, float b, float c) { return std::fma(a, b, c); }, 3>(table, "v_pk_fma_f32");
  // Its constants are bits.
  table.add_special("v_pk_mov_b32", move_pair, {Type::b64, Type::b64});

  constexpr std::array<Type, 4> floats{Type::f32, Type::f32, Type::f32};
  table.add_special("v_fma_mix_f32", fused_mix<MixTarget::word>, floats);
  table.add_special("v_fma_mixlo_f16", fused_mix<MixTarget::low_half>, floats).reads_target = true;
  table.add_special("v_fma_mixhi_f16", fused_mix<MixTarget::high_half>, floats).reads_target = true;
}

}  // namespace mi300x
