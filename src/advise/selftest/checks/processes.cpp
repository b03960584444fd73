// Ranks that are processes share memory of two devices.
#include <fmt/format.h>

#include "advise/selftest/check.h"
#include "advise/selftest/expect.h"
#include "advise/selftest/temporary_folder.h"
#include "core/program.h"

namespace assay::selftest::processes {
namespace {

/// Adds up over two processes through each other's memory, which `assay run` verifies.
Answer sum_over_processes(Stage& stage,
                          std::vector<std::pair<std::string, std::string>> variables) {
  if (stage.program.empty()) {
    return Error{ErrorKind::unavailable, "the check starts assay, which is not this program"};
  }
  const TemporaryFolder folder = TRY(TemporaryFolder::create());
  ProgramStart start;
  start.words = {stage.program,
                 "run",
                 "collective",
                 "op=all_reduce",
                 "size=64KiB",
                 "dtype=f32",
                 "library=peer",
                 "--ranks",
                 "2",
                 "--device",
                 stage.device.facts().backend,
                 "--json"};
  start.variables = std::move(variables);
  start.words.insert(start.words.end(), {"--out", (folder.path() / "store").string()});
  const ProgramEnd end = TRY(run_program(start));
  if (end.status == 0) return passed();
  const std::string said = last_line(end.errors_tail);
  const Error failure = wrong(fmt::format("two ranks ended with status {}{}{}", end.status,
                                          said.empty() ? "" : ": ", said));
  constexpr int nothing_ran = 4;
  if (end.status == nothing_ran) return Error{ErrorKind::unsupported, failure.message};
  return failure;
}

Answer as_usual(Stage& stage) {
  return sum_over_processes(stage, {});
}

/// vLLM's ROCm images set this variable.
Answer legacy(Stage& stage) {
  if (!stage.device.facts().is_amd()) {
    return Error{ErrorKind::unsupported, "the check is about AMD GPUs"};
  }
  return sum_over_processes(stage, {{"HSA_ENABLE_IPC_MODE_LEGACY", "1"}});
}

const AddChecks registered{
    {.name = "peer-processes",
     .topic = Topic::communication,
     .about = "processes add up through each other's device memory",
     .devices = 2,
     .limit_seconds = 120,
     .run = &as_usual},
    {.name = "peer-processes-legacy-ipc",
     .topic = Topic::communication,
     .about = "so they do with HSA_ENABLE_IPC_MODE_LEGACY=1",
     .devices = 2,
     .limit_seconds = 120,
     .run = &legacy},
};

}  // namespace
}  // namespace assay::selftest::processes
