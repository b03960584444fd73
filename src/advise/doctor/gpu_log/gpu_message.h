// Says what the messages of GPU drivers and runtimes mean, and what to do after each.
// docs/memory-faults.md has the procedures that the steps are from.
#pragma once

#include <span>
#include <string_view>

namespace assay {

/// A kind of message.
struct GpuMessage {
  std::string_view id;  ///< "amdgpu-page-fault", "xid-79"
  /// Text that only lines of this kind contain; empty for those found by a number.
  std::string_view mark;
  std::string_view title;  ///< what happened, in a few words
  std::string_view means;  ///< where it comes from: the program, the driver or the hardware
  std::string_view next;   ///< what to do; steps are separated by line ends
};

/// Returns the messages that are recognised by their text; the first one whose mark a line contains
/// applies.
std::span<const GpuMessage> marked_gpu_messages();

/// Returns the meaning of a number that NVIDIA's driver reports as "Xid". All numbers that are not
/// in the table share one, with the id "xid".
const GpuMessage& xid_message(int xid);

}  // namespace assay
