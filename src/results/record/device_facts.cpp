#include "results/record/device_facts.h"

#include "core/json.h"
#include "core/optional_json_members.h"

namespace assay {

bool DeviceFacts::is_host_cpu() const {
  return backend == "cpu";
}

bool DeviceFacts::is_nvidia() const {
  return backend == "cuda";
}

bool DeviceFacts::is_amd() const {
  return backend == "hip";
}

bool DeviceFacts::is_foreign() const {
  return backend == foreign_backend;
}

Json to_json(const DeviceFacts& facts) {
  Json json;
  json["backend"] = facts.backend;
  json["ordinal"] = facts.ordinal;
  json["name"] = facts.name;
  put_present(json, "arch", facts.arch);
  put_present(json, "pci", facts.pci);
  put_present(json, "uuid", facts.uuid);
  put_present(json, "partition", facts.partition);
  put_present(json, "memory_bytes", facts.memory_bytes);
  put_present(json, "last_level_cache_bytes", facts.last_level_cache_bytes);
  json["multiprocessors"] = facts.multiprocessors;
  json["wave_size"] = facts.wave_size;
  json["max_threads_per_block"] = facts.max_threads_per_block;
  json["max_threads_per_multiprocessor"] = facts.max_threads_per_multiprocessor;
  put_present(json, "shared_bytes_per_block", facts.shared_bytes_per_block);
  put_present(json, "clock_hz", facts.clock_hz);
  put_present(json, "memory_clock_hz", facts.memory_clock_hz);
  put_present(json, "memory_bus_bits", facts.memory_bus_bits);
  json["ecc"] = facts.ecc;
  if (facts.emulated) json["emulated"] = true;
  return json;
}

}  // namespace assay
