// Reads logs (dmesg, a program's output, ROCm's debug agent) for errors of GPUs, and collects what
// they say about each: which device, process, address and kernel.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "advise/doctor/gpu_log/gpu_message.h"

namespace assay {

/// An error in a log. What the log does not say is empty. All text is from the log, cut after 300
/// bytes, and must be made safe before it is shown (core/shown_text.h).
struct GpuLogEvent {
  const GpuMessage* message = nullptr;  ///< what kind of message it is; never null
  std::size_t line = 0;                 ///< of its first message, from 1
  std::size_t count = 1;  ///< of messages of this kind about the same device, process and kernel
  std::string text;       ///< the first message
  std::string device;     ///< "0000:c6:00.0", "GPU node 2"
  std::string process;    ///< "pt_main_thread (pid 12924)"
  std::string address;    ///< "0xae8570611000"
  std::string unit;       ///< of the GPU that used the address: "TCP", "SDMA0"
  std::string access;     ///< "load", "store"
  std::string reason;     ///< as the log says: "Page not present or supervisor privilege"
  std::string kernel;     ///< "vector_add(int*, int*, int*)"
  std::string code;       ///< the code object: "file:///app#offset=14309&size=31336"
  std::string source;     ///< "vector_add.cpp", "vector_add.cpp:53"
};

/// Reads one line after the other. Memory grows with the kinds of errors, not with the lines.
class GpuLog {
 public:
  /// Reads one line, given without its line end; only its first 16 KiB count.
  void add(std::string_view line);
  /// Must be called after the last line. Returns the events in order of their first lines.
  std::vector<GpuLogEvent> finish();
  std::size_t lines() const { return lines_; }
  /// Returns whether `most_events` are held. Errors of further kinds, devices, processes or kernels
  /// are left out then.
  bool is_full() const { return events_.size() >= most_events; }

  static constexpr std::size_t most_events = 1000;

 private:
  /// An event that further lines may say more about.
  struct Open {
    GpuLogEvent event;
    bool has_status = true;         ///< of a page fault; a repeated one has none
    std::string file, source_line;  ///< that the debug agent showed last
  };

  void begin(const std::string& device, GpuLogEvent event);
  void close(GpuLogEvent event);
  static void add_driver_detail(Open& open, std::string_view line);
  static void add_agent_detail(Open& open, std::string_view line);

  std::map<std::string, Open, std::less<>> open_;  ///< by PCI address; "" for programs' output
  std::vector<GpuLogEvent> events_;
  std::size_t lines_ = 0;
};

/// Returns what a unit that the driver names in a page fault is: "TCP" is the vector cache of a
/// compute unit. Empty if it is not known.
std::string_view unit_meaning(std::string_view unit);

}  // namespace assay
