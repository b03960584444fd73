// Functions that the chip approximates. They are computed in double and rounded once, which is
// within the chip's documented error (1 ulp of f32 and f16; estimates of f64 for Newton's steps are
// exact here). So results may differ from a chip's in the last bits. f32 denormals are treated as 0
// in every mode.
#include "emulator/vector_operation.h"

namespace mi300x {

namespace {

float reciprocal(float x) {
  return 1.0f / x;
}
float reciprocal_root(float x) {
  return float(1.0 / std::sqrt(double(x)));
}
float root(float x) {
  return std::sqrt(x);
}
float power_of_two(float x) {
  return float(std::exp2(double(x)));
}
float logarithm(float x) {
  return float(std::log2(double(x)));
}

constexpr double turn = 6.283185307179586476925;
constexpr float most_turns = 256;  ///< beyond this number of turns sine is 0 and cosine 1

/// Returns the sine of an angle in turns. Reducing it to one turn is exact.
float sine(float turns) {
  if (std::fabs(turns) > most_turns && !std::isinf(turns)) return 0;
  return float(std::sin(turn * (double(turns) - std::nearbyint(double(turns)))));
}
float cosine(float turns) {
  if (std::fabs(turns) > most_turns && !std::isinf(turns)) return 1;
  return float(std::cos(turn * (double(turns) - std::nearbyint(double(turns)))));
}

template <auto f>
void add_function(VectorTable table, std::string_view f32_name, std::string_view f16_name) {
  table.add<f, Options{.flushes = true, .transcendental = true}>(f32_name);
  table.add<[](Half x) { return Half{f(x.value)}; }, Options{.transcendental = true}>(f16_name);
}

}  // namespace

void add_transcendentals(VectorTable table) {
  add_function<reciprocal>(table, "v_rcp_f32", "v_rcp_f16");
  add_function<reciprocal_root>(table, "v_rsq_f32", "v_rsq_f16");
  add_function<root>(table, "v_sqrt_f32", "v_sqrt_f16");
  add_function<power_of_two>(table, "v_exp_f32", "v_exp_f16");
  add_function<logarithm>(table, "v_log_f32", "v_log_f16");
  add_function<sine>(table, "v_sin_f32", "v_sin_f16");
  add_function<cosine>(table, "v_cos_f32", "v_cos_f16");

  constexpr Options flushing{.flushes = true, .transcendental = true};
  table.add<reciprocal, flushing>("v_rcp_iflag_f32");
  table.add<power_of_two, flushing>("v_exp_legacy_f32");
  table.add<logarithm, flushing>("v_log_legacy_f32");

  constexpr Options slow{.transcendental = true};
  table.add<[](double x) { return 1 / x; }, slow>("v_rcp_f64");
  table.add<[](double x) { return 1 / std::sqrt(x); }, slow>("v_rsq_f64");
  table.add<[](double x) { return std::sqrt(x); }, slow>("v_sqrt_f64");
}

}  // namespace mi300x
