#include "import/importer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/read_file.h"

namespace assay {
namespace {

constexpr std::size_t most_bytes = std::size_t{256} << 20;

std::string names_of_formats() {
  std::string names;
  for (const Importer* importer : importers()) {
    names += (names.empty() ? "" : ", ") + std::string(importer->name());
  }
  return names;
}

Result<const Importer*> importer_called(std::string_view format) {
  for (const Importer* importer : importers()) {
    if (importer->name() == format) return importer;
  }
  return Error{ErrorKind::usage,
               fmt::format("--format \"{}\" is not known; known: {}", format, names_of_formats())};
}

Result<const Importer*> surest_importer(const ImportText& input) {
  const Importer* surest = nullptr;
  int best = 0;
  bool tie = false;
  for (const Importer* importer : importers()) {
    const int score = importer->recognises(input);
    if (score <= 0 || score < best) continue;
    tie = score == best;
    best = score;
    surest = importer;
  }
  if (surest == nullptr) {
    return Error{ErrorKind::usage,
                 fmt::format("{}: the format is not recognised; known: {}; --format names one",
                             input.name, names_of_formats())};
  }
  if (tie) {
    return Error{ErrorKind::usage,
                 fmt::format("{}: more than one format fits; name one by --format: {}", input.name,
                             names_of_formats())};
  }
  return surest;
}

}  // namespace

std::vector<const Importer*> importers() {
  std::vector<const Importer*> sorted = ImporterRegistry::entries();
  std::sort(sorted.begin(), sorted.end(),
            [](const Importer* a, const Importer* b) { return a->name() < b->name(); });
  return sorted;
}

Result<Imported> import_text(const ImportText& input, std::string_view format) {
  const Importer* importer =
      format.empty() ? TRY(surest_importer(input)) : TRY(importer_called(format));
  return importer->import(input);
}

Result<Imported> import_file(const std::string& path, std::string_view format) {
  const std::string text = TRY(read_operand(path, most_bytes));
  return import_text({text, path}, format);
}

}  // namespace assay
