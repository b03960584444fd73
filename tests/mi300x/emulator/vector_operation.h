// Makes vector operations from functions of one lane's values: the types of the function say how
// sources are read and how the result is stored.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "emulator/lane_type.h"

namespace mi300x {

/// A result with one bit per lane beside it: a carry, or what v_div_scale tells v_div_fmas.
template <class T>
struct WithMask {
  T value;
  u32 bit;  ///< 0 or 1; a bool would keep compilers from working on many lanes at a time
};
template <class T>
constexpr bool has_mask = false;
template <class T>
constexpr bool has_mask<WithMask<T>> = true;

/// What an operation does besides its function.
struct Options {
  bool accumulates = false;  ///< the function's last argument is the target's old value
  bool takes_vcc = false;    ///< the function's last argument is VCC, which the text does not name
  bool keeps_half = false;   ///< a 16-bit result leaves the other half of its register
  bool flushes = false;      ///< takes f32 denormals for 0, whatever MODE says
  bool transcendental = false;  ///< executed at a quarter of the rate
  bool saturates = false;       ///< an integer operation that knows clamp
  bool exact = false;           ///< the bits of a float result are final: a move, not arithmetic
  bool needs_ieee = false;      ///< the function follows the rules of MODE.IEEE, NaNs included
};

// ---- Floats ----

/// f32 denormals as zeros of their sign.
inline void flush_denormals(const u32* from, u32* to) {
  for (unsigned i = 0; i < wave_lanes; ++i)
    to[i] = from[i] & (from[i] & 0x7F800000 ? 0xFFFFFFFF : 0x80000000);
}

inline bool is_nan(float x) {
  return x != x;
}
inline bool is_nan(double x) {
  return x != x;
}
inline bool is_nan(Half x) {
  return x.value != x.value;
}
inline Half quiet(Half x) {
  return {quiet(x.value)};
}
inline bool is_signalling(float x) {
  return is_nan(x) && !(std::bit_cast<u32>(x) & 0x400000);
}
inline bool is_signalling(double x) {
  return is_nan(x) && !(std::bit_cast<u64>(x) >> 51 & 1);
}
template <class T>
inline T default_nan() {
  if constexpr (std::same_as<T, Half>)
    return {std::numeric_limits<float>::quiet_NaN()};
  else
    return std::numeric_limits<T>::quiet_NaN();
}

/// A NaN among results: the hardware gives the first NaN among the sources, made quiet, or
/// 0x7FC00000 where there is none; hosts choose otherwise.
template <class T, class... Sources>
T chosen_nan(T result, Sources... sources) {
  if (!is_nan(result)) return result;
  T chosen = default_nan<T>();
  bool found = false;
  const auto consider = [&](auto value) {
    if constexpr (std::same_as<decltype(value), T>)
      if (!found && is_nan(value)) {
        chosen = quiet(value);
        found = true;
      }
  };
  (consider(sources), ...);
  return chosen;
}

/// Refuses settings of MODE that float arithmetic does not support; `wide`: f64 or f16 take part.
inline void check_float_mode(const Wave& wave, const Instruction& instruction, bool wide) {
  if (wave.mode & mode::rounding) [[unlikely]]
    not_emulated(instruction, "rounds otherwise than to nearest even");
  if (!wide) return;
  if ((wave.mode & mode::wide_denormals) != mode::wide_denormals) [[unlikely]]
    not_emulated(instruction, "denormals of f64 and f16 are flushed");
  if (wave.mode & mode::f16_overflow) [[unlikely]]
    not_emulated(instruction, "MODE.FP16_OVFL is set");
}

/// Output modifier and clamp, in the hardware's order.
template <class T>
T modify_output(T x, unsigned modifier, bool clamp, bool nan_to_zero) {
  static constexpr T factors[] = {1, 2, 4, T(0.5)};
  if (modifier) x = x * factors[modifier] + T(0);
  if (!clamp) return x;
  if (is_nan(x)) return nan_to_zero ? T(0) : x;
  return x > 0 ? std::min(x, T(1)) : T(0);
}

// ---- Executing ----

template <auto function, Options options, class Signature>
struct Executor;

template <auto function, Options options, class Result, class... Arguments>
struct Executor<function, options, Result (*)(Arguments...)> {
  static constexpr std::size_t count = sizeof...(Arguments);
  static constexpr bool uses_wide_floats =
      (std::same_as<Arguments, double> || ... || std::same_as<Result, double>) ||
      (std::same_as<Arguments, Half> || ... || std::same_as<Result, Half>);

