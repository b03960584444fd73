#include "ranks/collective/communicator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

struct OperationName {
  CollectiveOperation operation;
  std::string_view name;
};

constexpr std::array<OperationName, 9> operation_names = {{
    {CollectiveOperation::all_reduce, "all_reduce"},
    {CollectiveOperation::all_gather, "all_gather"},
    {CollectiveOperation::reduce_scatter, "reduce_scatter"},
    {CollectiveOperation::broadcast, "broadcast"},
    {CollectiveOperation::reduce, "reduce"},
    {CollectiveOperation::all_to_all, "all_to_all"},
    {CollectiveOperation::gather, "gather"},
    {CollectiveOperation::scatter, "scatter"},
    {CollectiveOperation::send_recv, "send_recv"},
}};

constexpr std::array<std::string_view, 5> reductions = {"sum", "prod", "min", "max", "avg"};

}  // namespace

std::string_view name_of(CollectiveOperation operation) {
  return operation_names[static_cast<std::size_t>(operation)].name;
}

std::string_view name_of(Reduction reduction) {
  return reductions[static_cast<std::size_t>(reduction)];
}

std::optional<CollectiveOperation> parse_collective_operation(std::string_view name) {
  for (const OperationName& entry : operation_names) {
    if (entry.name == name) return entry.operation;
  }
  return std::nullopt;
}

std::optional<Reduction> parse_reduction(std::string_view name) {
  const auto* const at = std::find(reductions.begin(), reductions.end(), name);
  if (at == reductions.end()) return std::nullopt;
  return static_cast<Reduction>(at - reductions.begin());
}

bool reduces(CollectiveOperation operation) {
  return operation == CollectiveOperation::all_reduce ||
         operation == CollectiveOperation::reduce_scatter ||
         operation == CollectiveOperation::reduce;
}

bool has_root(CollectiveOperation operation) {
  return operation == CollectiveOperation::broadcast || operation == CollectiveOperation::reduce ||
         operation == CollectiveOperation::gather || operation == CollectiveOperation::scatter;
}

std::size_t elements_of(CollectiveOperation operation, std::size_t count, int ranks) {
  switch (operation) {
    case CollectiveOperation::all_gather:
    case CollectiveOperation::reduce_scatter:
    case CollectiveOperation::all_to_all:
    case CollectiveOperation::gather:
    case CollectiveOperation::scatter:
      return count * static_cast<std::size_t>(ranks);
    default:
      return count;
  }
}

std::size_t bytes_of(const CollectiveCall& call, int ranks) {
  return elements_of(call.operation, call.count, ranks) * size_of(call.type);
}

double bus_factor(CollectiveOperation operation, int ranks) {
  const double n = ranks;
  switch (operation) {
    case CollectiveOperation::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveOperation::all_gather:
    case CollectiveOperation::reduce_scatter:
    case CollectiveOperation::all_to_all:
    case CollectiveOperation::gather:
    case CollectiveOperation::scatter:
      return (n - 1) / n;
    default:
      return 1;
  }
}

std::vector<CommunicatorKind> communicator_kinds() {
  std::vector<CommunicatorKind> kinds = CommunicatorRegistry::entries();
  std::sort(kinds.begin(), kinds.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return kinds;
}

Result<CommunicatorKind> communicator_kind(std::string_view name) {
  std::vector<std::string_view> names;
  for (const CommunicatorKind& kind : communicator_kinds()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  return Error{ErrorKind::unsupported,
               fmt::format("this build has no collective library {}; it has: {}", name,
                           fmt::join(names, ", "))};
}

}  // namespace assay
