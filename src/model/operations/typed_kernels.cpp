#include "model/operations/typed_kernels.h"

#include <algorithm>

#include "compute/device/helpers.h"

namespace assay {
namespace {

unsigned bounded(std::int64_t blocks) {
  constexpr std::int64_t most = 0x7FFFFFFF;
  return static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, most));
}

}  // namespace

Result<Kernels> Kernels::build(Device& device, const std::string& source, DataType type,
                               std::vector<std::pair<std::string, std::string>> defines) {
  auto program = TRY(device.build({source, std::move(defines)}));
  const DataType stored = type == DataType::tf32 ? DataType::f32 : type;
  return Kernels(std::move(program), "_" + std::string(name_of(stored)));
}

Result<Kernel*> Kernels::of_type(std::string_view name) {
  return program_->kernel(std::string(name) + suffix_);
}

LaunchShape shape_of_rows(const DeviceFacts& facts, std::int64_t rows, std::int64_t width,
                          std::int64_t most_threads) {
  if (facts.runs_on_host)
    return {{bounded(std::min<std::int64_t>(rows, facts.multiprocessors))}, {1}};
  const std::int64_t packs = (width + row_pack - 1) / row_pack, wave = facts.wave_size;
  const std::int64_t threads = std::min((packs + wave - 1) / wave * wave, most_threads);
  return {{bounded(rows)}, {static_cast<unsigned>(threads)}};
}

LaunchShape shape_of_elements(const DeviceFacts& facts, std::int64_t elements) {
  if (facts.runs_on_host) return {{static_cast<unsigned>(facts.multiprocessors)}, {1}};
  const std::int64_t per_block = std::int64_t{block_threads} * row_pack;
  const std::int64_t most = std::int64_t{facts.multiprocessors} * 16;
  return {{bounded(std::min((elements + per_block - 1) / per_block, most))}, {block_threads}};
}

LaunchShape shape_of_sums(std::int64_t width, std::int64_t stripes) {
  return {{bounded((width + sum_columns - 1) / sum_columns), bounded(stripes)}, {block_threads}};
}

}  // namespace assay
