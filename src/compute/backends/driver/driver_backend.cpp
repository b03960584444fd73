#include "compute/backends/driver/driver_backend.h"

#include <fmt/format.h>

#include "compute/backends/driver/driver_device.h"
#include "compute/backends/driver/driver_facts.h"

namespace assay::driver {

void DriverBackend::start() {
  if (started_) return;
  started_ = true;
  Result<std::unique_ptr<Dialect>> loaded = load_();
  if (!loaded) {
    absence_ = loaded.error().message;
    return;
  }
  dialect_ = std::move(*loaded);
  const DriverApi& api = dialect_->api();
  Code result = api.init(0);
  if (result == code::success) result = api.device_count(&device_count_);
  if (result != code::success) device_count_ = 0;
  if (device_count_ > 0) return;
  const std::vector<LibraryFact> facts = dialect_->libraries();
  const std::string reason =
      result == code::success ? "it lists no devices" : dialect_->describe(result);
  const std::string hint = dialect_->no_device_hint();
  absence_ = fmt::format("{} loaded (version {}) but no device: {}{}{}", facts.front().path,
                         facts.front().version, reason, hint.empty() ? "" : "; ", hint);
}

int DriverBackend::score() {
  start();
  return device_count_ > 0 ? 100 : 0;
}

std::string DriverBackend::absence() {
  start();
  return absence_;
}

std::vector<LibraryFact> DriverBackend::libraries() {
  start();
  if (dialect_ == nullptr) return {{std::string(role_), "", "", absence_}};
  std::vector<LibraryFact> facts = dialect_->libraries();
  // Without a device the compiler is useless, and finding it costs start-up time.
  if (device_count_ > 0) {
    if (const Result<RtcTool> tool = dialect_->rtc()) {
      facts.push_back({"rtc", tool->path, tool->version, ""});
    } else {
      facts.push_back({"rtc", "", "", tool.error().message});
    }
  }
  return facts;
}

std::vector<DeviceFacts> DriverBackend::devices() {
  start();
  std::vector<DeviceFacts> facts;
  for (int i = 0; i < device_count_; ++i) facts.push_back(read_facts(*dialect_, i));
  return facts;
}

Result<std::unique_ptr<Device>> DriverBackend::open(int ordinal) {
  start();
  if (device_count_ == 0) {
    return Error{ErrorKind::unavailable, fmt::format("{} is absent: {}", name_, absence_)};
  }
  if (ordinal < 0 || ordinal >= device_count_) {
    return no_such_device(name_, device_count_, ordinal);
  }
  return DriverDevice::open(dialect_, ordinal);
}

}  // namespace assay::driver
