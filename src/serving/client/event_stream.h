// Server-sent events, as they come in pieces of any size.
// Source: the HTML standard, section 9.2.6, "Interpreting an event stream".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

class EventStream {
 public:
  /// The most that is kept of a line whose end has not come.
  static constexpr std::size_t longest_line = 64 << 20;

  /// Calls `event` with the data of each "data:" line that ends within `bytes`; other fields and
  /// comments say nothing to us. Servers send one line an event, and some leave out the blank line
  /// between events, so a line counts when it ends. False: a line is longer than allowed.
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

  /// What stands after the last line end, with nothing to follow.
  template <typename Event>
  void finish(const Event& event) {
    take_line(begun_, event);
    begun_.clear();
  }

 private:
  template <typename Event>
  static void take_line(std::string_view line, const Event& event) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.starts_with("data:")) return;
    line.remove_prefix(5);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (!line.empty()) event(line);
  }

  std::string begun_;
};

}  // namespace assay
