#include "cli/advise/tune_progress.h"

#include <fmt/format.h>

#include "core/units.h"

namespace assay::cli {

void TuneProgress::doing(const std::string& name, std::string_view what) {
  if (!terminal_.interactive()) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  Progress progress = progress_;
  progress.label = what.empty() ? name : fmt::format("{}: {}", name, what);
  terminal_.rewrite_line(progress_line(
      progress, static_cast<std::size_t>(terminal_.error_width()) - 1, terminal_.error_style()));
}

void TuneProgress::done(const std::string& name, double seconds, std::string_view result) {
  ++progress_.done;
  progress_.elapsed_seconds += seconds;
  if (terminal_.interactive()) return terminal_.rewrite_line("");
  terminal_.note(fmt::format("[{}/{}]  {} left  {}: {}\n", progress_.done, progress_.total,
                             format_clock(seconds_left(progress_)), name, result));
}

}  // namespace assay::cli
