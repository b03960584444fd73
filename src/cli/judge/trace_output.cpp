#include "cli/judge/trace_output.h"

#include <fmt/format.h>

#include "cli/cli.h"
#include "core/shown_text.h"
#include "core/write_file.h"
#include "results/traces/trace_reader.h"

namespace assay::cli {

Status check_no_trace_is_replaced(std::string_view option, const Arguments& arguments) {
  if (!arguments.has(option)) return {};
  const std::string file = arguments.get(option);
  const Status writable = check_writable(file);
  if (!writable.ok()) return about(option, writable.error());
  if (!is_trace(file)) return {};
  return Error{ErrorKind::usage,
               fmt::format("{} {}: it is a trace, which the result would replace; name another "
                           "file to write",
                           option, shown_line(file, 500))};
}

}  // namespace assay::cli
