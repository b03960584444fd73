#include "model/operations/flash_forward.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "compute/device/helpers.h"
#include "model/operations/flash_choice.h"

namespace assay {
namespace {

constexpr std::int64_t element_bytes = 2;   // bytes
constexpr std::int64_t rows_of_group = 64;  // group_rows of warpgroup_tile.h

OwnForwardGeometry of_waves(const DeviceFacts& facts) {
  constexpr auto kind = FlashKind::waves;
  if (facts.runs_on_host) return {kind, 1, 64, 64};  // what is compiled in
  // On an H200 the fastest of six for heads 64 and 128 wide.
  if (facts.is_nvidia()) return {kind, 4, 32, 64};
  // The tiles fill 64 KiB of shared memory; every thread copies a part of each.
  return {kind, 4, 16, 64};
}

/// The geometries of warpgroups that may be the fastest; none for other widths.
std::vector<OwnForwardGeometry> of_groups(const DeviceFacts& facts, std::int64_t head_width) {
  constexpr auto kind = FlashKind::groups;
  if (head_width != 64 && head_width != 128) return {};
  if (facts.runs_on_host) return {{kind, 1, rows_of_group, 64}};  // what is compiled in
  if (!facts.is_nvidia()) return {{kind, 1, rows_of_group, 32}};
  // One large block on each multiprocessor, or two that do not wait for each other.
  if (head_width == 128) return {{kind, 2, rows_of_group, 128, 1}, {kind, 1, rows_of_group, 64, 2}};
  return {{kind, 2, rows_of_group, 128, 1}, {kind, 2, rows_of_group, 64, 2}};
}

std::string description(const OwnForwardGeometry& geometry) {
  if (geometry.kind == FlashKind::waves) return "";
  return fmt::format("groups of 4 waves, {} x {} queries, {} keys a step", geometry.units,
                     geometry.rows, geometry.step);
}

}  // namespace

std::vector<OwnForwardGeometry> OwnForwardGeometry::all_of(const DeviceFacts& facts,
                                                           std::int64_t head_width) {
  std::vector<OwnForwardGeometry> all = of_groups(facts, head_width);
  all.insert(all.begin(), of_waves(facts));
  return all;
}

std::int64_t FlashForward::unit_waves() const {
  return geometry_.kind == FlashKind::groups && !facts_->runs_on_host ? 4 : 1;
}

unsigned FlashForward::shared_bytes() const {
  const OwnForwardGeometry& g = geometry_;
  const std::int64_t queries = g.units * g.rows;
  const bool groups = g.kind == FlashKind::groups;
  // Beside tiles of queries, keys and values: scores on their way to the next product, where
  // registers do not hold them as it wants them; of groups so in code for sm_90 without wgmma too.
  const std::int64_t scores = facts_->is_nvidia() && !groups ? 0 : queries * g.step;
  const std::int64_t keys = (groups ? 4 : 2) * g.step;  // two steps, or one
  constexpr std::int64_t alignment = 1024;              // of tiles of groups
  return static_cast<unsigned>(element_bytes * ((queries + keys) * head_width_ + scores) +
                               (groups ? alignment : 0));
}

ProgramSource FlashForward::source(DataType type, std::int64_t head_width,
                                   const OwnForwardGeometry& geometry, bool documents) {
  const bool groups = geometry.kind == FlashKind::groups;
  ProgramSource source = {groups ? "flash_attention_wgmma" : "flash_attention",
                          {{"FLASH_STEP", std::to_string(geometry.step)},
                           {"FLASH_WIDTH", std::to_string(head_width)},
                           {"FLASH_ONLY", std::string(name_of(type))},
                           {"FLASH_TYPE", type == DataType::bf16 ? "Bf16" : "F16"},
                           {"FLASH_DOCUMENTS", documents ? "1" : "0"}}};
  if (groups) {
    source.defines.emplace_back("FLASH_GROUPS", std::to_string(geometry.units));
    source.defines.emplace_back("FLASH_BLOCKS", std::to_string(geometry.blocks));
  } else {
    source.defines.emplace_back("FLASH_WAVES", std::to_string(geometry.units));
    source.defines.emplace_back("FLASH_ROWS", std::to_string(geometry.rows));
  }
  return source;
}

Result<FlashForward> FlashForward::build(Device& device, DataType type, std::int64_t head_width,
                                         const OwnForwardGeometry& geometry, bool documents) {
  const bool groups = geometry.kind == FlashKind::groups;
  FlashForward made(device.facts(), head_width, geometry,
                    TRY(device.build(source(type, head_width, geometry, documents))));
  made.kernel_ = TRY(made.program_->kernel(fmt::format(
      "flash_{}_{}_{}", groups ? "attention_wgmma" : "forward", head_width, name_of(type))));
  TRY(made.kernel_->allow_dynamic_shared(made.shared_bytes()));
  return made;
}

Status FlashForward::enqueue(Stream& stream, void* y, const void* qkv, void* log_sum,
                             const AttentionShape& shape) const {
  const std::int64_t rows = geometry_.units * geometry_.rows;
  const std::int64_t tiles = (shape.sequence + rows - 1) / rows;
  const LaunchShape grid = {
      {static_cast<unsigned>(shape.batch * shape.heads * tiles)},
      {static_cast<unsigned>(geometry_.units * unit_waves() * facts_->wave_size)},
      shared_bytes()};
  return launch(stream, *kernel_, grid, y, log_sum, qkv, shape.document_starts,
                std::uint64_t(shape.sequence), std::uint64_t(shape.heads),
                std::uint64_t(shape.heads_of_keys()),
                1 / std::sqrt(static_cast<float>(head_width_)));
}

std::string FlashForward::describe() const {
  return description(geometry_);
}

Result<FlashForward> choose_flash_forward(Device& device, DataType type, std::int64_t head_width,
                                          FlashKind kind, bool documents) {
  const DeviceFacts& facts = device.facts();
  const std::vector<OwnForwardGeometry> groups = of_groups(facts, head_width);
  if (kind == FlashKind::groups) {
    if (groups.empty()) {
      return Error{ErrorKind::unsupported,
                   fmt::format("attention by groups of waves is written for heads 64 or 128 wide, "
                               "not {}",
                               head_width)};
    }
    return FlashForward::build(device, type, head_width, groups.front(), documents);
  }
  FlashForward waves =
      TRY(FlashForward::build(device, type, head_width, of_waves(facts), documents));
  if (kind == FlashKind::waves || groups.empty() || !gains_by_groups(facts)) return waves;
  std::vector<FlashForward> candidates;
  candidates.push_back(std::move(waves));
  std::string left_out;
  for (const OwnForwardGeometry& geometry : groups) {
    auto made = FlashForward::build(device, type, head_width, geometry, documents);
    if (made.ok()) {
      candidates.push_back(std::move(*made));
    } else {  // an old compiler, or one that this code is new to
      leave_out(left_out, description(geometry), made.error().message);
    }
  }
  const auto enqueue = [&](Stream& stream, const AttentionTrial& trial, std::size_t i) {
    return candidates[i].enqueue(stream, trial.y.data(), trial.qkv.data(), trial.log_sum.data(),
                                 trial.shape);
  };
  OwnChosen chosen =
      best_of_own(device, type, head_width,
                  {.pass = "forward",
                   .sources = {"flash_attention", "flash_attention_wgmma"},
                   .count = candidates.size(),
                   .describe = [&](std::size_t i) { return candidates[i].describe(); },
                   .enqueue = enqueue,
                   .result = [](const AttentionTrial& trial) { return &trial.y; },
                   .left_out = std::move(left_out)});
  candidates[chosen.index].left_out = std::move(chosen.left_out);
  return std::move(candidates[chosen.index]);
}

}  // namespace assay
