// Run-time compilation with NVRTC or hipRTC, which have the same interface.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "compute/device/rtc_worker.h"
#include "core/registry.h"
#include "core/result.h"
#include "core/shared_library.h"

namespace assay {

struct RtcProgram;  // opaque, used only through pointers

/// The functions of an RTC library. All but error_text return 0 for success.
struct RtcApi {
  int (*version)(int* major, int* minor);
  int (*create)(RtcProgram** program, const char* source, const char* name, int header_count,
                const char* const* headers, const char* const* header_names);
  int (*compile)(RtcProgram* program, int option_count, const char* const* options);
  int (*log_size)(RtcProgram* program, std::size_t* bytes);
  int (*log)(RtcProgram* program, char* text);
  int (*code_size)(RtcProgram* program, std::size_t* bytes);
  int (*code)(RtcProgram* program, char* code);
  int (*destroy)(RtcProgram** program);
  const char* (*error_text)(int status);
};

/// A vendor's RTC: its name in requests and messages, and how to fill the table.
struct RtcVendor {
  const char* name;     ///< "cuda", "hip": CompileRequest::vendor
  const char* display;  ///< "NVRTC", "hipRTC"
  /// Error: unavailable, naming the missing function.
  Status (*bind)(const SharedLibrary& library, RtcApi& api);
};
using RtcVendorRegistry = Registry<RtcVendor>;

/// Returns null if no vendor of that name is registered.
const RtcVendor* find_rtc_vendor(std::string_view name);

/// Compiles in this process, without a timeout, and returns the device's code. On success the
/// compiler's log is stored in `log`, unless that is null. Error: unavailable if the library does
/// not load or lacks a function; failed for an unknown vendor, or with the compiler's log.
Result<std::string> rtc_compile(const CompileRequest& request, std::string* log = nullptr);

}  // namespace assay
