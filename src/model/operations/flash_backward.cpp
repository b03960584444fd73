#include "model/operations/flash_backward.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "compute/device/helpers.h"
#include "model/operations/flash_choice.h"
#include "model/operations/typed_kernels.h"

namespace assay {
namespace {

constexpr std::int64_t gradient_bytes = 2;
/// Queries in a tile divide this, so that scratch does not depend on the device.
constexpr std::int64_t most_queries_of_tile = 128;
constexpr std::int64_t bytes_of_row = 16, bytes_of_sum = 4;  // as in flash_gradients.h
// Of a block that looks for the largest keys and values; tokens as in flash_backward.cu.
constexpr std::int64_t tokens_of_tops = 1024, waves_of_tops = 8;
constexpr std::int64_t panel_alignment = 1024;  // of tiles of groups

std::int64_t whole_tiles(std::int64_t rows, std::int64_t tile) {
  return (rows + tile - 1) / tile * tile;
}

/// Tiles of keys and values, the scores of a step and their gradients, and tiles of queries and
/// gradients of results.
std::int64_t tile_bytes(const OwnBackwardGeometry& g, std::int64_t head_width) {
  return gradient_bytes * 2 * ((g.keys + g.stages * g.queries) * head_width + g.keys * g.queries);
}

}  // namespace

OwnBackwardGeometry OwnBackwardGeometry::of(const DeviceFacts& facts, std::int64_t head_width) {
  if (facts.runs_on_host) return {1, 64, 64, 64, 1};  // what is compiled in
  // As large as 64 KiB of shared memory allow; every thread copies a part of each tile.
  if (!facts.is_nvidia()) return {4, 32, 64, head_width > 64 ? 32 : 64, 1};
  // The largest tiles whose sums fit into registers: every operand is read for more products.
  for (const std::int64_t stages : {2, 1}) {
    const OwnBackwardGeometry large = {8, 32, 128, head_width > 64 ? 64 : 128, stages};
    constexpr std::int64_t rows_of_queries = 8192;  // bytes at most, beside the tiles
    if (tile_bytes(large, head_width) + rows_of_queries <=
        static_cast<std::int64_t>(facts.shared_bytes_per_block)) {
      return large;
    }
  }
  return {4, 32, 64, 64, 1};
}

bool FlashBackward::has_groups(const DeviceFacts& facts, std::int64_t head_width) {
  // Tiles of heads 128 wide are too large for CDNA's shared memory.
  return head_width == 64 || (head_width == 128 && (facts.is_nvidia() || facts.runs_on_host));
}

ProgramSource FlashBackward::source(const DeviceFacts& facts, DataType type,
                                    std::int64_t head_width, bool groups, bool documents) {
  const OwnBackwardGeometry g = OwnBackwardGeometry::of(facts, head_width);
  return {groups ? "flash_backward_wgmma" : "flash_backward",
          {{"FLASH_WAVES", std::to_string(g.waves)},
           {"FLASH_ROWS", std::to_string(g.rows)},
           {"FLASH_KEYS", std::to_string(g.keys)},
           {"FLASH_QUERIES", std::to_string(g.queries)},
           {"FLASH_STAGES", std::to_string(g.stages)},
           {"FLASH_WIDTH", std::to_string(head_width)},
           {"FLASH_ONLY", std::string(name_of(type))},
           {"FLASH_TYPE", type == DataType::bf16 ? "Bf16" : "F16"},
           {"FLASH_DOCUMENTS", documents ? "1" : "0"}}};
}

Result<FlashBackward> FlashBackward::build(Device& device, DataType type, std::int64_t head_width,
                                           bool groups, bool documents) {
  FlashBackward made(device.facts(), head_width, groups);
  const auto build = [&](bool of_groups) {
    return device.build(source(device.facts(), type, head_width, of_groups, documents));
  };
  const auto find = [&](Program& program, const char* name) {
    return program.kernel(fmt::format("flash_{}_{}_{}", name, head_width, name_of(type)));
  };
  made.program_ = TRY(build(false));
  made.tops_ = TRY(find(*made.program_, "tops"));
  made.rows_ = TRY(find(*made.program_, "rows"));
  Program* makes_gradients = made.program_.get();
  if (groups) {
    made.program_of_groups_ = TRY(build(true));
    makes_gradients = made.program_of_groups_.get();
  }
  made.gradients_ = TRY(find(*makes_gradients, groups ? "backward_wgmma" : "backward"));
  made.query_gradients_ =
      TRY(find(*makes_gradients, groups ? "backward_wgmma_queries" : "backward_queries"));
  TRY(made.gradients_->allow_dynamic_shared(made.shared_bytes()));
  return made;
}

Status FlashBackward::enqueue(Stream& stream, void* d_qkv, const void* dy, const void* y,
                              const void* qkv, const AttentionMemory& memory,
                              const AttentionShape& shape) const {
  const auto sequence = std::uint64_t(shape.sequence), heads = std::uint64_t(shape.heads),
             kv_heads = std::uint64_t(shape.heads_of_keys());
  const std::int64_t all_heads = shape.batch * shape.heads,
                     all_kv_heads = shape.batch * shape.heads_of_keys();
  const OwnBackwardGeometry& g = geometry_;
  const float scale = 1 / std::sqrt(static_cast<float>(head_width_));
  // In the order of flash_attention_scratch_bytes().
  auto* const rows = static_cast<std::byte*>(memory.scratch);
  const std::int64_t all_rows = all_heads * whole_tiles(shape.sequence, most_queries_of_tile);
  std::byte* const sums = rows + all_rows * bytes_of_row;
  std::byte* const tops = sums + all_rows * head_width_ * bytes_of_sum;
  TRY(stream.fill(tops, 0, std::size_t(all_kv_heads * 2 * head_width_ * bytes_of_sum)));
  TRY(launch(stream, *tops_, grid(all_kv_heads, shape.sequence, tokens_of_tops, waves_of_tops, 0),
             tops, qkv, sequence, heads, kv_heads));
  TRY(launch(stream, *rows_, shape_of_elements(*facts_, all_rows * head_width_), rows, sums, dy, y,
             memory.log_sum, tops, std::uint64_t(shape.batch), sequence, heads, kv_heads));
  TRY(launch(stream, *gradients_,
             grid(all_kv_heads, shape.sequence, g.keys, g.waves, shared_bytes()), d_qkv, sums, dy,
             qkv, rows, tops, shape.document_starts, sequence, heads, kv_heads, scale));
  return launch(stream, *query_gradients_,
                grid(all_heads, shape.sequence, g.queries, g.waves, query_tile_bytes()), d_qkv,
                sums, rows, tops, sequence, heads, kv_heads, scale);
}

std::string FlashBackward::describe() const {
  if (!groups_) return "";
  return fmt::format("groups of 4 waves, {} keys, {} queries a step", geometry_.keys,
                     geometry_.queries);
}

/// All tiles of `rows` queries or keys of `heads` heads.
LaunchShape FlashBackward::grid(std::int64_t heads, std::int64_t sequence, std::int64_t rows,
                                std::int64_t waves, unsigned shared_bytes) const {
  const std::int64_t tiles = (sequence + rows - 1) / rows;
  return {{static_cast<unsigned>(heads * tiles)},
          {static_cast<unsigned>(waves * facts_->wave_size)},
          shared_bytes};
}

unsigned FlashBackward::shared_bytes() const {
  return static_cast<unsigned>(tile_bytes(geometry_, head_width_) +
                               (groups_ ? panel_alignment : 0));
}

unsigned FlashBackward::query_tile_bytes() const {
  return static_cast<unsigned>(gradient_bytes * geometry_.queries * head_width_);
}

std::uint64_t flash_attention_scratch_bytes(std::int64_t heads, std::int64_t sequence,
                                            std::int64_t head_width) {
  const std::int64_t rows = heads * whole_tiles(sequence, most_queries_of_tile);
  return static_cast<std::uint64_t>(rows * (bytes_of_row + head_width * bytes_of_sum) +
                                    heads * 2 * head_width * bytes_of_sum);
}

Result<FlashBackward> choose_flash_backward(Device& device, DataType type, std::int64_t head_width,
                                            FlashKind kind, bool documents) {
  const DeviceFacts& facts = device.facts();
  const bool has = FlashBackward::has_groups(facts, head_width);
  if (kind == FlashKind::groups && has) {
    return FlashBackward::build(device, type, head_width, true, documents);
  }
  FlashBackward waves = TRY(FlashBackward::build(device, type, head_width, false, documents));
  if (kind != FlashKind::best || !has || !gains_by_groups(facts)) return waves;
  std::vector<FlashBackward> candidates;
  candidates.push_back(std::move(waves));
  auto groups = FlashBackward::build(device, type, head_width, true, documents);
  std::string left_out;
  if (groups.ok()) {
    candidates.push_back(std::move(*groups));
  } else {  // an old compiler, or one that this code is new to
    leave_out(left_out, "groups of 4 waves", groups.error().message);
  }
  const auto enqueue = [&](Stream& stream, const AttentionTrial& trial, std::size_t i) {
    return candidates[i].enqueue(stream, trial.d_qkv.data(), trial.dy.data(), trial.y.data(),
                                 trial.qkv.data(), trial.memory(), trial.shape);
  };
  OwnChosen chosen =
      best_of_own(device, type, head_width,
                  {.pass = "backward",
                   .sources = {"flash_backward", "flash_backward_wgmma"},
                   .count = candidates.size(),
                   .describe = [&](std::size_t i) { return candidates[i].describe(); },
                   .enqueue = enqueue,
                   .result = [](const AttentionTrial& trial) { return &trial.d_qkv; },
                   .left_out = std::move(left_out)});
  candidates[chosen.index].left_out = std::move(chosen.left_out);
  return std::move(candidates[chosen.index]);
}

}  // namespace assay
