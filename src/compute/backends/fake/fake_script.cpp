#include "compute/backends/fake/fake_script.h"

#include <algorithm>
#include <charconv>

namespace assay::fake {
namespace {

Error bad(std::string_view field) {
  return {
      ErrorKind::usage,
      "ASSAY_FAKE: '" + std::string(field) +
          "' is not one of launch, rate, noise, rho, drift, throttle, corrupt, fail_at, memory, "
          "seed, sleep, devices, slow, serial, late, emulated, rank followed by '=' and a number"};
}

}  // namespace

Result<FakeScript> parse_fake_script(std::string_view text) {
  FakeScript script;
  while (!text.empty()) {
    const std::string_view field = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), field.size() + 1));
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) return bad(field);
    const std::string_view name = field.substr(0, equals);
    double value = 0;
    const char* end = field.data() + field.size();
    const auto parsed = std::from_chars(field.data() + equals + 1, end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || !(value >= 0) || value > 1e18) {
      return bad(field);
    }
    if (name == "rho" && value > 1) return bad(field);
    const auto whole = static_cast<std::uint64_t>(value);
    if (name == "launch")
      script.launch_seconds = value;
    else if (name == "rate")
      script.bytes_per_second = value;
    else if (name == "noise")
      script.noise = value;
    else if (name == "rho")
      script.autocorrelation = value;
    else if (name == "drift")
      script.drift = value;
    else if (name == "throttle")
      script.throttled_share = value;
    else if (name == "corrupt")
      script.corrupt = value != 0;
    else if (name == "fail_at")
      script.fail_at = whole;
    else if (name == "memory")
      script.memory_bytes = whole;
    else if (name == "seed")
      script.seed = whole;
    else if (name == "sleep")
      script.real_seconds = value;
    else if (name == "devices")
      script.devices = static_cast<int>(std::clamp(value, 1.0, 64.0));
    else if (name == "slow")
      script.slow_device = static_cast<int>(std::min(value, 64.0));
    else if (name == "emulated")
      script.emulated = value != 0;
    else if (name == "serial")
      script.serial_copies = value != 0;
    else if (name == "late")
      script.late_seconds = value;
    else if (name == "rank")
      script.rank = static_cast<int>(std::min(value, 65536.0));
    else
      return bad(field);
  }
  return script;
}

}  // namespace assay::fake
