#include "cli/margin.h"

#include <fmt/format.h>

#include <charconv>

namespace assay::cli {

Result<double> parse_margin(const std::string& text) {
  double value = 0;
  const bool percent = !text.empty() && text.back() == '%';
  const char* end = text.data() + text.size() - (percent ? 1 : 0);
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (percent) value /= 100;
  if (error != std::errc() || stop != end || !(value >= 0.001) || value > 0.5) {
    return Error{ErrorKind::usage,
                 fmt::format("--margin \"{}\" is not allowed; allowed: 0.1% to 50%", text)};
  }
  return value;
}

}  // namespace assay::cli
