#include "ranks/collective/nccl_library.h"

#include <fmt/format.h>

#include "compute/device/matrix_unit_types.h"
#include "compute/device/vendor_libraries.h"
#include "core/library_search.h"
#include "ranks/collective/communicator_checks.h"

namespace assay::nccl {
namespace {

constexpr int first_with_avg_and_bf16 = 21000;

Result<SharedLibrary> open_nccl() {
  LibraryCandidates candidates;
  candidates.role = "NCCL";
  candidates.names = {"libnccl.so.2"};
  candidates.folders = {"",
                        "/usr/local/cuda/lib64",
                        "/usr/local/cuda*/lib64",
                        "/usr/local/cuda*/lib",
                        "/usr/lib/x86_64-linux-gnu",
                        "/usr/lib/aarch64-linux-gnu"};
  const auto python = python_library_folders({"nvidia/nccl/lib", "torch/lib"});
  candidates.folders.insert(candidates.folders.end(), python.begin(), python.end());
  candidates.advice =
      "install libnccl2 from NVIDIA's apt repository, or: pip install nvidia-nccl-cu13";
  apply_override(candidates, "ASSAY_NCCL_LIBRARY");
  return SharedLibrary::open(candidates);
}

Result<SharedLibrary> open_rccl() {
  return open_rocm_library("librccl", "ASSAY_RCCL_LIBRARY");
}

std::optional<std::string> nvidia_lacks_fp8(DataType type, const DeviceFacts& facts) {
  if (auto why = cuda_lacks_type(type, facts)) return why;
  if (compute_capability(facts) >= 90) return std::nullopt;
  return fmt::format("NCCL reduces fp8 on sm_90 and later; this is {}", facts.arch);
}

Status bind(const SharedLibrary& file, const Vendor& vendor, Functions& table) {
  const auto needs = [&](bool bound, const char* symbol) -> Status {
    if (bound) return {};
    return Error{ErrorKind::unavailable,
                 fmt::format("{} has no function {}: {} 2.7 or later is needed", file.path(),
                             symbol, vendor.name)};
  };
#define ASSAY_NCCL_BIND(member, symbol, parameters) \
  TRY(needs(file.bind(table.member, {#symbol}), #symbol));
  ASSAY_NCCL_FUNCTIONS(ASSAY_NCCL_BIND)
  ASSAY_NCCL_BIND(init_rank, ncclCommInitRank, )
  ASSAY_NCCL_BIND(error_string, ncclGetErrorString, )
#undef ASSAY_NCCL_BIND
#define ASSAY_NCCL_BIND(member, symbol, parameters) file.bind(table.member, {#symbol});
  ASSAY_NCCL_OPTIONAL_FUNCTIONS(ASSAY_NCCL_BIND)
#undef ASSAY_NCCL_BIND
  // RCCL had this before NCCL, under its own name. Since 2.28 it has both names and its own is
  // deprecated: each call writes a warning to stderr (src/misc/api_trace.cc of RCCL).
  file.bind(table.all_to_all, {"ncclAlltoAll", "ncclAllToAll"});
  file.bind(table.init_rank_config, {"ncclCommInitRankConfig"});
  file.bind(table.last_error, {"ncclGetLastError"});
  return {};
}

}  // namespace

const Vendor nvidia = {"NCCL", "cuda", &open_nccl, 22400, &nvidia_lacks_fp8};
const Vendor amd = {"RCCL", "hip", &open_rccl, 22005, &rocm_lacks_type};

std::string version_text(int version) {
  const int unit = version < 10000 ? 1000 : 10000;
  return fmt::format("{}.{}.{}", version / unit, version % unit / 100, version % 100);
}

std::string Library::name() const {
  return fmt::format("{} {}", vendor->name, version_text(version));
}

Status Library::check(int status, std::string_view call, Comm comm) const {
  if (status == success) return {};
  const char* text = functions.error_string(status);
  const char* detail = functions.last_error != nullptr ? functions.last_error(comm) : nullptr;
  const bool more = detail != nullptr && *detail != '\0';
  return Error{ErrorKind::failed,
               fmt::format("{}: {}: {} ({}){}{}; set NCCL_DEBUG=INFO for details", name(), call,
                           text != nullptr ? text : "unknown", status, more ? ": " : "",
                           more ? std::string_view(detail).substr(0, 300) : "")};
}

Result<Library> load(const Vendor& vendor) {
  const SharedLibrary file = TRY(vendor.open());
  Library library;
  library.vendor = &vendor;
  library.path = file.path();
  TRY(bind(file, vendor, library.functions));
  TRY(library.check(library.functions.get_version(&library.version), "ncclGetVersion", nullptr));
  return library;
}

Result<std::optional<Config>> config_for(const Library& library, const CommunicatorConfig& config) {
  TRY(check_config(config));
  if (config.min_ctas == 0 && config.max_ctas == 0) return std::optional<Config>();
  if (library.version < Config::since || library.functions.init_rank_config == nullptr) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{} has no bounds on CTAs; they were added in {}", library.name(),
                             version_text(Config::since))};
  }
  // Without an explicit maximum, the library would compare the minimum with its own undefined one.
  constexpr int more_than_any = 1024;  // libraries clamp it to their largest number of channels
  Config native;
  if (config.min_ctas > 0) native.min_ctas = config.min_ctas;
  native.max_ctas = config.max_ctas > 0 ? config.max_ctas : more_than_any;
  return std::optional<Config>(native);
}

std::optional<std::string> lacks(const Vendor& vendor, int version, const DeviceFacts& facts,
                                 CollectiveOperation operation, DataType type,
                                 Reduction reduction) {
  if (auto why = no_type_of_memory(type)) return why;
  const auto too_old = [&](std::string_view what, int since) -> std::optional<std::string> {
    if (version >= since) return std::nullopt;
    return fmt::format("{} {} has no {}; it was added in {}", vendor.name, version_text(version),
                       what, version_text(since));
  };
  if (type == DataType::bf16) {
    if (auto why = too_old("bf16", first_with_avg_and_bf16)) return why;
  }
  if (!reduces(operation)) return std::nullopt;
  if (reduction == Reduction::avg) {
    if (auto why = too_old("avg", first_with_avg_and_bf16)) return why;
  }
  if (!is_fp8(type)) return std::nullopt;
  if (auto why = vendor.lacks_fp8(type, facts)) return why;
  return too_old("reductions of fp8", vendor.fp8_since);
}

}  // namespace assay::nccl
