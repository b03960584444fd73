#include "cli/results_store.h"

#include <fmt/format.h>

#include <charconv>

#include "core/json.h"

namespace assay::cli {

Result<std::string> keep_fingerprint(const std::string& folder, const Json& fingerprint,
                                     std::optional<Store>& store, Terminal& terminal) {
  if (folder != pipe) {
    store.emplace(TRY(Store::open(folder)));
    return store->append_fingerprint(fingerprint);
  }
  const std::string id = fingerprint_id(fingerprint);
  const Json line = {{"id", id}, {"fingerprint", fingerprint}};
  terminal.print(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  terminal.flush();
  return id;
}

Result<double> parse_telemetry(const std::string& text) {
  constexpr double most = 1000;  // a tick takes about a millisecond on a GPU
  if (text == "off") return 0.0;
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (error != std::errc() || end != text.data() + text.size() || !(rate > 0) || rate > most) {
    return Error{ErrorKind::usage,
                 fmt::format("--telemetry \"{}\" is not allowed; allowed: off, or ticks per second "
                             "above 0 and up to {}",
                             text, most)};
  }
  return 1 / rate;
}

}  // namespace assay::cli
