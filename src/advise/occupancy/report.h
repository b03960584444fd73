// Reports of all that is known about kernels from a file, from a device, or from numbers that the
// user gives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/occupancy/guide.h"
#include "advise/occupancy/image.h"
#include "advise/occupancy/occupancy.h"
#include "advise/occupancy/scan.h"

namespace assay::occupancy {

/// What is known of one kernel.
struct KernelReport {
  KernelUse use;
  Geometry geometry;
  std::optional<Occupancy> occupancy;  ///< empty if registers or architecture are unknown
  std::optional<GuideFigure> guide;    ///< AMD; empty as `occupancy`
  std::optional<Scan> scan;            ///< AMD; empty if it was not asked for or not possible
  std::optional<int> driver_groups;    ///< answer of the driver's own query; empty: not asked
};

/// What is known of the kernels of an image or a device.
struct Report {
  std::string source;  ///< "AMD code object hipv4-amdgcn-amd-amdhsa--gfx942", "hip:0 ..."
  std::string arch;    ///< "gfx942", "sm_90"
  std::vector<KernelReport> kernels;
  std::vector<std::string> remarks;  ///< sentences about what is unknown or was left out
};

struct ReportOptions {
  std::string kernel;  ///< only the kernel of this name; empty: all
  /// Threads of a work-group; empty: the most that the kernel allows, or 256 if it does not say.
  std::optional<unsigned> threads;
  std::uint64_t dynamic_shared = 0;  ///< as Geometry::dynamic_shared
  bool scan = true;                  ///< whether to disassemble and scan AMD kernels
  std::string arch;  ///< target architecture for compiling PTX; empty: that of the PTX
};

/// Returns whether an architecture is AMD's: "gfx942".
bool is_amd(std::string_view arch);

/// Fills in occupancy and guide, if the architecture and the registers are known.
void compute(KernelReport& kernel, std::string_view arch);

/// Returns the report of an image, running ptxas on PTX and a disassembler on AMD code. It never
/// fails: unknown facts become remarks.
Report report_of(CodeImage image, const ReportOptions& options);

}  // namespace assay::occupancy
