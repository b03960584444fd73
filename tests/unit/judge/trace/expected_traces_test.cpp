// Real traces in ../shared/data/traces, compared with values that an independent program computed
// with integers. Skipped where they are absent.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/json.h"
#include "core/read_file.h"
#include "judge/trace/device_times.h"
#include "results/traces/trace_reader.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const fs::path trace_folder = fs::path(ASSAY_SOURCE_DIR) / "../shared/data/traces";

/// The five names that took longest, as expected.json has them.
Json top_names(const TraceIndex& index, const std::vector<const TraceEvent*>& events) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> names;
  for (const TraceEvent* event : events) {
    if (event->kind != TraceEventKind::kernel) continue;
    auto& [total, count] = names[std::string(index.name_of(*event))];
    total += event->duration;
    ++count;
  }
  std::vector<std::pair<std::string, std::pair<std::int64_t, std::int64_t>>> sorted(names.begin(),
                                                                                    names.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  Json top = Json::array();
  for (std::size_t i = 0; i < sorted.size() && i < 5; ++i) {
    top.push_back({{"name", sorted[i].first},
                   {"total_ns", sorted[i].second.first},
                   {"count", sorted[i].second.second}});
  }
  return top;
}

Json values_of(const Timeline& timeline) {
  const TraceIndex index(timeline);
  Json devices = Json::object();
  std::size_t work = 0;
  for (const auto& [device, events] : index.devices()) {
    const DeviceTimes times = device_times(index, events);
    work += events.size();
    devices[device] = {{"kernels", times.kernels},
                       {"copies_and_sets", times.copies},
                       {"streams", times.streams},
                       {"kernel_sum_ns", times.kernel_sum},
                       {"busy_ns", times.busy},
                       {"span_ns", times.span},
                       {"idle_ns", times.idle},
                       {"gaps", times.gaps},
                       {"longest_gap_ns", times.longest_gap},
                       {"compute_ns", times.compute},
                       {"collective_ns", times.collective},
                       {"exposed_collective_ns", times.exposed_collective},
                       {"copy_ns", times.copy},
                       {"exposed_copy_ns", times.exposed_copy},
                       {"host_bound_gaps", times.host_late_gaps},
                       {"host_bound_gap_ns", times.host_late},
                       {"same_stream_overlaps", times.same_stream_overlaps},
                       {"events_from_graphs", times.from_graphs},
                       {"top5", top_names(index, events)}};
  }
  return {{"gpu_events", work}, {"devices", std::move(devices)}};
}

TEST(ExpectedTraces, EveryValueIsEqual) {
  const auto text = read_file(trace_folder / "expected.json");
  if (!text) GTEST_SKIP() << "no " << trace_folder << ": real traces are not part of the tree";
  const Json expected = Json::parse(*text);
  std::size_t compared = 0;
  for (const auto& [file, values] : expected.items()) {
    SCOPED_TRACE(file);
    const auto timelines = read_traces({(trace_folder / file).string()});
    ASSERT_TRUE(timelines.ok()) << timelines.error().message;
    ASSERT_EQ(timelines->size(), 1u);
    EXPECT_EQ(values_of(timelines->front()), values)
        << Json::diff(values, values_of(timelines->front())).dump();
    ++compared;
  }
  EXPECT_GE(compared, 18u);
}

}  // namespace
}  // namespace assay
