#include <fmt/format.h>

#include "advise/doctor/advice.h"
#include "core/units.h"

namespace assay::shared_memory_check {
namespace {

constexpr Advice advice = {
    .wanted = "1 GiB or more, or no limit",
    .why =
        "collectives and data loaders exchange buffers in /dev/shm and fail with a bus error or "
        "\"no space left\" once it is full; Docker gives 64 MiB",
    .source = "NCCL docs, Troubleshooting: Shared memory; PyTorch README: Using pre-built images",
    .fix = "docker run --ipc=host, or --shm-size=16g"};

constexpr long long least_kib = 1 << 20;

/// The size option in the /dev/shm line of a mount table, in KiB; 0: mounted without a size.
std::optional<long long> size_of_shm(std::string_view mounts) {
  while (!mounts.empty()) {
    const std::string_view line = mounts.substr(0, mounts.find('\n'));
    mounts.remove_prefix(std::min(line.size() + 1, mounts.size()));
    const std::vector<std::string_view> columns = words(line);
    if (columns.size() < 4 || columns[1] != "/dev/shm") continue;
    const std::size_t size = columns[3].find("size=");
    if (size == std::string_view::npos) return 0;
    const std::string_view value = columns[3].substr(size + 5);
    return whole_number(value.substr(0, value.find_first_not_of("0123456789")));
  }
  return std::nullopt;
}

std::vector<Finding> run(const CheckContext& context) {
  if (context.gpus.empty()) return {};
  const Reading mounts = read_setting(context.machine, "proc/self/mounts");
  if (!mounts.text) return {unknown(advice, mounts.why_not)};
  const auto kib = size_of_shm(*mounts.text);
  if (!kib) return {unknown(advice, "/dev/shm is not mounted on its own")};
  if (*kib == 0) return {passed(advice, "half of the memory, the kernel's default")};
  const std::string found = format_memory(static_cast<std::uint64_t>(*kib) << 10);
  return {*kib >= least_kib ? passed(advice, found) : failed(advice, found)};
}

const CheckRegistry::Add registered{{"shared-memory", "Size of /dev/shm", Topic::limits, &run}};

}  // namespace
}  // namespace assay::shared_memory_check
