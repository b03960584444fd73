#include "compute/backends/cpu/host_facts.h"

#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>

#include "compute/device/kernel_registry.h"
#include "machine/system/cgroup.h"

namespace assay::cpu {
namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

/// Parses "32768K", as the kernel writes cache sizes.
std::uint64_t parse_cache_size(const std::string& text) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text.c_str(), &end, 10);
  if (*end == 'K') return number << 10;
  if (*end == 'M') return number << 20;
  return number;
}

/// Returns the value of "key:  123 kB" in /proc/meminfo, in bytes.
std::uint64_t meminfo(const std::string& key) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":")) {
      return std::strtoull(line.c_str() + key.size() + 1, nullptr, 10) << 10;
    }
  }
  return 0;
}

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) {
      const auto colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  }
  const std::string brand = brand_of_cpu();  // /proc may be missing
  return brand.empty() ? "CPU" : brand;
}

double highest_clock() {
  if (const auto khz = first_line("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")) {
    return std::strtod(khz->c_str(), nullptr) * 1e3;
  }
  return 0;
}

bool cpu_has(const std::string& variant) {
#if defined(__x86_64__)
  // Tests features one by one, because not every compiler knows the levels by name. CPUs with these
  // features also have the rest of the level.
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (variant == "x86_64_v4") return v4;
  if (variant == "x86_64_v3") return v3;
  if (variant == "x86_64_v2") return v2;
#endif
  return variant == "generic";
}

bool is_built(const std::string& variant) {
  for (const KernelEntry* entry = kernel_entries; entry != nullptr; entry = entry->next) {
    if (variant == entry->variant) return true;
  }
  return false;
}

}  // namespace

std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) {  // more CPUs than fit in cpu_set_t
    const long count = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
    for (int cpu = 0; cpu < count; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::uint64_t last_level_cache_bytes(const std::vector<int>& cpus) {
  std::map<std::string, std::uint64_t> by_sharers;  // one entry per physical cache
  for (const int cpu : cpus) {
    const std::string base = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index";
    int best_level = 0;
    std::string sharers;
    std::uint64_t bytes = 0;
    for (int index = 0; index < 8; ++index) {
      const std::string folder = base + std::to_string(index) + "/";
      const auto level = first_line(folder + "level");
      const auto size = first_line(folder + "size");
      if (!level || !size) break;
      if (const int number = std::atoi(level->c_str()); number > best_level) {
        best_level = number;
        bytes = parse_cache_size(*size);
        sharers = first_line(folder + "shared_cpu_list").value_or(std::to_string(cpu));
      }
    }
    if (best_level > 0) by_sharers[sharers] = bytes;
  }
  std::uint64_t total = 0;
  for (const auto& [sharers, bytes] : by_sharers) total += bytes;
  return total;
}

std::pair<std::uint64_t, std::uint64_t> memory_free_and_total() {
  std::uint64_t free = meminfo("MemAvailable");
  std::uint64_t total = meminfo("MemTotal");
  if (struct sysinfo system; total == 0 && sysinfo(&system) == 0) {  // /proc is missing
    total = std::uint64_t{system.totalram} * system.mem_unit;
    // This excludes the page cache, which the kernel could reclaim, because sysinfo() does not
    // report it.
    free = std::uint64_t{system.freeram + system.bufferram} * system.mem_unit;
  }
  for (const GroupMemory& group : memory_of_groups(FolderMachine("/"))) {
    total = std::min(total, static_cast<std::uint64_t>(group.most));
    free = std::min(free, static_cast<std::uint64_t>(std::max(0.0, group.most - group.used)));
  }
  return {free, total};
}

std::string brand_of_cpu() {
#if defined(__x86_64__)
  constexpr unsigned first = 0x80000002, last = 0x80000004;
  std::array<unsigned, 12> words = {};
  for (unsigned leaf = first; leaf <= last; ++leaf) {
    unsigned* at = &words[(leaf - first) * 4];
    if (__get_cpuid(leaf, at, at + 1, at + 2, at + 3) == 0) return {};
  }
  std::array<char, sizeof words + 1> text = {};
  std::memcpy(text.data(), words.data(), sizeof words);
  std::string brand = text.data();
  brand.erase(brand.find_last_not_of(' ') + 1);
  return brand.substr(std::min(brand.find_first_not_of(' '), brand.size()));
#else
  return {};
#endif
}

std::string kernel_variant() {
  const char* asked = std::getenv("ASSAY_CPU_VARIANT");
  if (asked != nullptr && cpu_has(asked) && is_built(asked)) return asked;
  for (const char* variant : {"x86_64_v4", "x86_64_v3", "x86_64_v2", "generic"}) {
    if (cpu_has(variant) && is_built(variant)) return variant;
  }
  return {};
}

std::string built_variants() {
  std::string all;
  for (const char* variant : {"x86_64_v2", "x86_64_v3", "x86_64_v4", "generic"}) {
    if (is_built(variant)) all += (all.empty() ? "" : ", ") + std::string(variant);
  }
  return all;
}

double measure_core_clock() {
#if defined(__x86_64__)
  // imul has a latency of 3 cycles on every x86 core since 2008 (Agner Fog's tables).
  constexpr int links = 20000;
  unsigned long value = 3;
  double best = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {  // keep the fastest: preemption slows
    const auto start = monotonic_nanoseconds();
    for (int link = 0; link < links / 10; ++link) {
      asm volatile(
          "imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
          "imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
          : "+r"(value));
    }
    const auto elapsed = static_cast<double>(monotonic_nanoseconds() - start);
    if (elapsed > 0) best = std::max(best, 3.0 * links / elapsed * 1e9);
  }
  return best;
#else
  return 0;
#endif
}

DeviceFacts host_facts() {
  const std::vector<int> cpus = usable_cpus();
  DeviceFacts facts;
  facts.backend = "cpu";
  facts.runs_on_host = true;
  facts.name = model_name();
  facts.arch = kernel_variant();
  std::replace(facts.arch.begin(), facts.arch.end(), '_', '-');  // compilers' spelling
#if defined(__aarch64__)
  facts.arch = "aarch64";
#endif
  facts.memory_bytes = memory_free_and_total().second;
  facts.last_level_cache_bytes = last_level_cache_bytes(cpus);
  facts.multiprocessors = static_cast<int>(cpus.size());
  facts.clock_hz = highest_clock();
  return facts;
}

}  // namespace assay::cpu
