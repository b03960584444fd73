#include "cli/judge/trace_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/screen_text.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/shown_text.h"
#include "core/units.h"
#include "judge/report/number_text.h"
#include "judge/trace/kernel_category.h"
#include "judge/trace/nanoseconds_text.h"

namespace assay::cli {
namespace {

constexpr auto right_side = Column::Align::right;
constexpr std::size_t longest_name = 100;

std::string percent_of(std::int64_t part, std::int64_t whole) {
  return whole <= 0
             ? ""
             : fmt::format("{:.1f}%", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string kernel_text(std::string_view name) {
  return shown_line(plain_kernel_name(name), longest_name);
}

std::string spans_text(const DeviceReport& device, std::size_t width, const Style& style) {
  const DeviceTimes& times = device.times;
  Table table({{"state"}, {"time", right_side}, {"share", right_side}});
  const auto row = [&](std::string what, std::int64_t time) {
    table.add({std::move(what), nanoseconds_text(time), percent_of(time, times.span)});
  };
  row("recorded", times.span);
  row("busy", times.busy);
  row("  computing", times.compute);
  if (times.collective > 0) row("  in collectives, nothing computed", times.exposed_collective);
  if (times.copy > 0) row("  in copies, nothing else", times.exposed_copy);
  row("idle", times.idle);
  if (times.host_late > 0) row("  the host came late", times.host_late);
  if (times.launched_before > 0) row("  launched before, waited on the GPU", times.launched_before);
  if (times.unknown > 0) row("  cause unknown", times.unknown);
  if (times.between_steps > 0) row("  of all this between steps", times.between_steps);
  return table.render(width, style);
}

std::string steps_text(const DeviceReport& device, std::size_t top, std::size_t width,
                       const Style& style) {
  Table table({{"step"},
               {"time", right_side},
               {"busy", right_side},
               {"computing", right_side, 3},
               {"collectives", right_side, 2},
               {"copies", right_side, 1},
               {"idle", right_side}});
  std::size_t rows = 0;
  for (const DeviceStep& step : device.steps) {
    if (rows++ == top) break;
    const DeviceTimes& times = step.times;
    table.add({shown_line(step.name, longest_name), nanoseconds_text(times.span),
               percent_of(times.busy, times.span), percent_of(times.compute, times.span),
               percent_of(times.exposed_collective, times.span),
               percent_of(times.exposed_copy, times.span), percent_of(times.idle, times.span)});
  }
  return table.empty() ? "" : table.render(width, style);
}

std::string groups_text(const std::vector<KernelGroup>& groups, std::string title,
                        const DeviceTimes& times, std::size_t top, std::size_t width,
                        const Style& style) {
  Table table({{std::move(title)},
               {"count", right_side},
               {"median", right_side},
               {"total", right_side},
               {"of kernels", right_side}});
  for (std::size_t i = 0; i < std::min(top, groups.size()); ++i) {
    const KernelGroup& group = groups[i];
    table.add({kernel_text(group.name), std::to_string(group.count), nanoseconds_text(group.median),
               nanoseconds_text(group.total), percent_of(group.total, times.kernel_sum)});
  }
  return table.empty() ? "" : table.render(width, style);
}

std::string gemms_text(const DeviceReport& device, std::size_t top, std::size_t width,
                       const Style& style) {
  Table table({{"product"},
               {"type"},
               {"count", right_side},
               {"median", right_side},
               {"rate", right_side},
               {"tile", Column::Align::left, 2},
               {"tiles used", right_side, 1},
               {"total", right_side}});
  for (std::size_t i = 0; i < std::min(top, device.gemms.size()); ++i) {
    const GemmGroup& gemm = device.gemms[i];
    const GemmProblem2D& problem = gemm.problem;
    const auto kernel = parse_gemm_kernel(gemm.kernel);
    std::string tile;
    if (kernel && kernel->m > 0) {
      tile = fmt::format("{}x{}{}", kernel->m, kernel->n,
                         kernel->k > 0 ? fmt::format("x{}", kernel->k) : "");
    }
    table.add({fmt::format("{}x{}x{}{}", problem.m, problem.n, problem.k,
                           problem.batch > 1 ? fmt::format(" x {}", problem.batch) : ""),
               problem.type, std::to_string(gemm.count), nanoseconds_text(gemm.median),
               gemm.rate > 0 ? format_rate(gemm.rate, "FLOP/s") : "", tile,
               gemm.efficiency ? fmt::format("{:.0f}%", 100 * *gemm.efficiency) : "",
               nanoseconds_text(gemm.total)});
  }
  return table.empty() ? "" : table.render(width, style);
}

std::string collectives_text(const DeviceReport& device, std::size_t top, std::size_t width,
                             const Style& style) {
  Table table({{"collective"},
               {"bytes", right_side},
               {"ranks", right_side, 1},
               {"count", right_side},
               {"median", right_side},
               {"shortest", right_side, 2},
               {"bus bandwidth", right_side},
               {"total", right_side}});
  for (std::size_t i = 0; i < std::min(top, device.collectives.size()); ++i) {
    const CollectiveGroup& group = device.collectives[i];
    table.add({kernel_text(group.shape.operation),
               group.shape.bytes > 0 ? format_size(group.shape.bytes) : "",
               group.shape.ranks > 0 ? std::to_string(group.shape.ranks) : "",
               std::to_string(group.count), nanoseconds_text(group.median),
               nanoseconds_text(group.shortest),
               group.bus_bandwidth ? format_rate(*group.bus_bandwidth, "B/s") : "",
               nanoseconds_text(group.total)});
  }
  return table.empty() ? "" : table.render(width, style);
}

Json group_json(const KernelGroup& group) {
  return {{"name", group.name},
          {"category", group.category},
          {"count", group.count},
          {"median_ns", group.median},
          {"total_ns", group.total}};
}

Json times_json(const DeviceTimes& times) {
  return {{"kernels", times.kernels},
          {"copies_and_sets", times.copies},
          {"streams", times.streams},
          {"kernel_sum_ns", times.kernel_sum},
          {"span_ns", times.span},
          {"busy_ns", times.busy},
          {"idle_ns", times.idle},
          {"compute_ns", times.compute},
          {"collective_ns", times.collective},
          {"exposed_collective_ns", times.exposed_collective},
          {"copy_ns", times.copy},
          {"exposed_copy_ns", times.exposed_copy},
          {"exposed_host_copy_ns", times.exposed_host_copy},
          {"gaps", times.gaps},
          {"longest_gap_ns", times.longest_gap},
          {"host_bound_gaps", times.host_late_gaps},
          {"host_bound_gap_ns", times.host_late},
          {"launched_before_gap_ns", times.launched_before},
          {"unknown_gap_ns", times.unknown},
          {"between_steps_ns", times.between_steps},
          {"recorder_pauses_ns", times.recorder_pauses},
          {"launch_bound", is_launch_bound(times)},
          {"same_stream_overlaps", times.same_stream_overlaps},
          {"implausible_durations", times.implausible},
          {"events_from_graphs", times.from_graphs}};
}

Json gemm_json(const GemmGroup& gemm) {
  Json json = {{"shape", fmt::format("{}x{}x{}", gemm.problem.m, gemm.problem.n, gemm.problem.k)},
               {"batch", gemm.problem.batch},
               {"dtype", gemm.problem.type},
               {"layout", gemm.layout},
               {"kernel", gemm.kernel},
               {"count", gemm.count},
               {"median_ns", gemm.median},
               {"total_ns", gemm.total},
               {"flops_per_second", gemm.rate}};
  if (const auto kernel = parse_gemm_kernel(gemm.kernel)) {
    json["tile"] = {kernel->m, kernel->n, kernel->k};
    json["library"] = kernel->library;
  }
  if (gemm.efficiency) json["tile_efficiency"] = *gemm.efficiency;
  return json;
}

Json collective_json(const CollectiveGroup& group) {
  return {{"operation", group.shape.operation},
          {"group", group.shape.group},
          {"dtype", group.shape.type},
          {"bytes", group.shape.bytes > 0 ? Json(group.shape.bytes) : Json()},
          {"ranks", group.shape.ranks > 0 ? Json(group.shape.ranks) : Json()},
          {"count", group.count},
          {"median_ns", group.median},
          {"shortest_ns", group.shortest},
          {"total_ns", group.total},
          {"bus_bandwidth", group.bus_bandwidth ? Json(*group.bus_bandwidth) : Json()}};
}

template <typename Item, typename ToJson>
Json list_json(const std::vector<Item>& items, const ToJson& to_json) {
  Json list = Json::array();
  for (const Item& item : items) list.push_back(to_json(item));
  return list;
}

Json device_json(const DeviceReport& device) {
  Json json = times_json(device.times);
  json["device"] = device.device;
  json["product"] = device.product;
  json["steps"] = list_json(device.steps, [](const DeviceStep& step) {
    Json one = times_json(step.times);
    one["name"] = step.name;
    one["begin_ns"] = step.window.begin;
    return one;
  });
  json["categories"] = list_json(device.categories, &group_json);
  json["kernels_by_name"] = list_json(device.kernels, &group_json);
  json["products"] = list_json(device.gemms, &gemm_json);
  json["collectives"] = list_json(device.collectives, &collective_json);
  json["advice"] = advice_json(device.advice);
  return json;
}

}  // namespace

std::string advice_text(const std::vector<TraceAdvice>& advice, std::size_t width,
                        const Style& style) {
  std::string text;
  std::size_t number = 0;
  for (const TraceAdvice& one : advice) {
    text +=
        wrapped(fmt::format("  {}. {}: at most {} ({:.0f}%); {}\n", ++number, style.bold(one.what),
                            nanoseconds_text(one.most), 100 * one.share, one.why),
                5, width);
    if (!one.command.empty()) text += fmt::format("     {}\n", style.green(one.command));
  }
  return text;
}

std::string trace_text(const TraceReport& report, std::size_t top, std::size_t width,
                       const Style& style) {
  std::string text = style.bold(shown_line(report.file, 200)) + fmt::format(", {}", report.format);
  if (report.rank) {
    text += fmt::format(", rank {}", *report.rank);
    if (report.world_size) text += fmt::format(" of {}", *report.world_size);
  }
  text += "\n";
  for (const DeviceReport& device : report.devices) {
    const DeviceTimes& times = device.times;
    const std::string product = shown_line(device.product, longest_name);
    text += fmt::format(
        "\n{}{}: {}, {} on {}{}\n", style.bold("GPU " + shown_line(device.device, longest_name)),
        product.empty() ? "" : " " + product, report::counted(times.kernels, "kernel"),
        times.copies == 1 ? "1 copy or memset" : fmt::format("{} copies and memsets", times.copies),
        report::counted(times.streams, "stream"),
        is_launch_bound(times) ? style.yellow("; limited by launches of the host") : "");
    text += spans_text(device, width, style);
    for (const std::string& table :
         {steps_text(device, top, width, style),
          groups_text(device.categories, "kernels by category", times, top, width, style),
          groups_text(device.kernels, "kernels by name", times, top, width, style),
          gemms_text(device, top, width, style), collectives_text(device, top, width, style)}) {
      if (!table.empty()) text += "\n" + table;
    }
    if (!device.advice.empty()) {
      text += "\n" + style.bold("What to do") + ", and what it saves of " +
              nanoseconds_text(times.span) + "\n" + advice_text(device.advice, width, style);
    }
  }
  if (!report.notes.empty()) text += "\n" + style.bold("What this trace cannot tell") + "\n";
  for (const std::string& note : report.notes) {
    text += wrapped(fmt::format("  {}\n", shown_line(note, 500)), 4, width);
  }
  return text;
}

std::string ranks_text(const RankComparison& ranks, std::size_t width, const Style& style) {
  if (ranks.ranks.size() < 2) return {};
  std::string text = "\n" + style.bold("Ranks beside each other") + "\n";
  if (!ranks.problem.empty()) {
    return text + wrapped(fmt::format("  cannot be compared: {}\n", ranks.problem), 4, width);
  }
  Table table({{"rank", right_side},
               {"in collectives", right_side},
               {"waiting of it", right_side},
               {"came last", right_side},
               {"kept others waiting", right_side},
               {"file", Column::Align::left, 1}});
  for (const RankWait& rank : ranks.ranks) {
    const std::string gpu = rank.device.empty() ? "" : fmt::format(", GPU {}", rank.device);
    table.add({std::to_string(rank.rank), nanoseconds_text(rank.duration),
               nanoseconds_text(rank.waited), std::to_string(rank.came_last),
               nanoseconds_text(rank.caused), shown_line(rank.file + gpu, longest_name)});
  }
  text += table.render(width, style);
  text += wrapped(
      fmt::format(
          "  {} collectives were found on all ranks{}, their ends at most {} apart; without "
          "waits they take {}\n",
          ranks.matched, ranks.unmatched == 0 ? "" : fmt::format(", {} were not", ranks.unmatched),
          nanoseconds_text(ranks.end_spread.value_or(0)), nanoseconds_text(ranks.transfer)),
      4, width);
  return text;
}

Json advice_json(const std::vector<TraceAdvice>& advice) {
  return list_json(advice, [](const TraceAdvice& one) {
    return Json{{"what", one.what},
                {"why", one.why},
                {"saves_at_most_ns", one.most},
                {"share", one.share},
                {"command", one.command}};
  });
}

Json trace_json(const TraceReport& report) {
  return {{"file", report.file},
          {"format", report.format},
          {"rank", report.rank ? Json(*report.rank) : Json()},
          {"world_size", report.world_size ? Json(*report.world_size) : Json()},
          {"devices", list_json(report.devices, &device_json)},
          {"notes", report.notes}};
}

Json ranks_json(const RankComparison& ranks) {
  return {{"ranks", list_json(ranks.ranks,
                              [](const RankWait& rank) {
                                return Json{
                                    {"rank", rank.rank},        {"file", rank.file},
                                    {"device", rank.device},    {"collectives_ns", rank.duration},
                                    {"waited_ns", rank.waited}, {"came_last", rank.came_last},
                                    {"caused_ns", rank.caused}};
                              })},
          {"matched", ranks.matched},
          {"unmatched", ranks.unmatched},
          {"transfer_ns", ranks.transfer},
          {"end_spread_ns", ranks.end_spread ? Json(*ranks.end_spread) : Json()},
          {"problem", ranks.problem}};
}

}  // namespace assay::cli
