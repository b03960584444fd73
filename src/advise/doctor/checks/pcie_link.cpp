#include <fmt/format.h>

#include "advise/doctor/advice.h"
#include "advise/doctor/gpu_model.h"

namespace assay::pcie_link_check {
namespace {

constexpr Advice advice = {
    .wanted = "the widest and fastest link the GPU can do",
    .why =
        "copies to and from the host and GPUDirect RDMA get only that share of the bandwidth; a "
        "link that trained down often has a bad contact",
    .source = "ROCm Validation Suite, PEQT module; PCI Express Base Specification: Link Status",
    .fix =
        "reseat the GPU or riser and set the slot to Auto/Gen5 in the BIOS; then sudo lspci -vv "
        "| grep -e LnkCap: -e LnkSta:"};

std::string link_text(double speed, int width) {
  return fmt::format("{:g} GT/s x{}", speed, width);
}

std::optional<Finding> look(const Gpu& gpu) {
  const PcieLink& link = gpu.pcie;
  if (!link.speed_gts || !link.speed_max_gts || !link.width || !link.width_max) {
    return unknown(advice,
                   gpu.virtual_function ? "a virtual function does not show its host's link"
                                        : "the kernel does not report width and speed",
                   label(gpu));
  }
  const std::string now = link_text(*link.speed_gts, *link.width);
  const std::string best = link_text(*link.speed_max_gts, *link.width_max);
  const bool narrow = *link.width < *link.width_max;
  const bool slow = *link.speed_gts < *link.speed_max_gts;
  if (!narrow && !slow) return passed(advice, now, label(gpu));
  const std::string found = now + " of " + best;
  // An idle link may lower its speed to save power, but never its width.
  const bool busy = gpu.state.utilisation_percent.value_or(0) > 0;
  if (narrow || busy) return failed(advice, found, label(gpu));
  return warned(advice, found + ", idle: read again under load", label(gpu));
}

std::vector<Finding> run(const CheckContext& context) {
  return for_each_gpu(context, look);
}

const CheckRegistry::Add registered{{"pcie-link", "PCIe link", Topic::gpu, &run}};

}  // namespace
}  // namespace assay::pcie_link_check
