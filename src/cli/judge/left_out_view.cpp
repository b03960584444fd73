#include "cli/judge/left_out_view.h"

#include <fmt/format.h>

#include "cli/table.h"
#include "core/json.h"

namespace assay::cli {

std::string left_out_text(const std::vector<LeftOut>& left_out, std::size_t width,
                          const Style& style) {
  if (left_out.empty()) return "";
  Table table({{"run"}, {"cell"}, {"metric", Column::Align::left, 1}, {"reason"}});
  for (const LeftOut& entry : left_out) {
    table.add({entry.run.empty() ? "all" : entry.run, entry.cell, entry.metric, entry.reason});
  }
  return fmt::format("{} left out\n", left_out.size()) + table.render(width, style);
}

Json to_json(const std::vector<LeftOut>& left_out) {
  Json list = Json::array();
  for (const LeftOut& entry : left_out) {
    list.push_back({{"run", entry.run},
                    {"cell", entry.cell},
                    {"metric", entry.metric},
                    {"reason", entry.reason}});
  }
  return list;
}

}  // namespace assay::cli
