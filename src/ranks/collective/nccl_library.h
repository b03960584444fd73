// Finds this machine's NCCL or RCCL, and tells what its version supports.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/shared_library.h"
#include "ranks/collective/nccl_api.h"
#include "results/record/device_facts.h"

namespace assay::nccl {

/// The differences between NCCL and RCCL.
struct Vendor {
  std::string_view name;     ///< "NCCL"
  std::string_view backend;  ///< the backend it works with: "cuda"
  /// Finds and opens the file. Error: unavailable, naming what was looked for.
  Result<SharedLibrary> (*open)();
  int fp8_since;  ///< the first version that reduces fp8
  /// Returns why this device does not support this fp8 encoding; empty if it does.
  std::optional<std::string> (*lacks_fp8)(DataType type, const DeviceFacts& facts);
};
extern const Vendor nvidia, amd;

struct Library {
  const Vendor* vendor = nullptr;
  Functions functions;
  int version = 0;  ///< as ncclGetVersion reports it: 22809
  std::string path;

  std::string name() const;  ///< "NCCL 2.28.9"
  /// Returns ok if `status` is success. Error: failed, naming `call`. `comm` may be null.
  Status check(int status, std::string_view call, Comm comm) const;
};

/// Opens the vendor's library. Error: unavailable, naming what was looked for or which function is
/// missing.
Result<Library> load(const Vendor& vendor);

/// Returns "2.28.9" for 22809; versions before 2.9 were numbered like 2804.
std::string version_text(int version);

/// Converts `config` to the library's structure; nullopt if everything is left to the library.
/// Error: usage; unsupported, if the library is too old for bounds on CTAs.
Result<std::optional<Config>> config_for(const Library& library, const CommunicatorConfig& config);

/// Returns why this version does not support the operation on this device; empty if it does.
/// Operations that only move elements treat fp8 as bytes.
std::optional<std::string> lacks(const Vendor& vendor, int version, const DeviceFacts& facts,
                                 CollectiveOperation operation, DataType type, Reduction reduction);

}  // namespace assay::nccl
