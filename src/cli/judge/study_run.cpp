#include "cli/judge/study_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.h"
#include "cli/judge/campaign.h"
#include "cli/judge/report.h"
#include "cli/judge/study.h"
#include "cli/option_values.h"
#include "core/read_file.h"
#include "core/units.h"
#include "core/write_file.h"
#include "judge/report/report.h"
#include "results/store/campaign_reader.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

/// Splits the operands of a study: environments, AXIS=VALUE, and a load.
Result<StudyRequest> study_request(const Arguments& arguments) {
  StudyRequest request;
  const std::vector<std::string> words = words_before_load(arguments.positionals);
  if (words.size() < arguments.positionals.size()) {
    request.load = TRY(planned_load(
        {arguments.positionals.begin() + std::ssize(words), arguments.positionals.end()}));
  }
  request.name = words.front();
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const bool is_axis = equals != std::string::npos && words[i].find(':') > equals;
    (is_axis ? request.axes : request.operands).push_back(words[i]);
  }
  if (arguments.has("--ranks")) {
    constexpr std::uint64_t most = 4096;
    request.ranks =
        static_cast<std::uint64_t>(TRY(whole_number("--ranks", arguments.get("--ranks"), 2, most)));
  }
  request.budget = arguments.get("--budget");
  request.device = arguments.get("--device");
  if (!request.budget.empty()) {
    if (const auto seconds = parse_duration(request.budget); !seconds.ok()) {
      return about("--budget", seconds.error());
    }
  }
  return request;
}

/// The plan with which the folder was begun, if nothing is asked for that could change it: what is
/// found on the machine may have changed since. The name of a folder that was not `chosen` by the
/// user has the operands.
std::optional<std::string> begun_plan(const StudyRequest& request, const std::string& folder,
                                      bool chosen) {
  const fs::path plan = fs::path(folder) / campaign_plan_name;
  std::error_code none;
  const bool named = request.operands.empty() && request.axes.empty() && request.ranks == 0;
  const bool same = request.budget.empty() && request.device.empty() && request.load.load.empty() &&
                    (named || !chosen);
  const bool begun = fs::file_size(fs::path(folder) / campaign_units_name, none) > 0 && !none;
  if (!same || !begun) return std::nullopt;
  constexpr std::size_t most_bytes = std::size_t{16} << 20;
  auto text = read_operand(plan, most_bytes);
  const bool is_its = text.ok() && text->starts_with(study_mark(request.name));
  return is_its ? std::optional(std::move(text).value()) : std::nullopt;
}

/// Writes the study's page into its folder, and shows the answer that it begins with.
Status draw_study(const std::string& folder, Terminal& terminal, bool json) {
  const report::Document document = TRY(document_of_campaign(folder));
  const fs::path page = fs::path(folder) / "report.html";
  TRY(write_file(page, report::to_html(document)));
  std::string text = fmt::format("\n{}\n", terminal.out_style().bold(document.question));
  for (const report::Answer& answer : document.answers) {
    text += fmt::format("{}{}\n", answer.lead, answer.sentence);
  }
  text += fmt::format("the page with all of it: {}\n", page.string());
  json ? terminal.note(text) : terminal.print(text);
  return {};
}

}  // namespace

int run_study(const Arguments& arguments, Terminal& terminal) {
  const auto request = study_request(arguments);
  if (!request.ok()) return report(terminal, request.error());
  const auto study = make_study(*request, study_machine());
  if (!study.ok()) return report(terminal, study.error());
  if (std::error_code none; fs::exists(request->name, none)) {
    terminal.note(
        fmt::format("{0} is taken as the study, not as the file of that name here, which "
                    "is ./{0}\n",
                    request->name));
  }
  const std::string folder = arguments.get("--out", study->folder);
  const auto begun = begun_plan(*request, folder, arguments.has("--out"));
  if (!begun) {
    for (const std::string& note : study->notes) terminal.note(note + "\n");
  }
  auto plan = begun ? parse_campaign_plan(*begun, (fs::path(folder) / campaign_plan_name).string())
                    : parse_campaign_plan(study->plan, "assay campaign " + request->name);
  if (!plan.ok()) return report(terminal, plan.error());
  const int status = run_campaign_plan(*std::move(plan), folder, arguments, terminal);
  const bool measured = status == exit_ok || status == exit_cell_error;
  if (!measured || arguments.has("--dry-run")) return status;
  const Status drawn = draw_study(folder, terminal, arguments.has("--json"));
  if (!drawn.ok()) terminal.complain("the page: " + drawn.error().message);
  return status;
}

}  // namespace assay::cli
