#include "advise/occupancy/guide.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace assay::occupancy {
namespace {

constexpr std::uint64_t guide_lds = 65536;

/// Waves per SIMD according to the guide's table "Occupancy related to VGPR usage".
unsigned table_waves(unsigned vgprs) {
  constexpr std::array<std::pair<unsigned, unsigned>, 8> table = {
      {{64, 8}, {72, 7}, {80, 6}, {96, 5}, {128, 4}, {168, 3}, {256, 2}, {512, 1}}};
  for (const auto& [most, waves] : table) {
    if (vgprs <= most) return waves;
  }
  return 0;
}

/// Waves per SIMD according to the guide's text, which allocates "in blocks of 16".
unsigned text_waves(unsigned vgprs) {
  const unsigned allocated = (std::max(vgprs, 1u) + 15) / 16 * 16;
  return std::min(amd_waves_per_simd, amd_vgprs / allocated);
}

unsigned groups_of(const Occupancy& exact, std::string_view resource) {
  for (const WorkgroupLimit& limit : exact.limits) {
    if (limit.resource == resource) return limit.groups;
  }
  return unlimited;
}

}  // namespace

GuideFigure guide_figure(const AmdLimits& limits, const KernelUse& use, const Geometry& geometry,
                         const Occupancy& exact) {
  GuideFigure figure;
  const std::uint64_t bytes = use.shared_bytes + geometry.dynamic_shared;
  const unsigned waves = exact.waves_per_group;
  const unsigned by_vgprs = table_waves(use.vgprs) * simds / waves;
  const auto by_lds = static_cast<unsigned>(bytes == 0 ? unlimited : guide_lds / bytes);
  figure.waves_per_simd = exact.waves_per_simd(std::min(by_vgprs, by_lds));

  const auto differ = [&](std::string text) { figure.differences.push_back(std::move(text)); };
  if (bytes == 0) differ(divides_by_no_lds);
  if (by_lds != groups_of(exact, "LDS")) {
    if (limits.lds_bytes != guide_lds) {
      differ(
          fmt::format("it assumes 65536 bytes of LDS; {} has {}", limits.arch, limits.lds_bytes));
    }
    if (bytes % limits.lds_granule != 0) {
      const std::uint64_t allocated = (bytes / limits.lds_granule + 1) * limits.lds_granule;
      differ(fmt::format("{} bytes of LDS are allocated as {}, in units of {}", bytes, allocated,
                         limits.lds_granule));
    }
  }
  if (groups_of(exact, "SGPRs") == exact.groups && exact.waves_per_simd() < figure.waves_per_simd) {
    differ(fmt::format("it ignores the {} SGPRs", use.sgprs));
  }
  if (text_waves(use.vgprs) != table_waves(use.vgprs)) {
    differ(
        fmt::format("its text allocates VGPRs in blocks of 16, which gives {} waves for {}; its "
                    "table gives {}, as blocks of 8 do",
                    text_waves(use.vgprs), use.vgprs, table_waves(use.vgprs)));
  }
  return figure;
}

}  // namespace assay::occupancy
