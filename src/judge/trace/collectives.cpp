#include "judge/trace/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/data_type.h"
#include "core/text.h"
#include "judge/trace/kernel_groups.h"

namespace assay {
namespace {

struct OperationWord {
  std::string_view word, operation;
};

/// Words in PyTorch's "Collective name" and in the names of NCCL's kernels, in lower case without
/// underscores.
constexpr OperationWord operation_words[] = {{"allreduce", "all_reduce"},
                                             {"reducescatter", "reduce_scatter"},
                                             {"allgather", "all_gather"},
                                             {"alltoall", "all_to_all"},
                                             {"broadcast", "broadcast"},
                                             {"sendrecv", "send_recv"},
                                             {"crossdevicereduce", "all_reduce"},
                                             {"quickreduce", "all_reduce"},
                                             {"gather", "gather"},
                                             {"scatter", "scatter"},
                                             {"send", "send_recv"},
                                             {"recv", "send_recv"},
                                             {"reduce", "reduce"}};

std::string operation_in(std::string_view name) {
  std::string plain;
  for (const char letter : name) {
    if (letter == '_') continue;
    plain += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  for (const OperationWord& one : operation_words) {
    if (plain.find(one.word) != plain.npos) return std::string(one.operation);
  }
  return {};
}

struct ElementType {
  std::string_view torch, axis;
  std::uint64_t bytes;
};
constexpr ElementType element_types[] = {{"BFloat16", "bf16", 2},   {"Half", "f16", 2},
                                         {"Float", "f32", 4},       {"Double", "f64", 8},
                                         {"Char", "i8", 1},         {"Byte", "u8", 1},
                                         {"Int", "i32", 4},         {"Long", "i64", 8},
                                         {"Bool", "u8", 1},         {"Float8_e4m3fn", "e4m3", 1},
                                         {"Float8_e5m2", "e5m2", 1}};

using EventsByShape = std::map<TracedCollective, std::vector<const TraceEvent*>>;

/// One rank of a comparison.
struct TracedRank {
  const TraceIndex* index;
  EventsByShape collectives;  ///< in order of start
};

EventsByShape collectives_by_shape(const TraceIndex& index,
                                   const std::vector<const TraceEvent*>& events) {
  EventsByShape shapes;
  for (const TraceEvent* event : events) {
    if (work_kind_of(index, *event) != WorkKind::collective) continue;
    shapes[collective_shape(index, *event)].push_back(event);
  }
  return shapes;
}

/// Appends the ranks of a file: a GPU each if several take part in collectives, else the file.
void add_ranks(const TraceIndex& index, std::vector<TracedRank>& ranks,
               std::vector<RankWait>& waits) {
  const Timeline& timeline = index.timeline();
  std::vector<std::pair<std::string, EventsByShape>> devices;
  for (const auto& [device, events] : index.devices()) {
    EventsByShape shapes = collectives_by_shape(index, events);
    if (!shapes.empty()) devices.emplace_back(device, std::move(shapes));
  }
  const auto position = [&] { return static_cast<int>(ranks.size()); };
  if (devices.size() < 2) {
    waits.push_back({timeline.file, "", timeline.rank.value_or(position())});
    ranks.push_back({&index, devices.empty() ? EventsByShape() : devices.front().second});
    return;
  }
  std::stable_sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) {
    return a.first.size() < b.first.size();  // 10 after 9
  });
  for (auto& [device, shapes] : devices) {
    waits.push_back({timeline.file, device, position()});
    ranks.push_back({&index, std::move(shapes)});
  }
}

/// Returns the time since 1970, within bounds whose difference does not overflow.
std::int64_t absolute(const TraceIndex& index, std::int64_t time) {
  return std::clamp(add_saturated(index.timeline().epoch, time), -longest_time, longest_time);
}

std::int64_t absolute_end(const TraceIndex& index, const TraceEvent& event) {
  return absolute(index, event.end());
}

/// Returns how far the starts of the ranks' events are apart.
std::int64_t start_spread(const std::vector<TracedRank>& ranks,
                          const std::vector<const TraceEvent*>& events) {
  std::int64_t first = longest_time, last = -longest_time;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::int64_t start = absolute(*ranks[i].index, events[i]->start);
    first = std::min(first, start);
    last = std::max(last, start);
  }
  return last - first;
}

