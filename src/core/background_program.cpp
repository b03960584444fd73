#include "core/background_program.h"

#include <utility>

namespace assay {

BackgroundProgram::BackgroundProgram(ProgramStart program) {
  program.stop_requested = [this] { return stop_.load(); };
  // The thread must outlive the program, which dies with the thread that started it.
  thread_ = std::thread([this, start = std::move(program)] {
    end_ = run_program(start);
    ended_ = true;
  });
}

BackgroundProgram::~BackgroundProgram() {
  stop();
  thread_.join();
}

}  // namespace assay
