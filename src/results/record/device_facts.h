// Facts about a device: everything that a benchmark or a reader needs to choose sizes and judge
// rates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/json_fwd.h"

namespace assay {

/// Filled by the backend when it opens the device. An unknown fact keeps its default, and an empty
/// text, an empty optional or a 0 is shown as unknown.
struct DeviceFacts {
  std::string backend;  ///< "cpu", "cuda", "hip", "fake"; or foreign_backend
  int ordinal = 0;      ///< number among the backend's devices, from 0
  std::string name;     ///< marketing name as the driver reports it
  std::string arch;     ///< "sm_90", "gfx942:sramecc+:xnack-", "x86-64-v4"
  std::string pci;      ///< "0000:3b:00.0", lower case
  std::string uuid;
  std::string partition;  ///< "SPX/NPS1", "MIG 1g.18gb"; empty: whole device or unknown
  std::uint64_t memory_bytes = 0;
  std::uint64_t last_level_cache_bytes = 0;  ///< MALL on CDNA3, L2 on NVIDIA, L3 sum on a CPU
  int multiprocessors = 0;                   ///< SMs, CUs of the partition, or cores
  int wave_size = 1;                         ///< threads of a warp or wavefront
  bool runs_on_host = false;  ///< kernels run on the host's cores, where a block has one thread
  int max_threads_per_block = 1;
  int max_threads_per_multiprocessor = 1;
  /// Most shared memory of a block, including what a kernel must ask for (CUDA's opt-in).
  std::uint64_t shared_bytes_per_block = 0;
  double clock_hz = 0;         ///< highest engine clock the driver reports; 0: unknown
  double tick_hz = 1e9;        ///< rate of wall_ticks() (compute/kernels/dialect.h)
  bool cycle_counter = false;  ///< kernels can read the engine's cycle counter
  std::optional<double> memory_clock_hz;
  std::optional<int> memory_bus_bits;
  bool ecc = false;       ///< the memory corrects errors; false also if that is unknown
  bool emulated = false;  ///< there is no chip: results are real, but times come from a model

  /// Returns whether the device is the host's own CPUs; the fake device is not.
  bool is_host_cpu() const;
  bool is_nvidia() const;
  bool is_amd() const;
  /// Returns whether it is another program's device, of which at most the name is known.
  bool is_foreign() const;
};

/// DeviceFacts::backend of results that other programs measured.
inline constexpr const char* foreign_backend = "other";

/// Returns the "device" object of records and fingerprints (docs/record.schema.json). Texts but
/// `backend` and `name`, optionals, sizes and clocks that are unknown are left out. `runs_on_host`,
/// `tick_hz` and `cycle_counter` are not stored.
Json to_json(const DeviceFacts& facts);

}  // namespace assay
