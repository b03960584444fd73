#include "model/operations/own_forward.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <vector>

#include "compute/blas/matrix_fill.h"
#include "compute/choice/choice_cache.h"
#include "compute/choice/fastest.h"
#include "compute/device/helpers.h"
#include "compute/device/kernel_source.h"
#include "compute/device/matrix_types.h"
#include "core/hash.h"
#include "model/weights.h"

namespace assay {
namespace {

constexpr std::int64_t element_bytes = 2;   // bytes
constexpr std::int64_t rows_of_group = 64;  // group_rows of group_product.h

OwnForwardGeometry of_waves(const DeviceFacts& facts) {
  constexpr auto kind = OwnForwardKind::waves;
  if (runs_on_host(facts)) return {kind, 1, 64, 64};  // what is compiled in
  // On an H200 the fastest of six for heads 64 and 128 wide.
  if (facts.backend == "cuda") return {kind, 4, 32, 64};
  // As large as 64 KiB of shared memory allow; every thread copies a part of each tile.
  return {kind, 4, 16, 64};
}

/// Those of groups that may be the fastest; none for other widths.
std::vector<OwnForwardGeometry> of_groups(const DeviceFacts& facts, std::int64_t head_width) {
  constexpr auto kind = OwnForwardKind::groups;
  if (head_width != 64 && head_width != 128) return {};
  if (runs_on_host(facts)) return {{kind, 1, rows_of_group, 64}};  // what is compiled in
  if (facts.backend != "cuda") return {{kind, 1, rows_of_group, 32}};
  // One large block on each multiprocessor, or two that do not wait for each other.
  if (head_width == 128) return {{kind, 2, rows_of_group, 128, 1}, {kind, 1, rows_of_group, 64, 2}};
  return {{kind, 2, rows_of_group, 128, 1}, {kind, 2, rows_of_group, 64, 2}};
}

/// Memory of a small problem, and what queues it.
struct ForwardTrial {
  AttentionShape shape;
  Buffer qkv, y;

  static Result<ForwardTrial> of(Device& device, Stream& stream, DataType type,
                                 const AttentionShape& shape) {
    const std::int64_t tokens = shape.batch * shape.sequence, width = 3 * shape.width();
    const auto allocate = [&](std::int64_t elements) {
      return device.allocate(static_cast<std::size_t>(elements * element_bytes),
                             MemoryKind::device);
    };
    ForwardTrial trial = {shape, TRY(allocate(tokens * width)),
                          TRY(allocate(tokens * shape.width()))};
    const auto program = TRY(device.build({"matrix", {}}));
    TRY(fill_matrix(stream, device.facts(), *program, trial.qkv.data(), type,
                    {tokens, width, width}, Inputs::normal, 1));
    return trial;
  }
  Status enqueue(Stream& stream, const OwnForward& forward) const {
    return forward.enqueue(stream, y.data(), qkv.data(), nullptr, shape);
  }
};

/// How far the result of `forward` is from that of `other`, of its norm; infinite if it is no
/// number.
Result<double> forward_distance(Stream& stream, DataType type, const ForwardTrial& trial,
                                const OwnForward& forward, const OwnForward& other) {
  std::vector<float> results[2];
  for (int i = 0; i < 2; ++i) {
    TRY(stream.fill(trial.y.data(), 0xFF, trial.y.bytes()));  // no number in either type
    TRY(trial.enqueue(stream, i == 0 ? forward : other));
    results[i] = TRY(read_weights(stream, trial.y.data(), type, trial.y.bytes() / element_bytes));
  }
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    difference += std::pow(double(results[0][i]) - results[1][i], 2);
    size += std::pow(results[1][i], 2);
  }
  const double found = std::sqrt(difference / size);
  return std::isfinite(found) ? found : HUGE_VAL;
}

}  // namespace

std::int64_t OwnForward::unit_waves() const {
  return geometry_.kind == OwnForwardKind::groups && !runs_on_host(*facts_) ? 4 : 1;
}

unsigned OwnForward::shared_bytes() const {
  const OwnForwardGeometry& g = geometry_;
  const std::int64_t queries = g.units * g.rows;
  // Beside tiles of queries, keys and values: scores on their way to the next product, where
  // registers do not hold them as it wants them.
  const std::int64_t scores = facts_->backend == "cuda" ? 0 : queries * g.step;
  const bool groups = g.kind == OwnForwardKind::groups;
  const std::int64_t keys = (groups ? 4 : 2) * g.step;  // two steps, or one
  constexpr std::int64_t alignment = 1024;              // of tiles of groups
  return static_cast<unsigned>(element_bytes * ((queries + keys) * head_width_ + scores) +
                               (groups ? alignment : 0));
}

