// v_cmp_* and v_cmpx_*: one bit per lane into a pair of scalar registers; v_cmpx into EXEC too.
#include <deque>
#include <string>

#include "emulator/vector_operation.h"

namespace mi300x {

namespace {

/// Keeps generated names alive, because the table holds views.
std::string_view kept_name(std::string name) {
  static std::deque<std::string> names;
  return names.emplace_back(std::move(name));
}

template <auto predicate, Options options>
void compare_into_exec(Wave& wave, const Instruction& instruction) {
  Executor<predicate, options, decltype(+predicate)>::execute(wave, instruction);
  wave.set_exec(wave.scalar64(instruction.targets[0].index));
}

template <auto predicate, Options options = Options{}>
void add_comparison(VectorTable table, const std::string& what) {
  table.add<predicate, options>(kept_name("v_cmp_" + what));
  Operation& into_exec = table.add<predicate, options>(kept_name("v_cmpx_" + what));
  into_exec.execute = compare_into_exec<predicate, options>;
  into_exec.writes_exec = true;
}

template <class T>
void add_integer_comparisons(VectorTable table, const std::string& type) {
  add_comparison<[](T, T) { return false; }>(table, "f_" + type);
  add_comparison<[](T a, T b) { return (a < b); }>(table, "lt_" + type);
  add_comparison<[](T a, T b) { return a == b; }>(table, "eq_" + type);
  add_comparison<[](T a, T b) { return a <= b; }>(table, "le_" + type);
  add_comparison<[](T a, T b) { return (a > b); }>(table, "gt_" + type);
  add_comparison<[](T a, T b) { return a != b; }>(table, "ne_" + type);
  add_comparison<[](T a, T b) { return (a >= b); }>(table, "ge_" + type);
  add_comparison<[](T, T) { return true; }>(table, "t_" + type);
}

float number(float x) {
  return x;
}
double number(double x) {
  return x;
}
float number(Half x) {
  return x.value;
}
template <class T>
bool ordered(T a, T b) {
  return !is_nan(a) && !is_nan(b);
}

template <class T>
void add_float_comparisons(VectorTable table, const std::string& type) {
  add_comparison<[](T, T) { return false; }>(table, "f_" + type);
  add_comparison<[](T a, T b) { return (number(a) < number(b)); }>(table, "lt_" + type);
  add_comparison<[](T a, T b) { return number(a) == number(b); }>(table, "eq_" + type);
  add_comparison<[](T a, T b) { return number(a) <= number(b); }>(table, "le_" + type);
  add_comparison<[](T a, T b) { return (number(a) > number(b)); }>(table, "gt_" + type);
  add_comparison<[](T a, T b) { return ordered(a, b) && number(a) != number(b); }>(table,
                                                                                   "lg_" + type);
  add_comparison<[](T a, T b) { return (number(a) >= number(b)); }>(table, "ge_" + type);
  add_comparison<[](T a, T b) { return ordered(a, b); }>(table, "o_" + type);
  add_comparison<[](T a, T b) { return !ordered(a, b); }>(table, "u_" + type);
  add_comparison<[](T a, T b) { return !(number(a) >= number(b)); }>(table, "nge_" + type);
  add_comparison<[](T a, T b) { return !ordered(a, b) || number(a) == number(b); }>(table,
                                                                                    "nlg_" + type);
  add_comparison<[](T a, T b) { return !(number(a) > number(b)); }>(table, "ngt_" + type);
  add_comparison<[](T a, T b) { return !(number(a) <= number(b)); }>(table, "nle_" + type);
  add_comparison<[](T a, T b) { return number(a) != number(b); }>(table, "neq_" + type);
  add_comparison<[](T a, T b) { return !(number(a) < number(b)); }>(table, "nlt_" + type);
  add_comparison<[](T, T) { return true; }>(table, "tru_" + type);
}

/// Returns whether x belongs to one of the classes in `wanted`: bits 0-9 are signalling NaN, quiet
/// NaN, -infinity, -normal, -denormal, -0, 0, denormal, normal, infinity.
template <class Bits, unsigned fraction_bits>
bool of_class(Bits x, u32 wanted) {
  constexpr unsigned sign_bit = 8 * sizeof(Bits) - 1;
  constexpr u64 one = 1, infinity = (one << sign_bit) - (one << fraction_bits);
  const u64 magnitude = u64{x} & ((one << sign_bit) - 1);
  const bool negative = u64{x} >> sign_bit & 1;
  const bool is_quiet = magnitude >> (fraction_bits - 1) & 1;
  const unsigned size = magnitude == 0                     ? 0
                        : magnitude < one << fraction_bits ? 1
                        : magnitude < infinity             ? 2
                                                           : 3;
  const unsigned number_class = negative ? 5 - size : 6 + size;
  return wanted >> (magnitude > infinity ? unsigned{is_quiet} : number_class) & 1;
}

template <auto predicate>
void add_class(VectorTable table, const std::string& type, Type source) {
  add_comparison<predicate>(table, "class_" + type);
  // Modifiers and constants are those of a float, whatever type the function takes.
  table.set_source_type("v_cmp_class_" + type, 0, source);
  table.set_source_type("v_cmpx_class_" + type, 0, source);
}

}  // namespace

void add_comparisons(VectorTable table) {
  add_integer_comparisons<u16>(table, "u16");
  add_integer_comparisons<i16>(table, "i16");
  add_integer_comparisons<u32>(table, "u32");
  add_integer_comparisons<i32>(table, "i32");
  add_integer_comparisons<u64>(table, "u64");
  add_integer_comparisons<i64>(table, "i64");
  add_float_comparisons<Half>(table, "f16");
  add_float_comparisons<float>(table, "f32");
  add_float_comparisons<double>(table, "f64");
  add_class<of_class<u16, 10>>(table, "f16", Type::f16);
  add_class<of_class<u32, 23>>(table, "f32", Type::f32);
  add_class<of_class<u64, 52>>(table, "f64", Type::f64);
}

}  // namespace mi300x
