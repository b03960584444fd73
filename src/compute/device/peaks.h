// Peak rates of known accelerators: dense, at the vendor's boost clock.
#pragma once

#include <optional>
#include <string>

#include "core/data_type.h"
#include "results/record/device_facts.h"

namespace assay {

struct PeakRate {
  double rate = 0;     ///< bytes/s or operations/s
  std::string source;  ///< "datasheet H200 SXM", "3201 MHz x 6144 bit"
};

/// Device memory bandwidth: from the data sheet for a known device, otherwise 2 x clock x bus
/// width.
std::optional<PeakRate> peak_memory_bandwidth(const DeviceFacts& facts);

/// Matrix rate for `math` if the device has matrix units for it, otherwise the vector rate. A
/// partition gets the share of its multiprocessors.
std::optional<PeakRate> peak_compute_rate(const DeviceFacts& facts, DataType math);

/// One direction of the link to the host.
std::optional<PeakRate> peak_host_link_bandwidth(const DeviceFacts& facts);

/// One direction of the links from a GPU to its peers (Limit::peer_link): of a single link in a
/// mesh; of all links together if they lead to a switch or can be divided among peers. Does not
/// check whether two devices are linked; see links_at_once(). Empty if unknown.
std::optional<PeakRate> peak_peer_link_bandwidth(const DeviceFacts& facts);

}  // namespace assay
