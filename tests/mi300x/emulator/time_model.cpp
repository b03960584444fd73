#include "emulator/time_model.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "advise/occupancy/occupancy.h"

namespace mi300x {
namespace {

using std::string_view;

bool contains(string_view text, string_view part) {
  return text.find(part) != string_view::npos;
}

// ---- Vector instructions ----

// A SIMD has 16 lanes, so a wave takes 4 cycles; the rates of the slower ones are those of LLVM's
// SISchedule.td (quarter rate of 32 bits: 16 cycles; f64 of CDNA2 and 3 at full rate).
constexpr u16 full_rate = 4, quarter_rate = 16, transcendental_f64 = 32;

u16 vector_cycles(string_view name, Unit unit) {
  if (unit == Unit::transcendental)
    return contains(name, "_f64") ? transcendental_f64 : quarter_rate;
  for (const string_view slow : {"v_mul_lo_u32", "v_mul_hi_", "v_mad_u64_u32", "v_mad_i64_i32"})
    if (name.starts_with(slow)) return quarter_rate;
  return full_rate;
}

// ---- Matrix instructions ----

/// FLOP of a compute unit per cycle, dense; CDNA3's and CDNA2's data sheets. Four SIMDs share it.
unsigned matrix_rate(string_view inputs, bool cdna3) {
  if (inputs.starts_with("f64") || inputs.starts_with("f32")) return 256;
  if (inputs.starts_with("xf32")) return 1024;
  if (contains(inputs, "fp8") || contains(inputs, "bf8")) return 4096;
  if (inputs.starts_with("i8")) return cdna3 ? 4096 : 1024;
  if (inputs == "bf16") return cdna3 ? 2048 : 512;  // CDNA2's older form, without _1k
  return cdna3 ? 2048 : 1024;
}

/// A number that `text` begins with, which is then removed.
unsigned take_number(string_view& text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc()) text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// Cycles of the matrix core: FLOP over rate, in whole passes of 4, two at least. The name holds
/// the shape: v_mfma_f32_32x32x8_f16, v_mfma_f32_4x4x4_16b_f16, v_mfma_f32_32x32x8bf16_1k.
u16 matrix_cycles(string_view name, const std::string& arch) {
  const bool cdna3 = arch.starts_with("gfx94"), sparse = name.starts_with("v_smfmac");
  const std::size_t shape = name.find('_', name.find('_', 2) + 1) + 1;
  string_view rest = name.substr(shape);
  u64 products = take_number(rest);
  for (int side = 0; side < 2 && rest.starts_with('x'); ++side) {
    rest.remove_prefix(1);
    products *= take_number(rest);
  }
  if (rest.starts_with('_')) rest.remove_prefix(1);
  const u64 rows = products;
  string_view after = rest;
  if (const u64 blocks = take_number(after); blocks > 0 && after.starts_with("b_")) {
    products = rows * blocks;
    rest = after.substr(2);
  }
  const u64 flops = 2 * products / (sparse ? 2 : 1), per_simd = matrix_rate(rest, cdna3) / 4;
  return static_cast<u16>(std::max<u64>(8, (flops / per_simd + 3) / 4 * 4));
}

// ---- Memory instructions ----

/// Bytes of one lane, by the name's ending: global_load_dwordx4, ds_read2st64_b32, ..._add_f64.
unsigned lane_bytes(string_view name) {
  unsigned bytes = 4;
  if (contains(name, "x4") || contains(name, "b128")) {
    bytes = 16;
  } else if (contains(name, "x3") || contains(name, "b96")) {
    bytes = 12;
  } else if (contains(name, "x2") || contains(name, "64")) {
    bytes = 8;
  } else if (contains(name, "byte") || name.ends_with("8")) {
    bytes = 1;
  } else if (contains(name, "short") || contains(name, "16")) {
    bytes = 2;
  }
  return bytes;
}

/// ds_read2, ds_write2 and their st64 forms move two elements.
unsigned local_bytes(string_view name) {
  if (contains(name, "2st64_b64") || contains(name, "2_b64")) return 16;
  if (contains(name, "2st64_b32") || contains(name, "2_b32")) return 8;
  return lane_bytes(name);
}

constexpr unsigned local_bytes_per_cycle = 128;  // 32 banks of 4 bytes (finetune_tuning.md B2)
constexpr unsigned cache_bytes_per_cycle = 64;   // of a compute unit's vector L1 (CDNA3's manual)

// ---- Launches ----

/// From the packet to the first wave and back to the host's signal. A guess of the usual size.
constexpr double launch_seconds = 4e-6;

}  // namespace

Price price(const Instruction& instruction, const std::string& arch) {
  const string_view name = instruction.operation->name;
  Price price;
  switch (instruction.operation->unit) {
    case Unit::vector:
    case Unit::transcendental:
      price.cycles = vector_cycles(name, instruction.operation->unit);
      break;
    case Unit::matrix:
      price.cycles = matrix_cycles(name, arch);
      break;
    case Unit::local:
      price.cycles =
          static_cast<u16>(std::max(4u, local_bytes(name) * wave_lanes / local_bytes_per_cycle));
      break;
    case Unit::global:
    case Unit::flat:
    case Unit::scratch:
      if (instruction.target_count + instruction.source_count == 0) break;  // of a cache
      price.global_bytes = static_cast<u8>(lane_bytes(name));
      price.cycles =
          static_cast<u16>(std::max(4u, lane_bytes(name) * wave_lanes / cache_bytes_per_cycle));
      break;
    case Unit::program:
      if (name == "s_sleep") {
        price.sleeps = true;  // 64 cycles a count
        price.cycles = static_cast<u16>(64 * (instruction.immediate & 0x7F) + 4);
      } else if (name == "s_nop") {
        price.cycles = static_cast<u16>(4 + 4 * (instruction.immediate & 0xF));
      }
      break;
    case Unit::scalar:
    case Unit::scalar_memory:
      break;
  }
  return price;
}

unsigned groups_per_unit(const KernelInfo& kernel, unsigned waves, u64 shared_bytes,
                         const Chip& chip) {
  namespace occupancy = assay::occupancy;
  const occupancy::AmdLimits limits{chip.arch, chip.shared_bytes_per_unit, 512};
  occupancy::KernelUse use;
  use.vgprs = static_cast<unsigned>(kernel.vector_registers);
  use.agprs = static_cast<unsigned>(kernel.accumulators);
  use.sgprs = static_cast<unsigned>(kernel.scalar_registers);
  use.shared_bytes = shared_bytes;
  const occupancy::Geometry geometry{.threads = waves * wave_lanes};
  return occupancy::occupancy_of(limits, use, geometry).groups;
}

void Work::add(const Instruction& instruction, const Price& price, u64 executions) {
  const u64 cycles = executions * price.cycles;
  switch (instruction.operation->unit) {
    case Unit::vector:
    case Unit::transcendental:
      vector += cycles;
      break;
    case Unit::matrix:
      matrix += cycles;
      break;
    case Unit::local:
      local += cycles;
      break;
    case Unit::global:
    case Unit::flat:
    case Unit::scratch:
      global += cycles;
      break;
    case Unit::program:
      break;  // waiting keeps nothing busy
    case Unit::scalar:
    case Unit::scalar_memory:
      scalar += cycles;
      break;
  }
}

double seconds(const Work& work, const Chip& chip) {
  if (work.groups == 0) return launch_seconds;
  // The compute unit with the most workgroups ends last.
  const auto units = static_cast<u64>(chip.compute_units);
  const double busiest =
      static_cast<double>((work.groups + units - 1) / units) / static_cast<double>(work.groups);
  const u64 per_simd = std::max({work.scalar, work.vector, work.matrix});
  const u64 per_unit = std::max(work.local, work.global);
  const double busy = busiest * std::max(static_cast<double>(per_simd) / assay::occupancy::simds,
                                         static_cast<double>(per_unit));
  const double cycles = std::max(busy, static_cast<double>(work.longest_wave));
  return launch_seconds + std::max(cycles / chip.clock_hz, static_cast<double>(work.global_bytes) /
                                                               chip.memory_bytes_per_second);
}

}  // namespace mi300x
