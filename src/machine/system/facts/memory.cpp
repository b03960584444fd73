// Main memory: size, NUMA nodes, page sizes.
#include <charconv>

#include "core/json.h"
#include "machine/system/fact_source.h"

namespace assay::memory_fact {
namespace {

Json read_memory(const Machine& machine) {
  Json json = Json::object();
  if (const auto info = read_fact(machine, "proc/meminfo")) {
    if (const auto total = line_value(*info, "MemTotal")) {  // "24674560 kB"
      unsigned long long kib = 0;
      std::from_chars(total->data(), total->data() + total->size(), kib);
      if (kib > 0) json["bytes"] = kib * 1024;
    }
    put_fact(json, "huge_page_size", line_value(*info, "Hugepagesize"));
  }
  put_fact(json, "huge_pages", read_number(machine, "proc/sys/vm/nr_hugepages"));
  put_fact(json, "transparent_huge_pages",
           read_fact(machine, "sys/kernel/mm/transparent_hugepage/enabled"));
  put_fact(json, "numa_nodes", read_fact(machine, "sys/devices/system/node/online"));
  put_fact(json, "numa_balancing", read_number(machine, "proc/sys/kernel/numa_balancing"));
  return json;
}

const FactRegistry::Add registered{{"memory", &read_memory}};

}  // namespace
}  // namespace assay::memory_fact
