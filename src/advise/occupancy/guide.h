// The occupancy formula of AMD's workload optimization guide, and where it differs from the exact
// one.
#pragma once

#include <string>
#include <vector>

#include "advise/occupancy/occupancy.h"

namespace assay::occupancy {

/// This difference applies to every kernel without LDS.
constexpr const char* divides_by_no_lds = "it divides by L, which is 0 here: taken as no limit";

struct GuideFigure {
  double waves_per_simd = 0;  ///< as the guide computes it
  /// Why the figure, or a step of its computation, differs from the exact one; empty if none does.
  std::vector<std::string> differences;
};

/// Computes the guide's formula: occ = min(floor(occ_vgpr * 4 / nW), floor(65536 / L)) * nW / 4.
/// occ_vgpr is the waves per SIMD in the guide's table of VGPRs, nW the waves of a work-group, and
/// L its bytes of LDS. `exact` is the result of occupancy_of() for the same arguments.
GuideFigure guide_figure(const AmdLimits& limits, const KernelUse& use, const Geometry& geometry,
                         const Occupancy& exact);

}  // namespace assay::occupancy
