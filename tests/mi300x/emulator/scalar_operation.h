// Makes scalar operations from functions of their operands' values; the types of the function
// determine what is read and written.
#pragma once

#include <type_traits>
#include <utility>

#include "emulator/wave.h"

namespace mi300x {

/// Argument types: the condition code, and the target's old value.
struct Scc {
  bool set;
};
template <class T>
struct Old {
  T value;
};
/// A result that also sets the condition code.
template <class T>
struct WithScc {
  T value;
  bool scc;
};

template <class T>
constexpr bool is_old = false;
template <class T>
constexpr bool is_old<Old<T>> = true;
template <class T>
constexpr bool sets_scc = false;
template <class T>
constexpr bool sets_scc<WithScc<T>> = true;

template <auto function, class Signature>
struct ScalarExecutor;

template <auto function, class Result, class... Arguments>
struct ScalarExecutor<function, Result (*)(Arguments...)> {
  /// Counts the arguments before `n` that are operands of the text.
  template <std::size_t n>
  static constexpr unsigned source_of() {
    constexpr bool from_text[] = {!(std::same_as<Arguments, Scc> || is_old<Arguments>)...};
    unsigned source = 0;
    for (std::size_t i = 0; i < n; ++i) source += from_text[i];
    return source;
  }

  template <std::size_t n, class T>
  static T argument(const Wave& wave, const Instruction& instruction) {
    if constexpr (std::same_as<T, Scc>)
      return {wave.scc};
    else if constexpr (is_old<T>) {
      using Value = decltype(T::value);
      const unsigned index = instruction.targets[0].index;
      return {static_cast<Value>(sizeof(Value) == 8 ? wave.scalar64(index) : wave.scalar32(index))};
    } else
      return static_cast<T>(read_scalar(wave, instruction.sources[source_of<n>()]));
  }

  template <class T>
  static void store(Wave& wave, const Instruction& instruction, T value) {
    const unsigned index = instruction.targets[0].index;
    if constexpr (sizeof(T) == 8)
      wave.set_scalar64(index, u64(value));
    else
      wave.set_scalar32(index, u32(value));
  }

  template <std::size_t... n>
  static void run(Wave& wave, const Instruction& instruction, std::index_sequence<n...>) {
    const Result result = function(argument<n, Arguments>(wave, instruction)...);
    if constexpr (std::same_as<Result, bool>) {
      wave.scc = result;
    } else if constexpr (sets_scc<Result>) {
      store(wave, instruction, result.value);
      wave.scc = result.scc;
    } else {
      store(wave, instruction, result);
    }
  }
  static void execute(Wave& wave, const Instruction& instruction) {
    run(wave, instruction, std::index_sequence_for<Arguments...>{});
  }
};

class ScalarTable {
 public:
  explicit ScalarTable(OperationTable& table) : table_(table) {}

  /// Adds an operation that is a function of its operands.
  template <auto function>
  Operation& add(std::string_view name) {
    return describe<function>(name, +function);
  }
  /// Adds an operation whose condition code is set if the result is not 0.
  template <auto function>
  Operation& add_nonzero(std::string_view name) {
    return describe_nonzero<function>(name, +function);
  }
  /// Adds an operation on more of the wave than its operands.
  Operation& add_special(std::string_view name, void (*execute)(Wave&, const Instruction&),
                         u8 targets, Unit unit = Unit::scalar) {
    Operation& operation = table_[name];
    operation.name = name;
    operation.execute = execute;
    operation.unit = unit;
    operation.targets = targets;
    return operation;
  }

 private:
  template <class T>
  static constexpr Type type_of() {
    return sizeof(T) == 8 ? Type::b64 : Type::b32;
  }

  template <auto function, class Result, class... Arguments>
  Operation& describe(std::string_view name, Result (*)(Arguments...)) {
    using Executor = ScalarExecutor<function, Result (*)(Arguments...)>;
    Operation& operation = add_special(name, Executor::execute, std::same_as<Result, bool> ? 0 : 1);
    unsigned source = 0;
    const auto describe_argument = [&]<class T>(std::type_identity<T>) {
      if constexpr (std::same_as<T, Scc>)
        operation.reads_scc = true;
      else if constexpr (is_old<T>)
        operation.reads_target = true;
      else
        operation.sources[source++] = type_of<T>();
    };
    (describe_argument(std::type_identity<Arguments>{}), ...);
    operation.writes_scc = std::same_as<Result, bool> || sets_scc<Result>;
    return operation;
  }

  template <auto function, class Result, class... Arguments>
  Operation& describe_nonzero(std::string_view name, Result (*)(Arguments...)) {
    constexpr auto with_scc = [](Arguments... arguments) {
      const Result result = function(arguments...);
      return WithScc<Result>{result, result != 0};
    };
    return describe<with_scc>(name, +with_scc);
  }

  OperationTable& table_;
};

// These are the parts of add_scalar_operations().
void add_scalar_arithmetic(ScalarTable);  // scalar.cpp
void add_scalar_bits(ScalarTable);        // scalar_bits.cpp
void add_scalar_control(ScalarTable);     // scalar_control.cpp: PC, EXEC, hardware registers

}  // namespace mi300x