  static void execute(Wave& wave, const Instruction& instruction) {
    run(wave, instruction, std::index_sequence_for<Arguments...>{});
  }

 private:
  template <std::size_t n, class T>
  static LaneSource<T> fetch(const Wave& wave, const Instruction& instruction,
                             LaneArray<T>& storage) {
    LaneSource<T> lanes;
    if constexpr (options.accumulates && n + 1 == count)
      lanes = LaneType<T>::fetch_target(
          wave, vector_index(wave, instruction.targets[0], target_role), storage);
    else if constexpr (options.takes_vcc && n + 1 == count) {
      spread_mask(wave.vcc(), storage.lane);
      lanes = storage.lane;
    } else
      lanes = LaneType<T>::fetch(wave, instruction, n, storage);
    if constexpr (std::same_as<T, float> && !options.exact)
      if (options.flushes || !(wave.mode & mode::f32_input)) {
        flush_denormals(lanes, storage.lane);
        return storage.lane;
      }
    return lanes;
  }

  static void check_mode(const Wave& wave, const Instruction& instruction) {
    if constexpr ((Floating<Result> || uses_wide_floats) && !options.exact)
      check_float_mode(wave, instruction, uses_wide_floats);
    if constexpr ((!Floating<Result> || options.exact) && !options.saturates)
      if (instruction.clamp || instruction.output_modifier) [[unlikely]]
        not_emulated(instruction, "clamp or omod of this operation");
  }

  template <std::size_t... n>
  static void run(Wave& wave, const Instruction& instruction, std::index_sequence<n...>) {
    check_mode(wave, instruction);
    std::tuple<LaneArray<Arguments>...> storage;
    const std::tuple<LaneSource<Arguments>...> sources{
        fetch<n, Arguments>(wave, instruction, std::get<n>(storage))...};
    if constexpr (options.needs_ieee)
      if (!(wave.mode & mode::ieee)) [[unlikely]]
        refuse_nans(instruction, sources, std::index_sequence<n...>{});
    if constexpr (!has_mask<Result>) {
      LaneArray<Result> result;
      INDEPENDENT_LANES
      for (unsigned i = 0; i < wave_lanes; ++i)
        result.set(i, function(LaneType<Arguments>::from(std::get<n>(sources)[i])...));
      if constexpr (Floating<Result> && !options.exact) {
        if constexpr (!options.needs_ieee)
          choose_nans(result, sources, std::index_sequence<n...>{});
        finish_floats(wave, instruction, result);
      }
      store<Result>(wave, instruction, result);
    } else {
      using Value = decltype(Result::value);
      LaneArray<Value> result;
      LaneArray<bool> bits;
      INDEPENDENT_LANES
      for (unsigned i = 0; i < wave_lanes; ++i) {
        const Result both = function(LaneType<Arguments>::from(std::get<n>(sources)[i])...);
        result.set(i, both.value);
        bits.lane[i] = -both.bit;
      }
      store<Value>(wave, instruction, result);
      store_mask(wave, instruction, instruction.targets[1], gather_mask(bits.lane));
    }
  }

  /// Without MODE.IEEE the function differs for NaNs alone.
  template <class Sources, std::size_t... n>
  static void refuse_nans(const Instruction& instruction, const Sources& sources,
                          std::index_sequence<n...>) {
    u32 any = 0;
    for (unsigned i = 0; i < wave_lanes; ++i)
      any |= (is_nan(LaneType<Arguments>::from(std::get<n>(sources)[i])) | ...);
    if (any) not_emulated(instruction, "of a NaN while MODE.IEEE is off");
  }

  template <class Sources, std::size_t... n>
  static void choose_nans(LaneArray<Result>& result, const Sources& sources,
                          std::index_sequence<n...>) {
    if constexpr ((std::same_as<Arguments, Result> || ...)) {
      u32 any = 0;
      for (unsigned i = 0; i < wave_lanes; ++i) any |= is_nan(LaneType<Result>::from(result[i]));
      if (!any) [[likely]]
        return;
      for (unsigned i = 0; i < wave_lanes; ++i)
        result.set(i, chosen_nan(LaneType<Result>::from(result[i]),
                                 LaneType<Arguments>::from(std::get<n>(sources)[i])...));
    }
  }

