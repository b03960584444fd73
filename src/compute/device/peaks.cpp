#include "compute/device/peaks.h"

#include <array>
#include <string_view>

namespace assay {
namespace {

// Sources: AMD data sheets of MI300X, MI325X, MI300A, MI350X, MI355X and ROCm's gpu-arch-specs;
// NVIDIA's H100 white paper and H200 data sheet. Dense rates: pages that show twice these count
// sparsity.
struct Peaks {
  std::string_view name_part;  // in the driver's device name
  std::string_view label;
  int multiprocessors;
  double memory;                        // bytes/s
  double f64, f32, tf32, f16, fp8, i8;  // operations/s of the faster units; 0: none
  double host_link;                     // bytes/s, one direction; 0: shares its CPU's memory
};
constexpr double T = 1e12, G = 1e9;
constexpr std::array<Peaks, 9> known_peaks = {{
    {"MI300X", "MI300X", 304, 5300 * G, 163.4 * T, 163.4 * T, 653.7 * T, 1307.4 * T, 2614.9 * T,
     2614.9 * T, 64 * G},
    {"MI325X", "MI325X", 304, 6000 * G, 163.4 * T, 163.4 * T, 653.7 * T, 1307.4 * T, 2614.9 * T,
     2614.9 * T, 64 * G},
    {"MI300A", "MI300A", 228, 5300 * G, 122.6 * T, 122.6 * T, 490.3 * T, 980.6 * T, 1961.2 * T,
     1961.2 * T, 0},
    {"MI350X", "MI350X", 256, 8000 * G, 72.1 * T, 144.2 * T, 0, 2306.9 * T, 4613.7 * T, 4613.7 * T,
     64 * G},
    {"MI355X", "MI355X", 256, 8000 * G, 78.6 * T, 157.3 * T, 0, 2516.6 * T, 5033.2 * T, 5033.2 * T,
     64 * G},
    {"H100 80GB HBM3", "H100 SXM", 132, 3350 * G, 66.9 * T, 66.9 * T, 494.7 * T, 989.4 * T,
     1978.9 * T, 1978.9 * T, 64 * G},
    {"H200", "H200 SXM", 132, 4800 * G, 66.9 * T, 66.9 * T, 494.7 * T, 989.4 * T, 1978.9 * T,
     1978.9 * T, 64 * G},
    // Debian's driver and older drivers name CDNA3 parts only by architecture.
    {"gfx942", "MI300X", 304, 5300 * G, 163.4 * T, 163.4 * T, 653.7 * T, 1307.4 * T, 2614.9 * T,
     2614.9 * T, 64 * G},
    {"gfx950", "MI350X", 256, 8000 * G, 72.1 * T, 144.2 * T, 0, 2306.9 * T, 4613.7 * T, 4613.7 * T,
     64 * G},
}};

// Sources: ROCm's gpu-arch-specs and AMD data sheets (16 lanes x 32 Gb/s a link on MI300X, 38.4
// Gb/s on MI350X); NVIDIA's NVLink page (A100), H100 white paper and Blackwell tuning guide.
// NVIDIA's own figures, 600, 900 and 1800 GB/s, count both directions.
struct PeerLinks {
  std::string_view name_part;
  double rate;  // bytes/s, one direction
  std::string_view source;
};
constexpr std::array<PeerLinks, 8> known_links = {{
    {"MI300X", 64 * G, "datasheet MI300X, xGMI link"},
    {"MI325X", 64 * G, "datasheet MI325X, xGMI link"},
    {"MI350X", 76.8 * G, "datasheet MI350X, xGMI link"},
    {"MI355X", 76.8 * G, "datasheet MI355X, xGMI link"},
    {"A100-SXM", 300 * G, "datasheet A100 SXM, NVLink 3"},
    {"H100 80GB HBM3", 450 * G, "datasheet H100 SXM, NVLink 4"},
    {"H200", 450 * G, "datasheet H200 SXM, NVLink 4"},
    {"B200", 900 * G, "datasheet B200, NVLink 5"},
}};

const Peaks* find(const DeviceFacts& facts) {
  if (facts.is_host_cpu()) return nullptr;
  // The architecture alone would give a model without a row, such as the MI308X, another's rates.
  const bool names_model = facts.name.find("Instinct MI") != std::string::npos;
  for (const Peaks& peaks : known_peaks) {
    if (facts.name.find(peaks.name_part) != std::string::npos ||
        (!names_model && facts.arch.find(peaks.name_part) != std::string::npos)) {
      return &peaks;
    }
  }
  return nullptr;
}

/// Returns this device's share of the whole GPU: 1, or less for a CPX partition or a MIG slice.
double share_of_device(const Peaks& peaks, const DeviceFacts& facts) {
  if (facts.multiprocessors <= 0 || facts.multiprocessors >= peaks.multiprocessors) return 1;
  return static_cast<double>(facts.multiprocessors) / peaks.multiprocessors;
}

PeakRate datasheet(const Peaks& peaks, const DeviceFacts& facts, double rate) {
  const double share = share_of_device(peaks, facts);
  std::string source = "datasheet " + std::string(peaks.label);
  if (share < 1) {
    source += " x " + std::to_string(facts.multiprocessors) + "/" +
              std::to_string(peaks.multiprocessors) + " multiprocessors";
  }
  return {rate * share, source};
}

double rate_for(const Peaks& peaks, DataType math) {
  switch (math) {
    case DataType::f64:
      return peaks.f64;
    case DataType::f32:
      return peaks.f32;
    case DataType::tf32:
      return peaks.tf32;
    case DataType::f16:
    case DataType::bf16:
      return peaks.f16;
    case DataType::e4m3:
    case DataType::e5m2:
    case DataType::e4m3_fnuz:
    case DataType::e5m2_fnuz:
      return peaks.fp8;
    case DataType::i8:
    case DataType::i32:
      return peaks.i8;
    default:
      return 0;
  }
}

}  // namespace

std::optional<PeakRate> peak_memory_bandwidth(const DeviceFacts& facts) {
  if (const Peaks* peaks = find(facts)) return datasheet(*peaks, facts, peaks->memory);
  // HIP reports the clock of the memory's controller. HBM2 transfers twice in it, HBM3 four times
  // (MI300X: 1300 MHz, 5.2 Gb/s a pin) and GDDR6 more often (ROCm/xla, pull request 970).
  const bool twice = !facts.is_amd() || facts.arch.starts_with("gfx90");
  if (facts.memory_clock_hz && facts.memory_bus_bits && twice) {
    // Double data rate; the driver reports the clock, not the transfer rate.
    return PeakRate{2 * *facts.memory_clock_hz * *facts.memory_bus_bits / 8,
                    "2 x memory clock x bus width"};
  }
  return std::nullopt;
}

std::optional<PeakRate> peak_compute_rate(const DeviceFacts& facts, DataType math) {
  const Peaks* peaks = find(facts);
  if (peaks == nullptr || rate_for(*peaks, math) == 0) return std::nullopt;
  return datasheet(*peaks, facts, rate_for(*peaks, math));
}

std::optional<PeakRate> peak_host_link_bandwidth(const DeviceFacts& facts) {
  const Peaks* peaks = find(facts);
  if (peaks == nullptr || peaks->host_link == 0) return std::nullopt;
  return PeakRate{peaks->host_link, "PCIe 5.0 x16"};  // a partition has the whole link, too
}

std::optional<PeakRate> peak_peer_link_bandwidth(const DeviceFacts& facts) {
  // Cards with NVLink bridges have fewer links than the modules, and a module's name is a prefix of
  // the card's.
  const bool is_card = facts.name.find("NVL") != std::string::npos;
  if (facts.is_host_cpu() || is_card) return std::nullopt;
  for (const PeerLinks& links : known_links) {
    if (facts.name.find(links.name_part) != std::string::npos) {
      return PeakRate{links.rate, std::string(links.source)};
    }
  }
  return std::nullopt;
}

}  // namespace assay
