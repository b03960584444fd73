// The behaviour of the fake device, from the environment variable ASSAY_FAKE.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::fake {

/// Parses into the fields below, e.g. ASSAY_FAKE="noise=0.01,corrupt=1"; missing fields keep their
/// defaults. Each comment begins with the field's name in the variable.
struct FakeScript {
  double launch_seconds = 1e-4;    ///< launch: time of every kernel
  double bytes_per_second = 1e11;  ///< rate: of copies and fills
  double noise = 0.001;            ///< noise: standard deviation of log(time)
  double autocorrelation = 0;      ///< rho: lag-1 correlation of the noise
  double drift = 0;                ///< drift: relative slowdown per second of device time
  double throttled_share = 0;      ///< throttle: share of launches at 60% of the clock
  bool corrupt = false;            ///< corrupt: every kernel leaves one wrong byte
  std::uint64_t fail_at = 0;       ///< fail_at: the launch that fails; 0: none
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  ///< memory: of the device
  std::uint64_t seed = 1;                               ///< seed: of the noise
  double real_seconds = 0;  ///< sleep: wall time every kernel really takes
  int devices = 1;          ///< devices: number of devices
  int slow_device = -1;     ///< slow: the device whose copies to and from others take twice as long
  bool serial_copies = false;  ///< serial: one copy engine for all devices
  double late_seconds = 0;     ///< late: extra wall time of every wait for a stream
  bool emulated = false;       ///< the device reports that it is emulated
  int rank = -1;               ///< rank: the only rank to which this applies; -1: all
};

/// Error: usage, naming the field and what is allowed.
Result<FakeScript> parse_fake_script(std::string_view text);

}  // namespace assay::fake
