// A load on a simulated server, and the record that it stores.
#pragma once

#include <string>

#include "core/json.h"
#include "e2e/process.h"

namespace assay {

/// The command of a simulated server as one text; `more` are its options.
inline std::string simulated(const std::string& more) {
  return std::string("'") + ASSAY_BINARY + "' serve-sim --port {port} " + more;
}

inline Json last_record(const Process& process) {
  const std::string text = Process::read(process.folder() / "store/records.jsonl");
  const std::size_t end = text.find_last_not_of('\n');
  const std::size_t begin = text.rfind('\n', end) + 1;
  return Json::parse(text.substr(begin), nullptr, false);
}

}  // namespace assay
