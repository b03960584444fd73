// The emulator's interface to a runtime: loading code objects and launching kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/fault.h"

namespace mi300x {

class Module;

/// One kernel of a loaded code object, as its metadata and descriptor describe it.
struct KernelInfo {
  std::string name;
  struct Argument {
    std::uint32_t offset = 0, bytes = 0;
    std::string kind;  ///< ".value_kind": by_value, global_buffer, hidden_block_count_x, ...
  };
  std::vector<Argument> arguments;  ///< including hidden ones
  std::uint32_t argument_bytes = 0;
  std::uint32_t shared_bytes = 0;   ///< static LDS of a workgroup
  std::uint32_t scratch_bytes = 0;  ///< scratch of one lane
  int vector_registers = 0;         ///< total, including accumulation registers
  int accumulators = 0, scalar_registers = 0;
  int max_threads = 1024;  ///< of a workgroup
};

/// A code object in memory, with its instructions decoded.
class Module {
 public:
  /// `file` is an ELF code object, `arch` the device's ("gfx942"). Throws Fault (invalid_launch)
  /// with the reason: another architecture, a damaged file, no disassembler.
  static std::shared_ptr<Module> load(std::string_view file, const std::string& arch);
  virtual ~Module() = default;
  /// Returns null if there is no kernel of that name.
  virtual const KernelInfo* kernel(const std::string& name) const = 0;
  /// Returns address and size of a variable (__device__); null if there is none.
  virtual void* variable(const std::string& name, std::size_t* bytes) const = 0;
};

struct Dimensions {
  unsigned x = 1, y = 1, z = 1;
};

struct Launch {
  std::shared_ptr<Module> module;
  std::string kernel;
  Dimensions grid;   ///< workgroups
  Dimensions block;  ///< lanes
  std::uint32_t dynamic_shared_bytes = 0;
  std::vector<char> arguments;  ///< the explicit part, laid out as in memory
};

/// The chip on which a launch runs, as far as kernels and the time model see it.
struct Chip {
  std::string arch = "gfx942";
  int compute_units = 304, dies = 8;
  double clock_hz = 2.1e9;
  double memory_bytes_per_second = 5.3e12;
  std::uint64_t shared_bytes_per_unit = 65536;
  int device = 0;
  /// Nanoseconds of the device's clock when the launch begins; s_memrealtime counts from there.
  std::uint64_t start_nanoseconds = 0;
};

struct Settings {
  std::uint64_t seed = 1;               ///< seed of garbage and interleaving; MI300X_SEED
  std::uint64_t most_instructions = 0;  ///< limit over all waves of a launch; 0: none; MI300X_LIMIT
  unsigned threads = 0;                 ///< host threads; 0: one per core; MI300X_THREADS
  /// Whether to require the wait states and waits that the ISA requires, and barriers between waves
  /// that touch the same LDS; MI300X_HAZARDS. AMD's own assembly lacks some of them.
  bool hazards = true;
};
/// Reads the settings from the environment, once.
const Settings& default_settings();

struct LaunchReport {
  std::uint64_t wave_instructions = 0;
  double seconds = 0;  ///< by the time model, never measured
};

/// Runs every workgroup of a launch to its end. Throws Fault with a complete message: what, kernel,
/// workgroup, wave, instruction, source line. `cancelled` is polled now and then; a cancelled
/// launch throws Fault (hang).
LaunchReport run(const Launch& launch, const Chip& chip, const Settings& settings,
                 const std::function<bool()>& cancelled = {});

/// What this process has executed so far: kernels and instructions by name, with counts. `compiled`
/// are the kernels of all modules that it has loaded, with the number of these modules.
struct Coverage {
  std::map<std::string, std::uint64_t> compiled, kernels, instructions;
};
Coverage coverage();

}  // namespace mi300x
