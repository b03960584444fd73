#include "judge/report/traces/trace_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compute/device/peaks.h"
#include "core/shown_text.h"
#include "judge/report/number_text.h"
#include "judge/trace/nanoseconds_text.h"

namespace assay::report {
namespace {

constexpr std::size_t longest_label = 160, longest_step = 60;

double whole_ns(std::int64_t ns) {
  return static_cast<double>(ns);
}

/// "step ProfilerStep#2"
std::string name_of_step(const ShownStep& step) {
  if (step.name.empty()) return "the whole trace";
  return fmt::format("step {}", shown_line(step.name, longest_step));
}

}  // namespace

std::string_view kind_of_work(std::string_view category) {
  struct Kind {
    std::string_view category, name;
  };
  constexpr Kind kinds[] = {{"gemm", "matrix products"}, {"conv", "convolutions"},
                            {"attention", "attention"},  {"collective", "collectives"},
                            {"copy", "copies"},          {"operation", "host: operations"},
                            {"call", "host: calls"},     {"range", "host: ranges"}};
  for (const Kind& kind : kinds) {
    if (kind.category == category) return kind.name;
  }
  return other_kernels;
}

Chart timeline_chart(const ShownStep& step, const StepTimeline& timeline) {
  Chart chart;
  chart.kind = ChartKind::lanes;
  chart.title = fmt::format("Timeline of {}", name_of_step(step));
  Table& table = chart.table;
  table.id = "timeline-chart";
  table.caption = chart.title;
  table.raw = true;
  table.columns = {{"group", "where"},
                   {"lane", "lane"},
                   {"row", "row", ColumnKind::count},
                   {"begin", "begin", ColumnKind::number, "ns"},
                   {"end", "end", ColumnKind::number, "ns"},
                   {"name", "operation"},
                   {"kind", "kind"},
                   {"count", "events", ColumnKind::count},
                   {"busy", "busy of it", ColumnKind::number, "ns"},
                   {"longest", "longest event", ColumnKind::number, "ns"}};
  std::size_t blocks = 0;
  for (const TimelineRow& row : timeline.rows) {
    blocks += row.blocks.size();
    for (const TimelineBlock& block : row.blocks) {
      table.rows.push_back(
          {row.group, row.lane, static_cast<double>(row.row), whole_ns(block.range.begin),
           whole_ns(block.range.end), shown_line(block.name, longest_label),
           std::string(kind_of_work(block.category)), static_cast<double>(block.count),
           whole_ns(block.busy), whole_ns(block.longest)});
    }
  }
  scale_columns(table);
  chart.settings = {{"length", whole_ns(timeline.length)}};
  chart.summary = fmt::format(
      "{} of {}: {} events. Zoom with the buttons, or with the wheel while Ctrl is held; drag to "
      "move.",
      nanoseconds_text(timeline.length), name_of_step(step), timeline.events);
  if (timeline.merged > 0) {
    chart.summary += fmt::format(
        " The shortest neighbours, within {} of each other, are drawn as one block: {} blocks in "
        "all, the paler the less of their time is busy.",
        nanoseconds_text(timeline.merged), blocks);
  }
  const bool has_gpus = !step.gpus.empty();
  const std::size_t all = has_gpus ? step.gpus.size() : step.hosts.size();
  if (timeline.drawn < all) {
    chart.summary += fmt::format(" The first {} of {} {} are drawn.", timeline.drawn, all,
                                 has_gpus ? "GPUs" : "hosts");
  }
  if (timeline.left_out > 0) {
    chart.summary +=
        fmt::format(" Not drawn: {}, nested deeper than six levels or in lanes beyond the busiest.",
                    counted(timeline.left_out, "event"));
  }
  if (!timeline.one_clock) {
    chart.summary += " The traces share no clock, so each begins with its own first work.";
  }
  return chart;
}

Chart breakdown_chart(const ShownStep& step) {
  constexpr std::size_t most_bars = 12;
  Chart chart;
  chart.kind = ChartKind::stack;
  chart.title = fmt::format("Where the time of {} goes", name_of_step(step));
  chart.settings = {{"work", true}};
  Table& table = chart.table;
  table.id = "picture";
  table.caption = chart.title;
  table.columns = {{"environment", "GPU"},
                   {"label", "label"},
                   {"part", "part"},
                   {"value", "time", ColumnKind::number, "ns"}};
  const std::size_t bars = std::min(most_bars, step.gpus.size());
  for (std::size_t i = 0; i < bars; ++i) {
    for (const TimePart& part : parts_of(step.gpus[i].times)) {
      if (part.time == 0) continue;
      const std::string label = shown_line(gpu_label(step, step.gpus[i]), longest_label);
      table.rows.push_back({label, "", std::string(part.name), whole_ns(part.time)});
    }
  }
  scale_columns(table);
  chart.summary =
      "Work on several streams at once counts once: computing first, then collectives, then "
      "copies.";
  if (bars < step.gpus.size()) {
    chart.summary +=
        fmt::format(" The first {} of {} GPUs; the table below has all.", bars, step.gpus.size());
  }
  return chart;
}

RooflineChart roofline_chart(const ShownStep& step) {
  constexpr std::size_t most_products = 30;
  const auto has_products = [](const StepOfGpu& gpu) { return !gpu.device->gemms.empty(); };
  const auto gpu = std::find_if(step.gpus.begin(), step.gpus.end(), has_products);
  if (gpu == step.gpus.end()) {
    return {std::nullopt,
            "There is no roofline chart, because the trace has no shapes of matrix products; "
            "PyTorch records them with record_shapes=True."};
  }
  const DeviceFacts facts = facts_of(*gpu->device);
  const auto bandwidth = peak_memory_bandwidth(facts);
  std::map<std::string, PeakRate> peaks;
  Chart chart;
  Table& table = chart.table;
  table.columns = {{"label", "product"},
                   {"type", "type"},
                   {"count", "count", ColumnKind::count},
                   {"total", "total", ColumnKind::number, "ns"},
                   {"x", "intensity", ColumnKind::number, "FLOP/byte"},
                   {"value", "rate of the median", ColumnKind::number, "FLOP/s"},
                   {"share", "of the roof", ColumnKind::share}};
  double closest = 0, farthest = 1;
  for (const GemmGroup& gemm : gpu->device->gemms) {
    if (table.rows.size() == most_products) break;
    const auto type = parse_data_type(gemm.math);
    const auto peak = type ? peak_compute_rate(facts, *type) : std::nullopt;
    if (!peak || !bandwidth || gemm.rate <= 0) continue;
    peaks[gemm.math] = *peak;
    const double intensity = gemm.problem.flops() / bytes_of(gemm.problem, *type);
    const double share = gemm.rate / std::min(peak->rate, intensity * bandwidth->rate);
    closest = std::max(closest, share);
    farthest = std::min(farthest, share);
    const GemmProblem2D& problem = gemm.problem;
    table.rows.push_back({fmt::format("{}x{}x{}{}", problem.m, problem.n, problem.k,
                                      problem.batch > 1 ? fmt::format(" x {}", problem.batch) : ""),
                          gemm.math, static_cast<double>(gemm.count), whole_ns(gemm.total),
                          intensity, gemm.rate, share});
  }
  if (table.rows.empty()) {
    const std::string product =
        gpu->device->product.empty()
            ? "the trace does not name the GPU"
            : fmt::format("no peak rates of {} are known", shown_line(gpu->device->product, 100));
    return {std::nullopt, fmt::format("There is no roofline chart, because {}.", product)};
  }
  chart.kind = ChartKind::roofline;
  chart.title = fmt::format("Matrix products of {} below its roofs",
                            shown_line(gpu_label(step, *gpu), longest_label));
  table.id = "roofline-chart";
  table.caption = chart.title;
  scale_columns(table);
  Json roofs = Json::array();
  std::string rates;
  for (const auto& [type, peak] : peaks) {
    roofs.push_back({{"type", type}, {"rate", peak.rate}, {"source", peak.source}});
    rates += fmt::format(", {} {}", type, quantity_text(peak.rate, "FLOP/s"));
  }
  chart.settings = {{"roofs", std::move(roofs)}, {"bandwidth", bandwidth->rate}};
  chart.summary = fmt::format(
      "{} of the whole trace by total time, {}% of the roof: memory {}{} "
      "({}). Each product reads A and B once and writes the result once.",
      counted(table.rows.size(), "product"),
      table.rows.size() > 1 ? fmt::format("{:.0f}% to {:.0f}", 100 * farthest, 100 * closest)
                            : fmt::format("{:.0f}", 100 * closest),
      quantity_text(bandwidth->rate, "bytes/s"), rates, bandwidth->source);
  return {std::move(chart), {}};
}

}  // namespace assay::report