/// Returns the event of `others`, sorted by end, whose end is nearest to `end`.
const TraceEvent* nearest(const TraceIndex& index, const std::vector<const TraceEvent*>& others,
                          std::int64_t end) {
  const auto after = std::lower_bound(others.begin(), others.end(), end,
                                      [&](const TraceEvent* event, std::int64_t time) {
                                        return absolute_end(index, *event) < time;
                                      });
  if (after == others.begin()) return *after;
  if (after == others.end()) return others.back();
  const std::int64_t up = absolute_end(index, **after) - end;
  const std::int64_t down = end - absolute_end(index, **std::prev(after));
  return up < down ? *after : *std::prev(after);
}

}  // namespace

TracedCollective collective_shape(const TraceIndex& index, const TraceEvent& event) {
  const Timeline& timeline = index.timeline();
  const EventDetail& detail = timeline.detail(event.detail);
  TracedCollective shape;
  shape.operation = operation_in(timeline.text(detail.collective));
  if (shape.operation.empty()) shape.operation = operation_in(index.name_of(event));
  if (shape.operation.empty()) shape.operation = index.name_of(event);
  shape.group = timeline.text(detail.group);
  shape.ranks = detail.group_size;
  for (const ElementType& type : element_types) {
    if (type.torch != timeline.text(detail.data_type)) continue;
    shape.type = type.axis;
    const std::uint64_t elements = std::max(detail.elements_in, detail.elements_out);
    if (__builtin_mul_overflow(elements, type.bytes, &shape.bytes)) shape.bytes = 0;
  }
  if (const auto type =
          parse_data_type(timeline.text(detail.data_type))) {  // of assay's own traces
    shape.type = name_of(*type);
    const std::uint64_t elements = std::max(detail.elements_in, detail.elements_out);
    if (__builtin_mul_overflow(elements, size_of(*type), &shape.bytes)) shape.bytes = 0;
  }
  return shape;
}

std::optional<double> bus_factor(const TracedCollective& shape) {
  if (shape.ranks < 2) return std::nullopt;
  const double others = shape.ranks - 1, all = shape.ranks;
  if (shape.operation == "all_reduce") return 2 * others / all;
  for (const char* operation :
       {"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"}) {
    if (shape.operation == operation) return others / all;
  }
  for (const char* operation : {"broadcast", "reduce", "send_recv"}) {
    if (shape.operation == operation) return 1;
  }
  return std::nullopt;
}

std::vector<CollectiveGroup> collectives_of(const TraceIndex& index,
                                            const std::vector<const TraceEvent*>& events) {
  std::map<TracedCollective, std::vector<std::int64_t>> shapes;
  for (const TraceEvent* event : events) {
    if (work_kind_of(index, *event) != WorkKind::collective) continue;
    shapes[collective_shape(index, *event)].push_back(event->duration);
  }
  std::vector<CollectiveGroup> groups;
  for (auto& [shape, durations] : shapes) {
    CollectiveGroup group;
    group.shape = shape;
    group.count = durations.size();
    group.shortest = *std::min_element(durations.begin(), durations.end());
    for (const std::int64_t duration : durations)
      group.total = add_saturated(group.total, duration);
    group.median = lower_median(std::move(durations));
    const auto factor = bus_factor(shape);
    if (factor && shape.bytes > 0 && group.median > 0) {
      group.bus_bandwidth =
          *factor * static_cast<double>(shape.bytes) / (static_cast<double>(group.median) / 1e9);
    }
    groups.push_back(std::move(group));
  }
  std::stable_sort(
      groups.begin(), groups.end(),
      [](const CollectiveGroup& a, const CollectiveGroup& b) { return a.total > b.total; });
  return groups;
}

