// The behaviour of the fake device, from the environment variable ASSAY_FAKE.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::fake {

/// The variable's fields, e.g. ASSAY_FAKE="noise=0.01,corrupt=1"; missing ones keep the defaults
/// below. Each comment begins with the field's name in the variable. Kernels that only wait or read
/// a clock take no time and do not count as launches.
struct FakeScript {
  double launch_seconds = 1e-4;    ///< launch: time of every kernel
  double bytes_per_second = 1e11;  ///< rate: of copies and fills
  double noise = 0.001;            ///< noise: standard deviation of log(time)
  double autocorrelation = 0;      ///< rho: lag-1 correlation of the noise, at most 1
  double drift = 0;                ///< drift: relative slowdown per second of device time
  double throttled_share = 0;      ///< throttle: share of the work at 60% of the clock
  bool corrupt = false;       ///< corrupt: every kernel but those that prepare or check data leaves
                              ///< a wrong byte at its first argument's address. In an f32 this is
                              ///< the lowest byte, which no tolerance notices; in a bf16 it is half
                              ///< of the number
  std::uint64_t fail_at = 0;  ///< fail_at: the launch that fails, from 1; 0: none
  std::uint64_t memory_bytes = std::uint64_t{4} << 30;  ///< memory: of the device
  std::uint64_t seed = 1;                               ///< seed: of the noise
  double real_seconds = 0;  ///< sleep: wall time that every kernel takes in addition to its work
  int devices = 1;          ///< devices: number of devices, 1 to 64
  int slow_device = -1;     ///< slow: the device whose copies to and from others take twice as long
  bool serial_copies = false;  ///< serial: copies between devices wait for each other
  double late_seconds = 0;     ///< late: extra wall time of every Stream::synchronize()
  bool emulated = false;       ///< emulated: the device reports that it is emulated
  int rank = -1;               ///< rank: the only rank to which this applies, others use defaults
                               ///< for all but `devices`; -1: all ranks
};

/// Parses the variable's text. Error: usage, naming the field and what is allowed.
Result<FakeScript> parse_fake_script(std::string_view text);

}  // namespace assay::fake
