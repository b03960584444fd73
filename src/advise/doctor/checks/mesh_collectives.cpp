#include <fmt/format.h>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"

namespace assay::mesh_collectives_check {
namespace {

constexpr Advice advice = {
    .wanted = "collectives over 8 GPUs, or none (1 GPU)",
    .why =
        "each pair of GPUs has a link of its own: 2 GPUs use 1 of 7 links and 4 GPUs use 3, so "
        "they get only that share of the bandwidth",
    .source = "ROCm docs, workload optimization: Use all eight GPUs; Multi-GPU communications",
    .fix =
        "use all 8 GPUs in one job (tensor parallel size 8), or run one process per GPU without "
        "collectives"};

constexpr int whole_mesh = 8;

/// In other partition modes a job counts partitions; those of one GPU need no link to each other.
bool on_mesh(const Gpu& gpu) {
  return on_mesh_of_eight(gpu) && (gpu.compute_partition.empty() || gpu.compute_partition == "SPX");
}

std::vector<Finding> run(const CheckContext& context) {
  for (const Gpu& gpu : context.gpus) {
    if (!on_mesh(gpu)) return {};
  }
  if (context.gpus.size() < 2) return {};
  const int used = gpus_used(context);
  if (used == 0) return {};  // the check visible-devices reports it
  const int present = static_cast<int>(context.gpus.size());
  const std::string found = fmt::format("{} of {} GPUs", used, present);
  if (used == 1 || used % whole_mesh == 0) return {passed(advice, found)};
  Finding finding = bad(context.intent.gpus > 0, advice, found);
  if (present < whole_mesh) {
    finding.fix = fmt::format(
        "{} of the mesh's 8 GPUs {}; with these, run one process per GPU without collectives",
        whole_mesh - present,
        context.virtual_machine() ? "are not in this guest" : "are missing here: see gpu-driver");
  }
  return {finding};
}

const CheckRegistry::Add registered{
    {"mesh-collectives", "Collectives on a mesh", Topic::link, &run}};

}  // namespace
}  // namespace assay::mesh_collectives_check
