#include <fmt/format.h>

#include "advise/doctor/advice.h"
#include "core/json.h"
#include "machine/system/fact_source.h"
#include "machine/system/nic.h"

namespace assay::memlock_check {
namespace {

constexpr Advice advice = {
    .wanted = "unlimited",
    .why =
        "memory registered with a NIC or pinned for DMA counts against this limit, and "
        "registration fails once it is used up",
    .source = "NCCL docs, Troubleshooting: Networking issues, locked memory; RCCL usage tips",
    .fix =
        "ulimit -l unlimited; for good: \"* soft memlock unlimited\" and \"* hard memlock "
        "unlimited\" in /etc/security/limits.d/memlock.conf; container: docker run --ulimit "
        "memlock=-1"};

constexpr std::string_view key = "Max locked memory";

/// The soft limit in /proc/self/limits; empty if there is no such line.
std::string soft_limit(std::string_view limits) {
  const std::size_t at = limits.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view line = limits.substr(at, limits.find('\n', at) - at);
  const std::vector<std::string_view> columns = words(line.substr(key.size()));
  return columns.empty() ? std::string() : std::string(columns.front());
}

/// Whether the process has the capability to lock any amount of memory. The kernel checks it in the
/// initial user namespace, so the capabilities of root in a rootless container do not count.
bool may_lock_all(const Machine& machine) {
  constexpr int cap_ipc_lock = 14;
  constexpr std::uint64_t first_user_namespace = 4026531837;
  const Json namespaces = machine.ask("namespaces");
  if (!namespaces.is_object() || namespaces.value("user", Json()) != first_user_namespace) {
    return false;
  }
  const FileText status = machine.read("proc/self/status");
  const auto mask = line_value(status.text, "CapEff");
  if (!mask) return false;
  return (std::strtoull(mask->c_str(), nullptr, 16) >> cap_ipc_lock & 1) != 0;
}

std::vector<Finding> run(const CheckContext& context) {
  const bool rdma = context.intent.multi_node || !read_nics(context.machine).empty();
  if (context.gpus.empty() && !rdma) return {};
  const Reading limits = read_setting(context.machine, "proc/self/limits");
  if (!limits.text) return {unknown(advice, limits.why_not)};
  const std::string limit = soft_limit(*limits.text);
  if (limit == "unlimited") return {passed(advice, limit)};
  const auto bytes = whole_number(limit);
  if (!bytes) return {unknown(advice, "no limit of locked memory in /proc/self/limits")};
  const std::string found = fmt::format("{} KiB", *bytes / 1024);
  if (may_lock_all(context.machine)) {
    return {passed(advice, found + ", lifted by CAP_IPC_LOCK")};
  }
  return {bad(rdma, advice, found)};
}

const CheckRegistry::Add registered{{"memlock", "Locked memory", Topic::limits, &run}};

}  // namespace
}  // namespace assay::memlock_check
