#include "cli/advise/occupancy_view.h"

#include <fmt/format.h>

#include "advise/occupancy/guide.h"
#include "advise/occupancy/own_kernels.h"
#include "cli/table.h"
#include "core/json.h"
#include "core/units.h"

namespace assay::cli {
namespace {

using namespace occupancy;

/// The vendor's terms for waves, work-groups and so on.
struct Words {
  const char *registers, *shared, *scratch, *group, *waves, *groups;
};
constexpr Words amd_words = {"VGPRs", "LDS", "scratch", "group", "waves/SIMD", "groups/CU"};
constexpr Words nvidia_words = {"registers", "shared", "local", "block", "warps/SM", "blocks/SM"};

const Words& words_of(const Report& report) {
  return is_amd(report.arch) ? amd_words : nvidia_words;
}

/// "4", "2.25"
std::string figure(double value) {
  return fmt::format("{:.4g}", value);
}

std::string unless_zero(std::uint64_t value) {
  return value == 0 ? "" : std::to_string(value);
}

/// Names come from files, so nothing in them may move the cursor.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

std::string spills_text(const KernelUse& use) {
  if (use.spill_bytes) return *use.spill_bytes == 0 ? "" : fmt::format("{} B", *use.spill_bytes);
  const unsigned vgprs = use.vgpr_spills.value_or(0), sgprs = use.sgpr_spills.value_or(0);
  if (vgprs + sgprs == 0) return "";
  return fmt::format("{} VGPRs, {} SGPRs", vgprs, sgprs);
}

/// Occupancy in the unit that the vendor's documents use: waves per SIMD, or warps per SM.
std::string waves_text(const Report& report, const Occupancy& occupancy, unsigned groups) {
  return is_amd(report.arch) ? figure(occupancy.waves_per_simd(groups))
                             : std::to_string(groups * occupancy.waves_per_group);
}

std::string driver_text(const KernelReport& kernel, const Report& report, const Style& style) {
  if (!kernel.driver_groups) return "";
  const std::string text = std::to_string(*kernel.driver_groups);
  return driver_agrees(kernel, report.arch) ? style.green(text + " agrees")
                                            : style.red(text + " differs");
}

std::vector<Column> columns_of(const Words& words, bool amd) {
  const auto right = Column::Align::right;
  std::vector<Column> columns = {{"kernel"}, {words.registers, right}};
  if (amd) columns.push_back({"of them acc", right, 2});
  if (amd) columns.push_back({"SGPRs", right, 3});
  columns.insert(columns.end(), {{words.shared, right, 6},
                                 {words.scratch, right, 5},
                                 {"spills", right, 5},
                                 {words.group, right, 4},
                                 {words.waves, right},
                                 {words.groups, right},
                                 {"limited by", Column::Align::left, 7}});
  if (amd) columns.push_back({"guide", right, 1});
  if (amd) columns.push_back({"LLVM", right, 1});
  columns.push_back({"driver", right, 8});
  return columns;
}

std::vector<std::string> row_of(const KernelReport& kernel, const Report& report,
                                const Style& style) {
  const KernelUse& use = kernel.use;
  const bool amd = is_amd(report.arch);
  std::vector<std::string> row = {printable(use.name),
                                  use.registers_known ? std::to_string(use.vgprs) : "?"};
  if (amd) row.push_back(unless_zero(use.agprs));
  if (amd) row.push_back(unless_zero(use.sgprs));
  row.push_back(unless_zero(use.shared_bytes + kernel.geometry.dynamic_shared));
  row.push_back(unless_zero(use.scratch_bytes) + (use.dynamic_stack ? "+" : ""));
  row.push_back(spills_text(use));
  row.push_back(std::to_string(kernel.geometry.threads));
  const Occupancy* occupancy = kernel.occupancy ? &*kernel.occupancy : nullptr;
  row.push_back(occupancy != nullptr ? waves_text(report, *occupancy, occupancy->groups) : "?");
  row.push_back(occupancy != nullptr ? std::to_string(occupancy->groups) : "?");
  row.push_back(occupancy != nullptr ? occupancy->limiter : "");
  if (amd) row.push_back(kernel.guide ? figure(kernel.guide->waves_per_simd) : "");
  if (amd) row.push_back(use.compiler_waves ? std::to_string(*use.compiler_waves) : "");
  row.push_back(driver_text(kernel, report, style));
  return row;
}

std::string savings_text(const KernelReport& kernel, const Report& report) {
  const Occupancy& occupancy = *kernel.occupancy;
  std::string text;
  for (const Saving& saving : occupancy.savings) {
    const bool bytes = saving.resource == "LDS" || saving.resource == "shared memory";
    text += fmt::format("{}{} {}{}", text.empty() ? "save " : " and ", saving.amount,
                        !bytes               ? ""
                        : saving.amount == 1 ? "byte of "
                                             : "bytes of ",
                        saving.resource);
  }
  const unsigned next = occupancy.next_groups;
  return text + fmt::format(" for {} {} ({} {})", waves_text(report, occupancy, next),
                            words_of(report).waves, next, words_of(report).groups);
}

std::string scan_text(const Scan& scan, const Style& style) {
  std::string text = fmt::format("    {} instructions, {} loop{}{}\n", scan.instructions,
                                 scan.loops, scan.loops == 1 ? "" : "s",
                                 scan.calls ? "; calls functions that are not counted" : "");
  for (const occupancy::Finding& finding : scan.findings) {
    text += fmt::format("    {:<12} {:<24} {} times, {} in loops{}\n", finding.topic,
                        printable(finding.what), finding.count, finding.in_loops,
                        finding.bytes > 0 ? fmt::format(", {} bytes per lane", finding.bytes) : "");
    if (finding.advice.empty()) continue;
    text += fmt::format("      {} {}\n", style.yellow(finding.advice),
                        style.dim(fmt::format("[{}]", finding.source)));
  }
  return text;
}

Json scan_json(const Scan& scan) {
  Json findings = Json::array();
  for (const occupancy::Finding& finding : scan.findings) {
    Json json = {{"topic", finding.topic},
                 {"what", finding.what},
                 {"count", finding.count},
                 {"in_loops", finding.in_loops}};
    if (finding.bytes > 0) json["bytes_per_lane"] = finding.bytes;
    if (!finding.advice.empty()) {
      json["advice"] = finding.advice;
      json["source"] = finding.source;
    }
    findings.push_back(std::move(json));
  }
  return {{"instructions", scan.instructions},
          {"loops", scan.loops},
          {"calls_functions", scan.calls},
          {"findings", std::move(findings)}};
}

Json numbers_json(const Occupancy& occupancy) {
  Json limits = Json::object();
  for (const WorkgroupLimit& limit : occupancy.limits) {
    limits[limit.resource] = limit.groups == unlimited ? Json(nullptr) : Json(limit.groups);
  }
  Json savings = Json::object();
  for (const Saving& saving : occupancy.savings) savings[saving.resource] = saving.amount;
  Json json = {{"waves_per_group", occupancy.waves_per_group},
               {"groups", occupancy.groups},
               {"waves", occupancy.waves()},
               {"wave_slots", occupancy.wave_slots},
               {"waves_per_simd", occupancy.waves_per_simd()},
               {"limited_by", occupancy.limiter},
               {"groups_by_resource", std::move(limits)}};
  if (!occupancy.savings.empty()) {
    json["next"] = {{"groups", occupancy.next_groups},
                    {"waves_per_simd", occupancy.waves_per_simd(occupancy.next_groups)},
                    {"save", std::move(savings)}};
  }
  return json;
}

Json use_json(const KernelUse& use, bool amd) {
  Json json = {{"name", use.name}};
  json[amd ? "vgprs" : "registers"] = use.registers_known ? Json(use.vgprs) : Json(nullptr);
  if (amd) json["agprs"] = use.agprs;
  if (amd) json["sgprs"] = use.sgprs;
  json["shared_bytes"] = use.shared_bytes;
  json["scratch_bytes"] = use.scratch_bytes;
  if (use.dynamic_stack) json["dynamic_stack"] = true;
  if (use.vgpr_spills) json["vgpr_spills"] = *use.vgpr_spills;
  if (use.sgpr_spills) json["sgpr_spills"] = *use.sgpr_spills;
  if (use.spill_bytes) json["spill_bytes"] = *use.spill_bytes;
  if (use.max_threads > 0) json["max_threads"] = use.max_threads;
  if (use.min_blocks > 0) json["min_blocks"] = use.min_blocks;
  if (use.barriers > 0) json["barriers"] = use.barriers;
  if (use.compiler_waves) json["compiler_waves_per_simd"] = *use.compiler_waves;
  return json;
}

}  // namespace

std::string occupancy_text(const Report& report, std::size_t width, const Style& style) {
  Table table(columns_of(words_of(report), is_amd(report.arch)));
  for (const KernelReport& kernel : report.kernels) table.add(row_of(kernel, report, style));
  std::string text = style.bold(printable(report.source)) + "\n";
  if (!table.empty()) text += table.render(width, style);
  bool general_shown = false;  // remarks about all kernels are shown once
  for (const KernelReport& kernel : report.kernels) {
    std::string about;
    if (kernel.occupancy && !kernel.occupancy->savings.empty()) {
      about += fmt::format("    {}\n", savings_text(kernel, report));
    }
    if (kernel.guide) {
      for (const std::string& difference : kernel.guide->differences) {
        if (difference == divides_by_no_lds) {
          if (general_shown) continue;
          general_shown = true;
        }
        about += fmt::format("    guide's formula: {}\n", difference);
      }
    }
    if (kernel.scan) about += scan_text(*kernel.scan, style);
    if (!about.empty()) text += fmt::format("  {}\n{}", printable(kernel.use.name), about);
  }
  for (const std::string& remark : report.remarks) text += fmt::format("  {}\n", printable(remark));
  return text;
}

Json occupancy_json(const Report& report) {
  const bool amd = is_amd(report.arch);
  Json kernels = Json::array();
  for (const KernelReport& kernel : report.kernels) {
    Json json = use_json(kernel.use, amd);
    json["group_threads"] = kernel.geometry.threads;
    json["dynamic_shared_bytes"] = kernel.geometry.dynamic_shared;
    if (kernel.occupancy) json["occupancy"] = numbers_json(*kernel.occupancy);
    if (kernel.guide) {
      json["guide"] = {{"waves_per_simd", kernel.guide->waves_per_simd},
                       {"differences", kernel.guide->differences}};
    }
    if (kernel.driver_groups) {
      json["driver"] = {{"groups", *kernel.driver_groups},
                        {"agrees", driver_agrees(kernel, report.arch)}};
    }
    if (kernel.scan) json["scan"] = scan_json(*kernel.scan);
    kernels.push_back(std::move(json));
  }
  return {{"source", report.source},
          {"arch", report.arch},
          {"kernels", std::move(kernels)},
          {"remarks", report.remarks}};
}

}  // namespace assay::cli
