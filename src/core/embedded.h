// Files of the source tree compiled into the binary (cmake/Embed.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace assay {

struct EmbeddedFile {
  std::string_view name;  ///< file name without folder, e.g. "memory.cu"
  std::string_view text;
};

/// Each function returns the files of one kind, sorted by their paths in the source tree.
const std::vector<EmbeddedFile>& embedded_kernels();
const std::vector<EmbeddedFile>& embedded_suites();
const std::vector<EmbeddedFile>& embedded_schemas();
/// Returns example plans of campaigns, one of each kind.
const std::vector<EmbeddedFile>& embedded_plans();
const std::vector<EmbeddedFile>& embedded_tunings();     ///< plans of `assay tune command`
const std::vector<EmbeddedFile>& embedded_limits();      ///< what machines of a kind must reach
const std::vector<EmbeddedFile>& embedded_references();  ///< figures that others reported
const std::vector<EmbeddedFile>& embedded_docs();
const std::vector<EmbeddedFile>& embedded_page();  ///< parts of the HTML report
const std::vector<EmbeddedFile>& embedded_vega();  ///< parts of the charting library

}  // namespace assay