Result<OwnForward> OwnForward::build(Device& device, DataType type, std::int64_t head_width,
                                     const OwnForwardGeometry& geometry) {
  const bool groups = geometry.kind == OwnForwardKind::groups;
  ProgramSource source = {groups ? "flash_groups" : "flash_attention",
                          {{"FLASH_STEP", std::to_string(geometry.step)},
                           {"FLASH_WIDTH", std::to_string(head_width)},
                           {"FLASH_ONLY", std::string(name_of(type))},
                           {"FLASH_TYPE", type == DataType::bf16 ? "Bf16" : "F16"}}};
  if (groups) {
    source.defines.emplace_back("FLASH_GROUPS", std::to_string(geometry.units));
    source.defines.emplace_back("FLASH_BLOCKS", std::to_string(geometry.blocks));
  } else {
    source.defines.emplace_back("FLASH_WAVES", std::to_string(geometry.units));
    source.defines.emplace_back("FLASH_ROWS", std::to_string(geometry.rows));
  }
  OwnForward made(device.facts(), head_width, geometry, TRY(device.build(source)));
  made.kernel_ = TRY(made.program_->kernel(
      fmt::format("flash_{}_{}_{}", groups ? "groups" : "forward", head_width, name_of(type))));
  TRY(made.kernel_->allow_dynamic_shared(made.shared_bytes()));
  return made;
}

Status OwnForward::enqueue(Stream& stream, void* y, const void* qkv, void* log_sum,
                           const AttentionShape& shape) const {
  const std::int64_t kv_heads = shape.kv_heads > 0 ? shape.kv_heads : shape.heads;
  const std::int64_t rows = geometry_.units * geometry_.rows;
  const std::int64_t tiles = (shape.sequence + rows - 1) / rows;
  const LaunchShape grid = {
      {static_cast<unsigned>(shape.batch * shape.heads * tiles)},
      {static_cast<unsigned>(geometry_.units * unit_waves() * facts_->wave_size)},
      shared_bytes()};
  return launch(stream, *kernel_, grid, y, log_sum, qkv, std::uint64_t(shape.sequence),
                std::uint64_t(shape.heads), std::uint64_t(kv_heads),
                1 / std::sqrt(static_cast<float>(head_width_)));
}

std::string OwnForward::describe() const {
  if (geometry_.kind == OwnForwardKind::waves) return "";
  return fmt::format("groups of 4 waves, {} x {} queries, {} keys a step", geometry_.units,
                     geometry_.rows, geometry_.step);
}

Result<OwnForward> choose_own_forward(Device& device, DataType type, std::int64_t head_width,
                                      OwnForwardKind kind) {
  const DeviceFacts& facts = device.facts();
  const std::vector<OwnForwardGeometry> groups = of_groups(facts, head_width);
  if (kind == OwnForwardKind::groups) {
    if (groups.empty()) {
      return Error{ErrorKind::unsupported,
                   fmt::format("attention by groups of waves is written for heads 64 or 128 wide, "
                               "not {}",
                               head_width)};
    }
    return OwnForward::build(device, type, head_width, groups.front());
  }
  OwnForward waves = TRY(OwnForward::build(device, type, head_width, of_waves(facts)));
  // Only Hopper's units read tiles themselves: elsewhere groups gain nothing.
  if (kind == OwnForwardKind::waves || facts.arch != "sm_90" || groups.empty()) return waves;

  const auto stream = TRY(device.create_stream());
  // The last tiles are not full, and the first ones of a sequence have one step alone.
  const ForwardTrial small = TRY(ForwardTrial::of(device, *stream, type, {1, 300, 2, head_width}));
  constexpr double rounding = 1e-2;
  std::vector<OwnForward> right;
  right.push_back(std::move(waves));
  for (const OwnForwardGeometry& geometry : groups) {
    auto made = OwnForward::build(device, type, head_width, geometry);
    if (!made.ok()) continue;  // a compiler that does not know these instructions
    const auto found = forward_distance(*stream, type, small, *made, right.front());
    if (found.ok() && *found < rounding) right.push_back(std::move(*made));
  }
  const ChoiceCache cache = ChoiceCache::of_user(facts);
  const ChoiceKey key = {
      "own attention",
      sha256_hex(TRY(complete_source("flash_groups")) + TRY(complete_source("flash_attention"))),
      fmt::format("forward {} {}", name_of(type), head_width)};
  const auto known = cache.find(facts, key);
  for (OwnForward& one : right) {
    if (known && *known == "of " + one.describe()) return std::move(one);
  }
  const ForwardTrial large =
      TRY(ForwardTrial::of(device, *stream, type, {4, 2048, 16, head_width}));
  std::vector<Contender> contenders;
  for (const OwnForward& one : right) {
    contenders.emplace_back([&](Stream& on) { return large.enqueue(on, one); });
  }
  const ContestResult result =
      TRY(find_fastest(device, *stream, contenders, {.final_seconds = 0.02}));
  cache.keep(facts, key, "of " + right[result.fastest].describe());
  return std::move(right[result.fastest]);
}

}  // namespace assay
