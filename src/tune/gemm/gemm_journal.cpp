#include "tune/gemm/gemm_journal.h"

#include <fmt/format.h>

#include "core/folder_lock.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "core/shown_text.h"

namespace assay {
namespace {

constexpr std::size_t most_journal_bytes = std::size_t{256} << 20;  // a hundred thousand products

struct Contents {
  std::optional<Json> identity;
  std::map<std::string, ProductOutcome> done;
};

Result<Contents> read_contents(const std::filesystem::path& path) {
  const std::string text = TRY(read_operand(path, most_journal_bytes));
  Contents contents;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    ++number;
    const auto where = [&](const std::string& what) {
      return Error{ErrorKind::usage, fmt::format("{}:{}: {}", path.string(), number, what)};
    };
    auto line = parse_json(std::string_view(text).substr(at, end - at));
    if (!line.ok()) return where("this is no journal of `assay tune gemm`");
    if (!contents.identity) {
      if (!line->is_object() || line->value("what", Json()) != "assay tune gemm") {
        return where("this is no journal of `assay tune gemm`");
      }
      contents.identity = std::move(line).value();
    } else {
      auto outcome = outcome_from_json(*line);
      if (!outcome.ok()) return where(outcome.error().message);
      std::string problem = outcome->problem;
      contents.done[std::move(problem)] = std::move(outcome).value();
    }
    at = end + 1;
  }
  return contents;
}

}  // namespace

std::string first_difference(const Json& there, const Json& here) {
  if (there == here) return {};
  if (there.is_object() && here.is_object()) {
    for (const auto& [name, value] : here.items()) {
      const auto other = there.find(name);
      if (other == there.end()) {
        return fmt::format("{} is missing, here it is {}", name, shown_line(value.dump(), 80));
      }
      const std::string inner = first_difference(*other, value);
      if (inner.empty()) continue;
      return value.is_object() && other->is_object() ? name + "." + inner : name + " " + inner;
    }
    for (const auto& [name, value] : there.items()) {
      if (!here.contains(name)) return shown_line(name, 40) + " is not here";
    }
  }
  return fmt::format("is {}, here it is {}", shown_line(there.dump(), 80),
                     shown_line(here.dump(), 80));
}

Result<std::map<std::string, ProductOutcome>> GemmJournal::read(
    const std::filesystem::path& folder) {
  return TRY(read_contents(folder / name)).done;
}

Result<GemmJournal> GemmJournal::open(const std::filesystem::path& folder, const Json& identity) {
  auto lock = TRY(lock_folder(folder, "assay tune"));
  const std::filesystem::path path = folder / name;
  GemmJournal journal(std::move(lock), TRY(LineFile::open(path)));
  Contents contents = TRY(read_contents(path));
  if (contents.identity) {
    const std::string difference = first_difference(*contents.identity, identity);
    if (!difference.empty()) {
      return Error{ErrorKind::usage,
                   fmt::format("{} was begun with something else: {}; name another folder with "
                               "--out, or remove this one",
                               path.string(), difference)};
    }
  }
  journal.done_ = std::move(contents.done);
  if (!contents.identity) TRY(journal.write(identity));
  return journal;
}

Status GemmJournal::write(const Json& line) {
  return file_.append(line.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Status GemmJournal::append(const ProductOutcome& outcome) {
  TRY(write(to_json(outcome)));
  done_[outcome.problem] = outcome;
  return {};
}

}  // namespace assay
