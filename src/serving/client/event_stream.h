// Parses server-sent events that arrive in pieces of any size. Source: the HTML standard, section
// 9.2.6, "Interpreting an event stream".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace assay {

class EventStream {
 public:
  /// The most bytes kept of an unfinished line.
  static constexpr std::size_t longest_line = 64 << 20;

  /// Calls `event` with the data of each "data:" line that ends within `bytes`; other fields and
  /// comments are ignored. Servers send one line per event, and some omit the blank line between
  /// events, so each line counts as an event when it ends. False: a line is too long.
  template <typename Event>
  bool feed(std::string_view bytes, const Event& event) {
    for (;;) {
      const std::size_t end = bytes.find('\n');
      if (end == bytes.npos) break;
      if (begun_.empty()) {
        take_line(bytes.substr(0, end), event);
      } else {
        begun_.append(bytes.substr(0, end));
        take_line(begun_, event);
        begun_.clear();
      }
      bytes.remove_prefix(end + 1);
    }
    begun_.append(bytes);
    return begun_.size() <= longest_line;
  }

  /// At the end of the stream: handles a last line without a line end.
  template <typename Event>
  void finish(const Event& event) {
    take_line(begun_, event);
    begun_.clear();
  }

 private:
  template <typename Event>
  void take_line(std::string_view line, const Event& event) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (!std::exchange(begun_a_line_, true) && line.starts_with(byte_order_mark)) {
      line.remove_prefix(byte_order_mark.size());
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.starts_with("data:")) return;
    line.remove_prefix(5);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (!line.empty()) event(line);
  }

  std::string begun_;
  bool begun_a_line_ = false;  // the stream's first
};

}  // namespace assay
