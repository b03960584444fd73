// The counters of a server, and its /metrics page.
#pragma once

#include <string>

#include "serving/server/histogram.h"
#include "serving/server/scheduler.h"

namespace assay::server {

/// Seconds by the server's own clock, tokens as they were written.
struct ServerMetrics {
  ServerMetrics();

  std::size_t running = 0, waiting = 0;
  std::size_t blocks = 0, free_blocks = 0;  ///< blocks of the cache; 0: there is none
  SchedulerCounters scheduler;
  std::uint64_t finished_length = 0,
                finished_stop = 0;  ///< replies, by how their first choice ended
  Histogram ttft, itl, e2e, queue, prefill;
  /// How late each token was handed to the system. Any delay a client sees beyond this is the
  /// client's own.
  LagRecord write_lag;
};

/// A page in Prometheus' text format, of one server.
class MetricsPage {
 public:
  /// `model`: ServedModelFacts::name.
  explicit MetricsPage(std::string_view model);

  void gauge(std::string_view name, std::string_view help, double value) {
    sample("gauge", name, help, value);
  }
  void counter(std::string_view name, std::string_view help, double value) {
    sample("counter", name, help, value);
  }
  void histogram(std::string_view name, std::string_view help, const Histogram& histogram) {
    histogram.append(name, help, labels_, text_);
  }
  /// The head of a metric, whose samples follow with labelled().
  void head(std::string_view type, std::string_view name, std::string_view help);
  /// Appends a sample with the label LABEL="OF".
  void labelled(std::string_view name, std::string_view label, std::string_view of, double value);
  /// The metrics under vLLM's names, and `lag`, the name of the lag of writing.
  void add(const ServerMetrics& metrics, std::string_view lag);

  std::string text() && { return std::move(text_); }

 private:
  void sample(std::string_view type, std::string_view name, std::string_view help, double value);

  std::string labels_, text_;
};

}  // namespace assay::server
