#include "serving/simulator/fixed_timing.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace assay::simulator {

Result<Spread> Spread::parse(std::string_view text) {
  if (text == "none") return Spread{};
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  Spread spread;
  if (kind == "uniform") spread.kind = Kind::uniform;
  if (kind == "lognormal") spread.kind = Kind::lognormal;
  if (colon != std::string_view::npos && spread.kind != Kind::none) {
    const std::string_view width = text.substr(colon + 1);
    const char* const end = width.data() + width.size();
    const auto read = std::from_chars(width.data(), end, spread.width, std::chars_format::fixed);
    if (read.ec == std::errc{} && read.ptr == end && spread.width > 0 && spread.width < 1) {
      return spread;
    }
  }
  return Error{ErrorKind::usage,
               fmt::format("bad spread \"{}\": give none, uniform:W or lognormal:SIGMA with a "
                           "number between 0 and 1, e.g. lognormal:0.3",
                           text)};
}

double Spread::factor(Random& random) const {
  switch (kind) {
    case Kind::none:
      return 1;
    case Kind::uniform:
      return 1 + width * (2 * random.uniform() - 1);
    case Kind::lognormal:
      return std::exp(width * random.normal() - width * width / 2);
  }
  return 1;
}

}  // namespace assay::simulator