  static void finish_floats(const Wave& wave, const Instruction& instruction,
                            LaneArray<Result>& result) {
    if constexpr (std::same_as<Result, float>)
      if (options.flushes || !(wave.mode & mode::f32_output)) [[unlikely]]
        flush_denormals(result.lane, result.lane);
    if (!instruction.clamp && !instruction.output_modifier) [[likely]]
      return;
    // The ISA: omod is ignored in IEEE mode and where denormals are results.
    const bool denormal_results =
        wave.mode & (std::same_as<Result, float> ? mode::f32_output : mode::wide_denormals);
    const unsigned modifier =
        wave.mode & mode::ieee || denormal_results ? 0 : instruction.output_modifier;
    for (unsigned i = 0; i < wave_lanes; ++i) {
      Result x = LaneType<Result>::from(result[i]);
      if constexpr (std::same_as<Result, Half>)
        x.value = modify_output(x.value, modifier, instruction.clamp, wave.mode & mode::dx10_clamp);
      else
        x = modify_output(x, modifier, instruction.clamp, wave.mode & mode::dx10_clamp);
      result.set(i, x);
    }
  }

  template <class T>
  static void store(Wave& wave, const Instruction& instruction, const LaneArray<T>& result) {
    if constexpr (std::same_as<T, bool>)
      store_mask(wave, instruction, instruction.targets[0], gather_mask(result.lane));
    else if constexpr (HalfWord<T>)
      store16(wave, instruction, result.lane, options.keeps_half);
    else if constexpr (sizeof(T) == 8)
      store64(wave, instruction, result.low, result.high);
    else
      store32(wave, instruction, result.lane);
  }
};

/// `exact` gives the result before it is cut to T; the ends of T hold what does not fit.
template <auto exact, class T, class... Arguments>
T saturated(Arguments... arguments) {
  using Limits = std::numeric_limits<T>;
  return T(std::clamp<i64>(exact(arguments...), Limits::min(), Limits::max()));
}

// ---- Tables ----

class VectorTable {
 public:
  explicit VectorTable(OperationTable& table) : table_(table) {}

  /// An operation computed lane by lane.
  template <auto function, Options options = Options{}>
  Operation& add(std::string_view name) {
    using Signature = decltype(+function);
    return describe<options>(name, Executor<function, options, Signature>::execute, Signature{});
  }

  /// An integer operation whose clamp saturates: `function` wraps, `exact` gives an i64.
  template <auto function, auto exact, Options options = Options{}>
  Operation& add_saturating(std::string_view name) {
    return describe_saturating<function, exact, options>(name, +function);
  }

  /// An operation that needs more than one lane's values.
  Operation& add_special(std::string_view name, void (*execute)(Wave&, const Instruction&),
                         std::array<Type, 4> sources = {Type::b32, Type::b32, Type::b32,
                                                        Type::b32}) {
    Operation& operation = table_[name];
    operation.name = name;
    operation.execute = execute;
    operation.unit = Unit::vector;
    operation.sources = sources;
    return operation;
  }

  void set_source_type(std::string_view name, unsigned source, Type type) {
    table_.at(name).sources[source] = type;
  }

 private:
  template <Options options, class Result, class... Arguments>
  Operation& describe(std::string_view name, void (*execute)(Wave&, const Instruction&),
                      Result (*)(Arguments...)) {
    Operation& operation = add_special(name, execute, {LaneType<Arguments>::type...});
    if (options.transcendental) operation.unit = Unit::transcendental;
    operation.targets = has_mask<Result> ? 2 : 1;
    operation.reads_vcc = options.takes_vcc;
    operation.reads_target = options.accumulates || options.keeps_half;
    return operation;
  }

  template <auto function, auto exact, Options options, class Result, class... Arguments>
  Operation& describe_saturating(std::string_view name, Result (*signature)(Arguments...)) {
    static constexpr auto saturating = [](Wave& wave, const Instruction& instruction) {
      static constexpr Options with_clamp = [] {
        Options with = options;
        with.saturates = true;
        return with;
      }();
      using Signature = Result (*)(Arguments...);
      if (instruction.clamp) [[unlikely]]
        Executor<saturated<exact, Result, Arguments...>, with_clamp, Signature>::execute(
            wave, instruction);
      else
        Executor<function, options, Signature>::execute(wave, instruction);
    };
    return describe<options>(name, saturating, signature);
  }

  OperationTable& table_;
};

// vector_*.cpp, each its own idea.
void add_moves(VectorTable);
void add_integers(VectorTable);
void add_floats(VectorTable);
void add_transcendentals(VectorTable);
void add_divisions(VectorTable);
void add_conversions(VectorTable);
void add_comparisons(VectorTable);
void add_packed(VectorTable);
void add_dots(VectorTable);

}  // namespace mi300x
