#include "runtime/coverage.h"

#include <fmt/format.h>

#include "emulator/coverage.h"
#include "runtime/runtime.h"

namespace mi300x::runtime {

void write_coverage() {
  std::string lines;
  for (const auto& [name, count] : Runtime::instance().injection.calls()) {
    lines += fmt::format("function {} {}\n", name, count);
  }
  append_coverage(lines);
}

}  // namespace mi300x::runtime
