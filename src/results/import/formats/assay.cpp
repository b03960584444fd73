// assay's own records, as --json prints them and stores keep them, so that a campaign can use any
// of its commands as a cell.
#include <fmt/format.h>

#include "core/json.h"
#include "core/json_text.h"
#include "results/import/importer.h"
#include "results/import/text_lines.h"
#include "results/store/record_json.h"

namespace assay::assay_importer {
namespace {

constexpr std::string_view first_member = "{\"schema\":";
constexpr std::size_t most_warnings = 100;

class AssayRecords final : public Importer {
 public:
  std::string_view name() const override { return "assay"; }
  std::string_view summary() const override { return "records of assay, one per line"; }

  int recognises(const ImportText& input) const override {
    LineReader lines(input.text);
    TextLine line;
    // The lines before the records are fingerprints.
    while (lines.next(line)) {
      if (line.text.starts_with(first_member) && contains(line.text, "\"benchmark\":")) return 100;
      if (!line.text.starts_with("{\"id\":")) return 0;
    }
    return 0;
  }

  Result<Imported> import(const ImportText& input) const override {
    Imported imported;
    imported.format = name();
    LineReader lines(input.text);
    TextLine line;
    while (lines.next(line)) {
      if (!line.text.starts_with(first_member)) continue;
      auto record = read(line.text);
      if (record.ok()) {
        if (imported.records.size() == most_imported) {
          return Error{ErrorKind::usage, fmt::format("{}: it contains more than {} records",
                                                     input.name, most_imported)};
        }
        record->fingerprint.clear();  // its store is not available here
        imported.records.push_back(std::move(record).value());
      } else if (imported.warnings.size() < most_warnings) {
        imported.warnings.push_back(
            fmt::format("line {}: {}", line.number, record.error().message));
      }
    }
    if (!imported.records.empty()) return imported;
    return Error{ErrorKind::usage,
                 fmt::format("{}: it contains no record of assay{}", input.name,
                             imported.warnings.empty() ? "" : "; " + imported.warnings.front())};
  }

 private:
  static Result<Record> read(std::string_view line) {
    // A record's objects are small, and parsing one takes the square of its members.
    constexpr std::size_t most_members = 500;
    return record_from_json(TRY(parse_json(line, most_members)));
  }
};

const AssayRecords importer;
const ImporterRegistry::Add registered{&importer};

}  // namespace
}  // namespace assay::assay_importer
