#include "advise/tune/tuning_journal.h"

#include <fmt/format.h>

#include "core/folder_lock.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "core/shown_text.h"

namespace assay {
namespace {

// enough for a hundred thousand steps
constexpr std::size_t most_journal_bytes = std::size_t{256} << 20;

Error about_line(const std::filesystem::path& folder, std::size_t number, std::string_view what) {
  return {ErrorKind::usage,
          fmt::format("{}:{}: {}", (folder / TuningJournal::name).string(), number, what)};
}

}  // namespace

Error stopped_tuning() {
  return {ErrorKind::interrupted, "stopped; the same command continues"};
}

Json identity_of_device(const DeviceFacts& facts) {
  return {{"backend", facts.backend},     {"name", facts.name},
          {"arch", facts.arch},           {"uuid", facts.uuid},
          {"partition", facts.partition}, {"multiprocessors", facts.multiprocessors}};
}

std::string first_difference(const Json& there, const Json& here) {
  if (there == here) return {};
  if (there.is_object() && here.is_object()) {
    for (const auto& [name, value] : here.items()) {
      const auto other = there.find(name);
      if (other == there.end()) {
        return fmt::format("{} is missing, here it is {}", name, shown_line(json_line(value), 80));
      }
      const std::string inner = first_difference(*other, value);
      if (inner.empty()) continue;
      return value.is_object() && other->is_object() ? name + "." + inner : name + " " + inner;
    }
    for (const auto& [name, value] : there.items()) {
      if (!here.contains(name)) return shown_line(name, 40) + " is not here";
    }
  }
  return fmt::format("is {}, here it is {}", shown_line(json_line(there), 80),
                     shown_line(json_line(here), 80));
}

Error TuningJournal::about_step(const std::filesystem::path& folder, std::size_t i,
                                const Error& error) {
  return about_line(folder, i + 2, error.message);
}

Result<JournalLines> TuningJournal::read(const std::filesystem::path& folder,
                                         std::string_view what) {
  const std::string text = TRY(read_operand(folder / name, most_journal_bytes));
  JournalLines lines;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    ++number;
    auto line = parse_json(std::string_view(text).substr(at, end - at));
    const bool is_one =
        line.ok() && (lines.identity || (line->is_object() && line->value("what", Json()) == what));
    if (!is_one) return about_line(folder, number, fmt::format("this is no journal of `{}`", what));
    if (!lines.identity) {
      lines.identity = std::move(line).value();
    } else {
      lines.steps.push_back(std::move(line).value());
    }
    at = end + 1;
  }
  return lines;
}

Result<TuningJournal> TuningJournal::open(const std::filesystem::path& folder,
                                          const Json& identity) {
  auto lock = TRY(lock_folder(folder, "assay tune"));
  constexpr const char* plan = "tuning.yaml";  // the file that marks a folder of trial_log.h
  if (std::error_code error; std::filesystem::exists(folder / plan, error)) {
    return Error{ErrorKind::usage,
                 fmt::format("{} holds a tuning of another kind: it has {}; name another folder "
                             "with --out",
                             folder.string(), plan)};
  }
  TuningJournal journal(std::move(lock), TRY(LineFile::open(folder / name)));
  JournalLines lines = TRY(read(folder, identity.at("what").get<std::string>()));
  if (lines.identity) {
    const std::string difference = first_difference(*lines.identity, identity);
    if (!difference.empty()) {
      return Error{ErrorKind::usage,
                   fmt::format("{} was begun with something else: {}; name another folder with "
                               "--out, or remove this one",
                               (folder / name).string(), difference)};
    }
  }
  journal.steps_ = std::move(lines.steps);
  if (!lines.identity) TRY(journal.append(identity));
  return journal;
}

Status TuningJournal::append(const Json& step) {
  return file_.append(json_line(step));
}

}  // namespace assay
