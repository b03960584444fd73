// Peak rates of known accelerators: dense, at the vendor's boost clock.
#pragma once

#include <optional>
#include <string>

#include "core/data_type.h"
#include "results/record/device_facts.h"

namespace assay {

/// A partition of a known GPU gets the share of its multiprocessors in memory and compute rates.
/// Every rate is empty if it is unknown.
struct PeakRate {
  double rate = 0;     ///< bytes/s or operations/s
  std::string source;  ///< "datasheet H200 SXM", "2 x memory clock x bus width"
};

/// Returns the device memory's bandwidth: from the data sheet of a known device, otherwise 2 x
/// clock x bus width, if the memory transfers twice in the clock that the driver reports.
std::optional<PeakRate> peak_memory_bandwidth(const DeviceFacts& facts);

/// Returns the matrix rate for `math` if the device has matrix units for it, otherwise the vector
/// rate. A multiply-add counts as two operations.
std::optional<PeakRate> peak_compute_rate(const DeviceFacts& facts, DataType math);

/// Returns the bandwidth of the link to the host, in one direction.
std::optional<PeakRate> peak_host_link_bandwidth(const DeviceFacts& facts);

/// Returns the bandwidth in one direction of the links from a GPU to its peers (Limit::peer_link
/// (results/record/work.h)). In a mesh this is a single link. Where all links lead to a switch or
/// can be divided among peers, it is their sum. It does not check whether two devices are linked;
/// see links_at_once().
std::optional<PeakRate> peak_peer_link_bandwidth(const DeviceFacts& facts);

}  // namespace assay
