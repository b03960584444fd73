#include "advise/doctor/advice.h"

namespace assay::transparent_huge_pages_check {
namespace {

constexpr Advice advice = {
    .wanted = "always or madvise",
    .why =
        "with 4 KiB pages alone, host buffers take far more TLB entries, page faults and entries "
        "to pin for DMA",
    .source = "Linux kernel documentation, Transparent Hugepage Support",
    .fix = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"};

/// The selected value: "madvise" in "always [madvise] never".
std::string_view chosen(std::string_view text) {
  const std::size_t open = text.find('['), close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return text.substr(open + 1, close - open - 1);
}

std::vector<Finding> run(const CheckContext& context) {
  const Reading reading =
      read_setting(context.machine, "sys/kernel/mm/transparent_hugepage/enabled");
  if (!reading.text) return {unknown(advice, reading.why_not)};
  const std::string mode(chosen(*reading.text));
  if (mode == "always" || mode == "madvise") return {passed(advice, mode)};
  if (mode == "never") return {warned(advice, mode)};
  return {unknown(advice, "no mode is marked in " + in_quotes(*reading.text))};
}

const CheckRegistry::Add registered{
    {"transparent-huge-pages", "Transparent huge pages", Topic::host, &run}};

}  // namespace
}  // namespace assay::transparent_huge_pages_check
