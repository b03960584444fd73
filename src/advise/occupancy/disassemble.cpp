#include "advise/occupancy/disassemble.h"

#include <fmt/format.h>

#include "advise/occupancy/tool.h"

namespace assay::occupancy {

Result<std::string> disassemble(const CodeImage& image) {
  const auto tools = TRY(find_tools(objdump_places()));
  Error problem;
  for (const std::string& tool : tools) {
    auto output = run_tool(tool, {"-d", tool_input}, image.code);
    if (output.ok()) return std::move(output->text);
    problem = std::move(output).error();
  }
  problem.message = fmt::format("no llvm-objdump on this machine can disassemble {}: {}; {}",
                                image.arch, problem.message, objdump_places().advice);
  return problem;
}

}  // namespace assay::occupancy
