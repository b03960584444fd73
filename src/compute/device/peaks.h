// Peak rates of known accelerators: dense, at the vendor's boost clock.
#pragma once

#include <optional>
#include <string>

#include "core/data_type.h"
#include "machine/system/device_facts.h"

namespace assay {

struct PeakRate {
  double rate = 0;     ///< bytes/s or operations/s
  std::string source;  ///< "datasheet H200 SXM", "3201 MHz x 6144 bit"
};

/// Device memory bandwidth: the data sheet's for a known device, else 2 x clock x bus width.
std::optional<PeakRate> peak_memory_bandwidth(const DeviceFacts& facts);

/// Matrix rate for `math` if the device has matrix units for it, else the vector rate. A partition
/// gets its share by multiprocessors.
std::optional<PeakRate> peak_compute_rate(const DeviceFacts& facts, DataType math);

/// One direction of the link to the host.
std::optional<PeakRate> peak_host_link_bandwidth(const DeviceFacts& facts);

/// One direction of what links a GPU to its peers (Limit::peer_link): of each link of a mesh, of
/// all links together where they lead to a switch or can be shared out among peers. Whether two
/// devices are linked is not its business (links_at_once). Empty where it is not known.
std::optional<PeakRate> peak_peer_link_bandwidth(const DeviceFacts& facts);

}  // namespace assay