RankComparison compare_ranks(const std::vector<const TraceIndex*>& files) {
  RankComparison comparison;
  std::vector<TracedRank> ranks;
  bool same_clock = true;
  for (const TraceIndex* const file : files) {
    add_ranks(*file, ranks, comparison.ranks);
    same_clock =
        same_clock && (file->timeline().epoch != 0) == (files.front()->timeline().epoch != 0);
  }
  if (ranks.size() < 2) return comparison;
  if (!same_clock) {
    comparison.problem = "some of the traces say what time their time 0 is, others do not";
    return comparison;
  }
  if (files.size() > 1 && files.front()->timeline().epoch == 0) {
    comparison.problem = "the traces do not say what time their time 0 is";
    return comparison;
  }
  std::int64_t largest_spread = 0, largest_start_spread = 0;
  for (const auto& [shape, events] : ranks.front().collectives) {
    std::vector<std::vector<const TraceEvent*>> others;
    for (const TracedRank& rank : ranks) {
      const auto at = rank.collectives.find(shape);
      others.push_back(at == rank.collectives.end() ? std::vector<const TraceEvent*>()
                                                    : at->second);
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
      std::stable_sort(
          others[i].begin(), others[i].end(),
          [](const TraceEvent* a, const TraceEvent* b) { return a->end() < b->end(); });
    }
    const bool on_all =
        std::none_of(others.begin(), others.end(), [](const auto& list) { return list.empty(); });
    for (const TraceEvent* event : events) {
      // All ranks leave a collective at about the same time, whenever they came.
      std::vector<const TraceEvent*> together = {event};
      const std::int64_t end = absolute_end(*ranks.front().index, *event);
      std::int64_t spread = 0;
      for (std::size_t i = 1; on_all && i < ranks.size(); ++i) {
        const TraceEvent* const other = nearest(*ranks[i].index, others[i], end);
        const std::int64_t other_end = absolute_end(*ranks[i].index, *other);
        const TraceEvent* const back = nearest(*ranks.front().index, others.front(), other_end);
        const std::int64_t longest = std::max(event->duration, other->duration);
        constexpr std::int64_t tolerance = 100'000;  // ns
        const std::int64_t apart = other_end > end ? other_end - end : end - other_end;
        if (back->end() != event->end() || apart > std::max(tolerance, longest / 10)) break;
        spread = std::max(spread, apart);
        together.push_back(other);
      }
      if (together.size() != ranks.size()) {
        ++comparison.unmatched;
        continue;
      }
      ++comparison.matched;
      largest_spread = std::max(largest_spread, spread);
      const auto [shortest, longest] = std::minmax_element(
          together.begin(), together.end(),
          [](const TraceEvent* a, const TraceEvent* b) { return a->duration < b->duration; });
      largest_start_spread = std::max(largest_start_spread, start_spread(ranks, together));
      comparison.transfer = add_saturated(comparison.transfer, (*shortest)->duration);
      for (std::size_t i = 0; i < together.size(); ++i) {
        RankWait& rank = comparison.ranks[i];
        rank.duration = add_saturated(rank.duration, together[i]->duration);
        rank.waited = add_saturated(rank.waited, together[i]->duration - (*shortest)->duration);
      }
      // A wait that is no longer than the ends are apart is none.
      const std::int64_t wait = (*longest)->duration - (*shortest)->duration;
      if (wait <= spread) continue;
      RankWait& last = comparison.ranks[static_cast<std::size_t>(shortest - together.begin())];
      ++last.came_last;
      last.caused = add_saturated(last.caused, wait);
    }
  }
  if (comparison.matched > 0) {
    comparison.end_spread = largest_spread;
    if (largest_spread > largest_start_spread) {
      comparison.problem =
          "the collectives end at more different times on the ranks than they begin: the clocks "
          "are not the same, or they are not the same collectives";
    }
  } else {
    comparison.problem =
        comparison.unmatched == 0
            ? "the first trace has no collectives"
            : "no collective ends at the same time on all ranks: the clocks are not the same, the "
              "traces are of other runs, or they have parts of them only";
  }
  return comparison;
}

}  // namespace assay
