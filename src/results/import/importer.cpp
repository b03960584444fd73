#include "results/import/importer.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/read_file.h"
#include "results/import/plain_text.h"

namespace assay {
namespace {

std::string names() {
  std::string list;
  for (const Importer* importer : importers()) {
    list += (list.empty() ? "" : ", ") + std::string(importer->name());
  }
  return list;
}

Result<const Importer*> find_importer(std::string_view format) {
  for (const Importer* importer : importers()) {
    if (importer->name() == format) return importer;
  }
  return Error{ErrorKind::usage,
               fmt::format("unknown format \"{}\"; there are {}", format, names())};
}

/// Returns the start and the end of a long text: every program identifies itself in one of them.
std::string excerpt(std::string_view text) {
  constexpr std::size_t part = std::size_t{2} << 20;
  if (text.size() <= 2 * part) return std::string(text);
  return fmt::format("{}\n{}", text.substr(0, part), text.substr(text.size() - part));
}

struct Recognised {
  const Importer* best = nullptr;   ///< the most confident one; null if there is none
  const Importer* equal = nullptr;  ///< another one with the same confidence
};

Recognised recognise(const ImportText& whole) {
  const std::string text = excerpt(whole.text);
  const ImportText input{text, whole.name};
  Recognised found;
  int highest = 0;
  for (const Importer* importer : importers()) {
    const int score = importer->recognises(input);
    if (score > highest) {
      highest = score;
      found = {importer, nullptr};
    } else if (score == highest && score > 0) {
      found.equal = importer;
    }
  }
  return found;
}

/// Returns the importer that is most confident about the text.
Result<const Importer*> only_importer(const ImportText& input) {
  const auto [best, equal] = recognise(input);
  if (best == nullptr) {
    return Error{ErrorKind::usage,
                 fmt::format("{}: not recognised as the result of any known program; `assay help "
                             "import` says which output of which program is read",
                             input.name)};
  }
  if (equal != nullptr) {
    return Error{
        ErrorKind::usage,
        fmt::format(
            "{}: may be a result of {} or of {}; name it with `assay import --input-format`",
            input.name, best->name(), equal->name())};
  }
  return best;
}

}  // namespace

std::vector<const Importer*> importers() {
  auto all = ImporterRegistry::entries();
  std::sort(all.begin(), all.end(),
            [](const Importer* a, const Importer* b) { return a->name() < b->name(); });
  return all;
}

bool is_recognised(const ImportText& input) {
  std::string buffer;
  return recognise({without_line_prefixes(input.text, buffer), input.name}).best != nullptr;
}

Result<Imported> import_text(const ImportText& input, std::string_view format) {
  std::string buffer;
  const ImportText plain{without_line_prefixes(input.text, buffer), input.name};
  const Importer* importer =
      format.empty() ? TRY(only_importer(plain)) : TRY(find_importer(format));
  return importer->import(plain);
}

Result<std::string> read_import_file(const std::string& path) {
  constexpr std::size_t most = std::size_t{256} << 20;
  return plain_text(TRY(read_operand(path, most)), path, most);
}

Result<Imported> import_file(const std::string& path, std::string_view format) {
  const std::string text = TRY(read_import_file(path));
  return import_text({text, path}, format);
}

}  // namespace assay
