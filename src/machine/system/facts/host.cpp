// The host: name, operating system, kernel and its boot options, board.
#include <sstream>

#include "core/json.h"
#include "machine/system/fact_source.h"
#include "machine/system/recordable_settings.h"

namespace assay::host_fact {
namespace {

/// The kernel's command line as it may be recorded, without the words that name the boot image and
/// its location: they change with every update and do not affect speed.
std::string command_line(const std::string& text) {
  std::istringstream words(recorded_file("proc/cmdline", text));
  std::string kept;
  for (std::string word; words >> word;) {
    const std::string name = word.substr(0, word.find('='));
    if (name == "BOOT_IMAGE" || name == "root" || name == "initrd") continue;
    kept += (kept.empty() ? "" : " ") + word;
  }
  return kept;
}

Json read_host(const Machine& machine) {
  Json json = machine.ask("uname");
  if (!json.is_object()) json = Json::object();
  if (const auto text = read_fact(machine, "proc/cmdline")) {
    json["command_line"] = command_line(*text);
  }
  if (const auto release = read_fact(machine, "etc/os-release")) {
    put_fact(json, "os", line_value(*release, "PRETTY_NAME"));
  }
  put_fact(json, "vendor", read_fact(machine, "sys/class/dmi/id/sys_vendor"));
  put_fact(json, "product", read_fact(machine, "sys/class/dmi/id/product_name"));
  put_fact(json, "bios", read_fact(machine, "sys/class/dmi/id/bios_version"));
  put_fact(json, "clock_source",
           read_fact(machine, "sys/devices/system/clocksource/clocksource0/current_clocksource"));
  return json;
}

const FactRegistry::Add registered{{"host", &read_host}};

}  // namespace
}  // namespace assay::host_fact
