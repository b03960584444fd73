// Reading what other programs print. An importer recognises its format by content and gives records
// with a source and metrics (store/record.h). A new format is one new file in formats/ that ends in
//   const ImporterRegistry::Add registered{&importer};
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/registry.h"
#include "core/result.h"
#include "measure/store/record.h"

namespace assay {

/// One file's content. Nothing in it is trusted.
struct ImportText {
  std::string_view text;
  std::string_view name;  ///< the file's name, for messages, Source::file and what only it tells
};

/// What a file held. Records of one run of that program share their `run`.
struct Imported {
  std::string format;                 ///< the importer's name
  std::vector<Record> records;        ///< at least one
  std::vector<std::string> warnings;  ///< "line 17: not a row, skipped: ..."
};

class Importer {
 public:
  virtual ~Importer() = default;
  virtual std::string_view name() const = 0;     ///< "nccl-tests"
  virtual std::string_view summary() const = 0;  ///< one line
  /// How sure it is that the text is its format: 0 not at all, 100 certain. Cheap: looks for marks.
  virtual int recognises(const ImportText& input) const = 0;
  /// All of it or an Error (usage: "NAME:LINE: what is wrong"). Never throws, whatever the text.
  virtual Result<Imported> import(const ImportText& input) const = 0;
};
using ImporterRegistry = Registry<const Importer*>;

/// Sorted by name.
std::vector<const Importer*> importers();

/// By the importer called `format`, or the one that is surest if that is empty. Error: usage,
/// naming the file and the formats.
Result<Imported> import_text(const ImportText& input, std::string_view format);
/// Error: usage if the file cannot be read, is larger than 256 MiB, or import_text's.
Result<Imported> import_file(const std::string& path, std::string_view format);

}  // namespace assay
