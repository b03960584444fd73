// A program that runs concurrently with this process, in a thread that waits for it.
#pragma once

#include <atomic>
#include <optional>
#include <thread>

#include "core/program.h"

namespace assay {

class BackgroundProgram {
 public:
  /// Starts the program. This class replaces `stop_requested`; the other callbacks of `program` are
  /// called from the waiting thread.
  explicit BackgroundProgram(ProgramStart program);
  BackgroundProgram(const BackgroundProgram&) = delete;
  BackgroundProgram& operator=(const BackgroundProgram&) = delete;
  /// Stops it and waits until it has ended.
  ~BackgroundProgram();

  /// Asks the program to end, as run_program() ends one; returns at once.
  void stop() { stop_ = true; }
  bool ended() const { return ended_; }  ///< true also if it could not be started
  /// Returns the result of run_program(); null while the program runs.
  const Result<ProgramEnd>* end() const { return ended_ ? &*end_ : nullptr; }

 private:
  std::atomic<bool> stop_ = false, ended_ = false;
  std::optional<Result<ProgramEnd>> end_;  // written before `ended_` is set, never afterwards
  std::thread thread_;
};

}  // namespace assay
