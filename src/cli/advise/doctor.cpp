// assay doctor: judges how a machine is set up; changes nothing.
#include "advise/doctor/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "advise/doctor/gpu_log/gpu_log.h"
#include "advise/doctor/intent.h"
#include "cli/advise/doctor_view.h"
#include "cli/advise/gpu_log_view.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "core/input_file.h"
#include "core/json.h"
#include "core/units.h"
#include "machine/system/capture.h"
#include "machine/system/fingerprint.h"

namespace assay::cli::doctor_command {
namespace {

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

Result<Intent> parse_intent(const Arguments& arguments) {
  Intent intent;
  intent.partition = arguments.get("--partition");
  std::transform(intent.partition.begin(), intent.partition.end(), intent.partition.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  TRY(check_partition(intent.partition));
  intent.multi_node = arguments.has("--multi-node");
  if (arguments.has("--gpus")) {
    constexpr std::uint64_t most = 1024;
    const std::uint64_t gpus = TRY(parse_integer(arguments.get("--gpus")));
    if (gpus < 1 || gpus > most) {
      return Error{ErrorKind::usage, fmt::format("--gpus {}: 1 to {} are allowed", gpus, most)};
    }
    intent.gpus = static_cast<int>(gpus);
  }
  if (arguments.has("--with-serials") && !arguments.has("--capture")) {
    return Error{ErrorKind::usage, "--with-serials needs --capture FILE"};
  }
  return intent;
}

int show(const Diagnosis& diagnosis, const Arguments& arguments, Terminal& terminal) {
  if (arguments.has("--json")) {
    terminal.print(to_json(diagnosis).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    terminal.print(diagnosis_text(diagnosis, arguments.has("--all"),
                                  static_cast<std::size_t>(terminal.width()),
                                  terminal.out_style()));
  }
  return count(fold(diagnosis), Judgement::fail) > 0 ? exit_cell_error : exit_ok;
}

Result<int> doctor(const Arguments& arguments, Terminal& terminal) {
  const Intent intent = TRY(parse_intent(arguments));
  const auto checks = TRY(find_checks(split_at_commas(arguments.get("--only"))));
  std::unique_ptr<Machine> other;
  if (arguments.has("--from")) other = TRY(open_machine(arguments.get("--from")));
  if (!other) complain_without_proc(terminal);
  const RecordingMachine machine(other ? *other : this_machine());
  const Diagnosis diagnosis = diagnose(machine, intent, checks, !other);
  TRY(check_intent(intent, diagnosis.gpus));
  if (arguments.has("--capture")) {
    const std::string path = arguments.get("--capture");
    static_cast<void>(take_fingerprint({}, machine));  // so that `assay diff` can use it, too
    TRY(write_capture(machine.capture(arguments.has("--with-serials")), path));
    terminal.note(fmt::format("wrote what the checks read to {}\n", path));
  }
  return show(diagnosis, arguments, terminal);
}

Result<int> explain(const Arguments& arguments, Terminal& terminal) {
  constexpr std::size_t longest_line = std::size_t{64} << 20;
  const std::string path = arguments.get("--explain");
  InputLines lines = TRY(InputLines::open(path == "-" ? "/dev/stdin" : path, longest_line));
  GpuLog log;
  while (const auto line = TRY(lines.next())) log.add(line->text);
  const std::vector<GpuLogEvent> events = log.finish();
  if (arguments.has("--json")) {
    terminal.print(
        gpu_log_json(events, log.lines()).dump(2, ' ', false, Json::error_handler_t::replace) +
        "\n");
  } else {
    terminal.print(gpu_log_text(events, log.lines(), static_cast<std::size_t>(terminal.width()),
                                terminal.out_style()));
  }
  if (log.is_full()) terminal.note("only the first 1000 kinds of errors are shown\n");
  return exit_ok;
}

std::string check_ids() {
  std::string ids;
  const auto checks = find_checks({});
  if (!checks.ok()) return ids;
  for (const Check* check : *checks) ids += std::string(check->id) + ' ';
  return ids;
}

int run(const Arguments& arguments, Terminal& terminal) {
  const auto status =
      arguments.has("--explain") ? explain(arguments, terminal) : doctor(arguments, terminal);
  return status.ok() ? *status : report(terminal, status.error());
}

const Command command = {
    .name = "doctor",
    .summary = "Check how a machine is set up, and name the commands that fix it",
    .group = CommandGroup::diagnose,
    .positionals = "",
    .details =
        R"(Every check that applies ends in PASS, WARN (may cost performance), FAIL (costs performance
or correctness) or UNKNOWN with the reason, e.g. needs root. The doctor never changes anything.
docs/doctor.md says what each check reads and how it judges. Exit status: 1 if a check failed.

--explain reads a log instead: dmesg, a program's output, or ROCm's debug agent. It says what the
errors of GPUs in it mean, in which device, process and kernel, and what to do next.
`assay help memory-faults` has the procedure.

  assay doctor
  assay doctor --multi-node --only acs,gpudirect-rdma
  assay doctor --partition CPX/NPS4 --gpus 8
  assay doctor --capture node7.json      elsewhere: assay doctor --from node7.json
  dmesg | assay doctor --explain -

)",
    .options =
        {
            {"--all", "", "also name the checks that do not apply", ""},
            {"--only", "ID[,ID...]", "only these checks", &check_ids, false, "--check"},
            {"--partition", "MODE", "expected partition mode of the GPUs, e.g. SPX/NPS1", ""},
            {"--gpus", "N", "number of GPUs a job uses; default: all", ""},
            {"--multi-node", "", "jobs span nodes: judge NICs and GPUDirect strictly", ""},
            {"--capture", "FILE",
             "write what the checks read to FILE, without serial numbers and secrets", ""},
            {"--with-serials", "", "with --capture: include serial numbers and addresses", ""},
            {"--from", "FILE",
             "diagnose a captured machine, or one whose files were copied to a folder", "folder"},
            {"--explain", "FILE", "say what the errors of GPUs in a log mean; - is standard input",
             ""},
        },
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::doctor_command
