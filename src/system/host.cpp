// The host: name, operating system, kernel, board.
#include <sys/utsname.h>

#include <nlohmann/json.hpp>

#include "system/fact_source.h"

namespace assay {
namespace {

Json read_host(const std::filesystem::path& root) {
  Json json = Json::object();
  utsname system = {};
  if (uname(&system) == 0) {
    json["name"] = system.nodename;
    json["kernel"] = system.release;
    json["kernel_build"] = system.version;
    json["machine"] = system.machine;
  }
  if (const auto release = read_fact(root, "etc/os-release")) {
    put_fact(json, "os", line_value(*release, "PRETTY_NAME"));
  }
  put_fact(json, "vendor", read_fact(root, "sys/class/dmi/id/sys_vendor"));
  put_fact(json, "product", read_fact(root, "sys/class/dmi/id/product_name"));
  put_fact(json, "bios", read_fact(root, "sys/class/dmi/id/bios_version"));
  return json;
}

const FactRegistry::Add registered{{"host", &read_host}};

}  // namespace
}  // namespace assay
