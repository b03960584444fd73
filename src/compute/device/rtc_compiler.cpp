#include "compute/device/rtc_compiler.h"

#include <fmt/format.h>

#include <memory>

namespace assay {
namespace {

/// Returns the compiler's log without trailing NULs and line ends.
std::string log_of(const RtcApi& api, RtcProgram* program) {
  std::size_t bytes = 0;
  if (api.log_size(program, &bytes) != 0 || bytes == 0) return {};
  std::string log(bytes, '\0');
  if (api.log(program, log.data()) != 0) return {};
  log.erase(log.find_last_not_of(std::string_view("\0 \n", 3)) + 1);
  return log;
}

}  // namespace

const RtcVendor* find_rtc_vendor(std::string_view name) {
  for (const RtcVendor& vendor : RtcVendorRegistry::entries()) {
    if (vendor.name == name) return &vendor;
  }
  return nullptr;
}

Result<std::string> rtc_compile(const CompileRequest& request, std::string* log) {
  const RtcVendor* vendor = find_rtc_vendor(request.vendor);
  if (vendor == nullptr) {
    return Error{ErrorKind::failed, fmt::format("no run-time compiler \"{}\"", request.vendor)};
  }
  const SharedLibrary library =
      TRY(SharedLibrary::open({vendor->display, {request.library}, {""}, ""}));
  RtcApi api{};
  TRY(vendor->bind(library, api));
  const auto failed = [&](const char* step, int status, const std::string& why) {
    return Error{ErrorKind::failed,
                 fmt::format("{} could not {} {} ({}): {}{}{}", vendor->display, step, request.name,
                             fmt::join(request.options, " "), api.error_text(status),
                             why.empty() ? "" : "\n", why)};
  };

  RtcProgram* program = nullptr;
  if (const int status =
          api.create(&program, request.source.c_str(), request.name.c_str(), 0, nullptr, nullptr)) {
    return failed("read", status, {});
  }
  const auto destroy = [&](RtcProgram* made) { api.destroy(&made); };
  const std::unique_ptr<RtcProgram, decltype(destroy)> owner(program, destroy);
  std::vector<const char*> options;
  for (const std::string& option : request.options) options.push_back(option.c_str());
  if (const int status = api.compile(program, static_cast<int>(options.size()), options.data())) {
    return failed("compile", status, log_of(api, program));
  }
  std::size_t bytes = 0;
  if (const int status = api.code_size(program, &bytes)) return failed("finish", status, {});
  std::string code(bytes, '\0');
  if (const int status = api.code(program, code.data())) return failed("finish", status, {});
  if (code.empty()) return failed("produce code for", 0, log_of(api, program));
  if (log != nullptr) *log = log_of(api, program);
  return code;
}

}  // namespace assay
