#include "cli/results_store.h"

#include <fmt/format.h>

#include "cli/cli.h"
#include "core/json.h"
#include "machine/telemetry/recorder.h"

namespace assay::cli {

Result<std::string> keep_fingerprint(const std::string& folder, const Json& fingerprint,
                                     std::optional<Store>& store, Terminal& terminal) {
  if (folder != pipe) {
    store.emplace(TRY(Store::open(folder)));
    return store->append_fingerprint(fingerprint);
  }
  const std::string id = fingerprint_id(fingerprint);
  const Json line = {{"id", id}, {"fingerprint", fingerprint}};
  terminal.print(json_line(line) + "\n");
  terminal.flush();
  return id;
}

Result<double> telemetry_interval(const Arguments& arguments, std::string_view otherwise) {
  auto interval = parse_tick_rate(arguments.get("--telemetry", otherwise));
  if (!interval.ok()) return about("--telemetry", interval.error());
  return interval;
}

}  // namespace assay::cli
