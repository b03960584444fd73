// assay health accept: is this machine what it should be?
#include <fmt/format.h>

#include "cli/advise/health_run.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/results_store.h"
#include "core/json.h"
#include "core/units.h"
#include "core/write_file.h"

namespace assay::cli::health_accept_command {
namespace {

int status_of(const health::Acceptance& acceptance) {
  switch (acceptance.verdict()) {
    case health::LineVerdict::pass:
      return exit_ok;
    case health::LineVerdict::fail:
      return exit_differs;
    case health::LineVerdict::unknown:
      break;
  }
  return acceptance.interrupted ? exit_interrupted : exit_inconclusive;
}

Result<AcceptanceRequest> read_request(const Arguments& arguments) {
  AcceptanceRequest request;
  const bool full = arguments.has("--full");
  constexpr double usual = 15 * 60.0, hour = 60 * 60.0;
  request.thoroughness = full ? health::Thoroughness::full : health::Thoroughness::normal;
  request.seconds = full ? hour : usual;
  request.corruption_seconds = full ? hour / 6 : usual / 6;
  request.folder = default_folder;
  if (arguments.has("--budget")) {
    const auto seconds = parse_duration(arguments.get("--budget"));
    if (!seconds.ok()) return about("--budget", seconds.error());
    request.seconds = *seconds;
    request.corruption_seconds = *seconds / 6;
  }
  TRY(read_acceptance(arguments, request));
  if (request.corruption_seconds >= request.seconds) {
    return Error{
        ErrorKind::usage,
        fmt::format("--sdc {} leaves nothing of the {} for the lines; give a longer "
                    "--budget",
                    format_seconds(request.corruption_seconds), format_seconds(request.seconds))};
  }
  if (arguments.has("--certificate")) {
    const Status writable =
        check_writable(arguments.get("--certificate"), {arguments.get("--limits")});
    if (!writable.ok()) return about("--certificate", writable.error());
  }
  return request;
}

Result<int> accept(const Arguments& arguments, Terminal& terminal) {
  const AcceptanceRequest request = TRY(read_request(arguments));
  catch_interrupts();
  complain_without_proc(terminal);
  const Diagnosis diagnosis = diagnose(this_machine(), {}, TRY(find_checks({})), true);
  const health::Acceptance acceptance =
      TRY(accept_machine(request, arguments, diagnosis, terminal));
  if (arguments.has("--certificate")) {
    TRY(write_file(arguments.get("--certificate"), health::certificate(acceptance)));
  }
  if (arguments.has("--json")) {
    terminal.print(to_json(acceptance).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    terminal.print(acceptance_text(acceptance, static_cast<std::size_t>(terminal.width()),
                                   terminal.out_style()));
  }
  return status_of(acceptance);
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto status = accept(arguments, terminal);
  return status.ok() ? *status : report(terminal, status.error());
}

std::vector<Option> options() {
  std::vector<Option> all = {
      {"--full", "", "every line, and an hour instead of 15 minutes", ""},
      {"--budget", "TIME", "time for everything; default 15min, with --full 1h", ""},
      {"--certificate", "FILE", "write the result as one page of HTML, for printing", "file"},
  };
  const std::vector<Option> shared = acceptance_options();
  all.insert(all.end(), shared.begin(), shared.end());
  return all;
}

const Command command = {
    .name = "health accept",
    .summary = "Say whether this machine is what it should be, by published or derived limits",
    .group = CommandGroup::diagnose,
    .positionals = "",
    .least_positionals = 1,
    .most_positionals = 1,
    .details =
        R"(Runs the checks of `assay doctor`, measures every line of the limits on every GPU, and tests
shortly for silent data corruption. A line is PASS if its 95% interval keeps the limit, FAIL if all
of the interval is beyond it, and UNKNOWN if the interval contains the limit or nothing could be
measured, as on an emulated device. There are limits for MI300X, MI325X, MI350X, MI355X (AMD's
acceptance criteria), H100 and H200 (data sheets and assay's own records); `assay health limits` makes
others. Exit status: 0 if every line passed, 1 if one failed, 6 if none failed but some are unknown.

  assay health accept
  assay health accept --full --certificate node7.html --with-serials
  assay health accept --limits ours.yaml --device hip:3

)",
    .options = options(),
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::health_accept_command
