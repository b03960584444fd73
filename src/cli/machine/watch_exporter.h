// Serves the page of metrics to scrapers, such as Prometheus.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/result.h"

namespace assay::cli {

/// Makes the page of metrics; called when a scraper asks for it.
using MakePage = std::function<std::string()>;

/// Serves `page` at http://ADDRESS/metrics until `stop` returns true, which is asked ten times a
/// second. `listening` gets the address with the port that was chosen. `address` is a numeric
/// address and a port: "127.0.0.1:9400", "[::1]:0"; port 0: the system chooses a port. Error: usage
/// if `address` has another form; unavailable if nobody can listen there.
Status serve_metrics(const std::string& address, const MakePage& page,
                     const std::function<void(const std::string& url)>& listening,
                     const std::function<bool()>& stop);

}  // namespace assay::cli
