#include "serving/simulator/presets.h"

#include <fmt/format.h>

#include <array>

#include "compute/device/peaks.h"
#include "core/text.h"

namespace assay::simulator {
namespace {

// Sources: config.json and parameter counts of the models' pages.
const std::array<Model, 4> models = {{
    {"llama-3.1-8b", 8.030e9, 128256. * 4096, 128256, 32, 32, 8, 128, 131072},
    {"llama-3.3-70b", 70.554e9, 128256. * 8192, 128256, 80, 64, 8, 128, 131072},
    {"qwen3-8b", 8.191e9, 151936. * 4096, 151936, 36, 32, 8, 128, 40960},
    {"llama-2-7b", 6.738e9, 32000. * 4096, 32000, 32, 32, 32, 128, 4096},
}};

// Memory: what NVIDIA's driver reports; AMD's data sheets, in decimal. Rates come from
// device/peaks.h for devices listed there.
struct GpuRow {
  const char* name;
  const char* device_name;  // as reported by the driver
  double memory_bytes, bandwidth, flops;
};
constexpr double MiB = 1048576, T = 1e12, G = 1e9;
constexpr std::array<GpuRow, 6> gpus = {{
    {"MI300X", "MI300X", 192 * G, 0, 0},
    {"MI350X", "MI350X", 288 * G, 0, 0},
    {"MI355X", "MI355X", 288 * G, 0, 0},
    {"H100", "H100 80GB HBM3", 81559 * MiB, 0, 0},
    {"H200", "H200", 143771 * MiB, 0, 0},
    {"A100-80", "", 81920 * MiB, 2039 * G, 312 * T},  // NVIDIA's A100 SXM data sheet
}};

template <typename Rows>
std::string names_of(const Rows& rows) {
  std::string names;
  for (const auto& row : rows) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

template <typename Rows>
auto find_row(const Rows& rows, std::string_view name, std::string_view kind)
    -> Result<typename Rows::value_type> {
  for (const auto& row : rows) {
    if (is_equal_without_case(row.name, name)) return row;
  }
  return Error{ErrorKind::usage,
               fmt::format("unknown {} \"{}\"; allowed: {}", kind, name, names_of(rows))};
}

}  // namespace

Result<Model> find_model(std::string_view name) {
  return find_row(models, name, "model");
}

Result<Gpu> find_gpu(std::string_view name) {
  const GpuRow row = TRY(find_row(gpus, name, "GPU"));
  Gpu gpu{row.name, row.memory_bytes, row.bandwidth, row.flops};
  DeviceFacts facts;
  facts.name = row.device_name;
  if (facts.name.empty()) return gpu;
  if (const auto peak = peak_memory_bandwidth(facts)) gpu.bandwidth = peak->rate;
  if (const auto peak = peak_compute_rate(facts, DataType::bf16)) gpu.flops = peak->rate;
  return gpu;
}

}  // namespace assay::simulator
