#include "measure/benchmarks/collective/collective_cell.h"

#include <fmt/format.h>

#include "compute/device/matrix_unit_types.h"
#include "core/units.h"
#include "measure/benchmarks/cold_regions.h"
#include "ranks/collective/communicators.h"

namespace assay {
namespace {

std::vector<Axis> make_collective_axes() {
  return {
      {.name = "op",
       .description = "the operation; send_recv is a ring: send to the next rank, receive from the "
                      "previous one",
       .defaults = {"all_reduce"},
       .choices = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                   "all_to_all", "gather", "scatter", "send_recv"}},
      {.name = "dtype",
       .description = "element type; fp8 types become FNUZ on gfx942",
       .defaults = {"f32"},
       .choices = {"f32", "f64", "f16", "bf16", "i8", "u8", "i32", "u32", "i64", "u64", "e4m3",
                   "e5m2", "e4m3_fnuz", "e5m2_fnuz"}},
      {.name = "redop",
       .description = "reduction; none for operations that do not reduce",
       .defaults = {"sum"},
       .choices = {"sum", "prod", "min", "max", "avg", "none"}},
      {.name = "place",
       .description = "whether the result goes to a separate buffer (out) or to the input's (in)",
       .defaults = {"out"},
       .choices = {"out", "in"}},
      {.name = "ranks",
       .description = "how many ranks take part; all: the whole team",
       .kind = Axis::Kind::member,
       .defaults = {"all"},
       .choices = {},
       .least = 2,
       .most = 1 << 20},
      {.name = "library",
       .description = "auto: the library made for the device; mpi needs a GPU-aware build for GPUs",
       .defaults = {"auto"},
       .choices = library_choices()},
      {.name = "launch",
       .description = "each operation queued on a stream, or several replayed from a graph",
       .defaults = {"stream"},
       .choices = {"stream", "graph"}},
      {.name = "size",
       .description = "bytes of the larger of a rank's two buffers, as nccl-tests prints them",
       .kind = Axis::Kind::size,
       .defaults = {"4..1GiB*4"},
       .choices = {},
       .most = std::uint64_t{1} << 40},
  };
}

}  // namespace

std::vector<std::string> library_choices() {
  return {"auto", "nccl", "rccl", "mpi", "peer", "tcp"};
}

const std::vector<Axis>& collective_axes() {
  static const std::vector<Axis> axes = make_collective_axes();
  return axes;
}

CollectiveCell parse_collective_cell(const Cell& cell) {
  CollectiveCell parsed;
  parsed.operation =
      parse_collective_operation(cell.text("op")).value_or(CollectiveOperation::all_reduce);
  parsed.type = parse_data_type(cell.text("dtype")).value_or(DataType::f32);
  parsed.reduction = parse_reduction(cell.text("redop"));
  parsed.in_place = cell.text("place") == "in";
  parsed.ranks = static_cast<int>(cell.integer("ranks"));
  parsed.library = cell.text("library");
  parsed.graph = cell.text("launch") == "graph";
  parsed.size = cell.integer("size");
  return parsed;
}

CollectiveShape shape_of(const CollectiveCell& cell) {
  const int ranks = cell.ranks > 0 ? cell.ranks : 1;
  return {cell.operation, cell.type, cell.in_place, ranks,
          block_count(cell.operation, cell.type, cell.size, ranks)};
}

Cell expand_collective_cell(const Cell& cell, const Device& device, const Team& team) {
  Cell expanded = cell;
  if (cell.text("ranks") == "all") {
    expanded = with_value(expanded, "ranks", fmt::format("{}", team.size()));
  }
  if (cell.text("library") == "auto") {
    const std::string_view best = best_communicator_kind(device, team);
    if (!best.empty()) expanded = with_value(expanded, "library", best);
  }
  const CollectiveCell parsed = parse_collective_cell(cell);
  if (!reduces(parsed.operation)) expanded = with_value(expanded, "redop", "none");
  const bool ocp_fp8 = parsed.type == DataType::e4m3 || parsed.type == DataType::e5m2;
  if (ocp_fp8 && has_fnuz_fp8(device.facts())) {
    expanded = with_value(expanded, "dtype", fmt::format("{}_fnuz", name_of(parsed.type)));
  }
  return expanded;
}

std::optional<std::string> collective_unsupported(const CollectiveCell& cell,
                                                  const Device& device) {
  const std::string_view operation = name_of(cell.operation);
  if (cell.ranks == 1)
    return "a collective needs at least two ranks; start several: --ranks, --hosts or mpirun";
  if (cell.library == "auto") {
    return fmt::format("this build has no collective library for {} devices",
                       device.facts().backend);
  }
  if (reduces(cell.operation) && !cell.reduction) {
    return fmt::format("{} needs a reduction: redop=sum, prod, min, max or avg", operation);
  }
  if (cell.in_place && !runs_in_place(cell.operation)) {
    return fmt::format("{} has no in-place form; use place=out", operation);
  }
  if (is_fnuz(cell.type) && !has_fnuz_fp8(device.facts())) {
    return "FNUZ fp8 is the encoding of gfx940 to gfx942; use e4m3 or e5m2";
  }
  const CollectiveShape shape = shape_of(cell);
  if (shape.count == 0) {
    return fmt::format(
        "{} are too few for {} of {} over {} ranks, whose blocks are multiples of "
        "16 bytes",
        format_size(cell.size), operation, name_of(cell.type), shape.ranks);
  }
  if (cell.reduction && reduces(cell.operation)) {
    if (auto reason = inexact_reduction(cell.type, *cell.reduction, shape.ranks)) return reason;
  }
  const auto memory = device.memory_free_and_total();
  if (!memory) return memory.error().message;
  // Assumes that all ranks share one host and divide its caches.
  const std::uint64_t cold = cold_bytes(device.facts(), shape.ranks);
  const std::uint64_t needed =
      (cell.in_place ? 1 : 2) * ColdRegions::total_bytes(larger_bytes(shape), cold);
  // Leave a tenth of the memory to the library's own buffers and other users.
  if (needed > memory->first / 10 * 9) {
    return fmt::format("needs {} for buffers larger than the caches; {} is free",
                       format_memory(needed), format_memory(memory->first));
  }
  return std::nullopt;
}

}  // namespace assay
