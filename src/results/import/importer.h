// Imports the output of other programs. An importer recognises its format by content and returns
// records with a source and metrics (results/record/record.h). A new format is one new file in
// formats/ that ends in
//   const ImporterRegistry::Add registered{&importer};
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry.h"
#include "core/result.h"
#include "results/record/record.h"

namespace assay {

/// The content of one file. It is not trusted.
struct ImportText {
  std::string_view text;
  std::string_view name;  ///< the file's name, for messages and Source::file
};

/// The results in one file. Records of one run of the program share their `run`.
struct Imported {
  std::string format;                 ///< the importer's name
  std::vector<Record> records;        ///< at least one
  std::vector<std::string> warnings;  ///< "line 17: not a row, skipped: ..."
};

/// Limit of the results of one file, each of which takes about 2 KB of memory.
constexpr std::size_t most_imported = 250'000;

/// A format. There is one object for each, without state.
class Importer {
 public:
  virtual ~Importer() = default;
  virtual std::string_view name() const = 0;     ///< "nccl-tests"
  virtual std::string_view summary() const = 0;  ///< one line
  /// Returns how confident it is that the text, of which it sees at most the first and the last
  /// 2 MiB, has its format: 0 not at all, 100 certain. It is cheap and only searches for marks.
  virtual int recognises(const ImportText& input) const = 0;
  /// Returns all results, or an Error (usage: "NAME:LINE: what is wrong"). Never throws.
  virtual Result<Imported> import(const ImportText& input) const = 0;
};
using ImporterRegistry = Registry<const Importer*>;

/// Sorted by name.
std::vector<const Importer*> importers();

/// Returns whether any importer recognises the text.
bool is_recognised(const ImportText& input);
/// Imports with the importer named `format`, or the most confident one if `format` is empty, after
/// without_line_prefixes(). Error: usage, if there is no such importer, none or several equally
/// confident ones recognise the text; as Importer::import().
Result<Imported> import_text(const ImportText& input, std::string_view format);
/// Returns the text of a file or pipe, decompressed and in UTF-8. Error: as read_operand()
/// (core/read_file.h) and plain_text() (plain_text.h), with a limit of 256 MiB for each.
Result<std::string> read_import_file(const std::string& path);
/// Combines read_import_file() and import_text(). Error: as both.
Result<Imported> import_file(const std::string& path, std::string_view format);

}  // namespace assay
