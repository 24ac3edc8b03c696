#include "node/agent/node_info.h"

#include <sys/utsname.h>

namespace fairlead::agent {
namespace {

std::string line_of(runtime::Files& files, const std::string& path) {
  const Result<std::string> text = files.read(path);
  if (!text) return {};
  std::string line = text->substr(0, text->find('\n'));
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

// As Go and with it Kubernetes name them.
std::string architecture(std::string_view machine) {
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  return std::string(machine);
}

}  // namespace

std::string pretty_name(std::string_view os_release) {
  constexpr std::string_view kName = "PRETTY_NAME=";
  while (!os_release.empty()) {
    std::string_view line = os_release.substr(0, os_release.find('\n'));
    os_release.remove_prefix(std::min(os_release.size(), line.size() + 1));
    if (!line.starts_with(kName)) continue;
    line.remove_prefix(kName.size());
    if (line.size() >= 2 && line.front() == '"' && line.back() == '"')
      line = line.substr(1, line.size() - 2);
    return std::string(line);
  }
  return "Linux";
}

NodeInfo read_node_info(runtime::Files& files, std::string_view version) {
  utsname system{};
  ::uname(&system);
  const Result<std::string> release = files.read("/etc/os-release");
  return {{"machineID", line_of(files, "/etc/machine-id")},
          {"systemUUID", line_of(files, "/sys/class/dmi/id/product_uuid")},
          {"bootID", line_of(files, "/proc/sys/kernel/random/boot_id")},
          {"kernelVersion", system.release},
          {"osImage", pretty_name(release ? *release : "")},
          {"containerRuntimeVersion", ""},
          {"kubeletVersion", "fairlead-" + std::string(version)},
          {"kubeProxyVersion", ""},
          {"operatingSystem", "linux"},
          {"architecture", architecture(system.machine)}};
}

}  // namespace fairlead::agent
