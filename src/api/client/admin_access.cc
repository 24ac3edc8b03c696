#include "api/client/admin_access.h"

#include "api/identity/kubeconfig_file.h"

namespace fairlead::client {

Result<identity::ClientConfig> read_admin_kubeconfig(runtime::Runtime& runtime,
                                                     const std::string& folder) {
  if (folder.empty()) return fail(Code::invalid, "--data: the server's folder must be given");
  const std::string path = folder + "/admin.kubeconfig";
  const auto read = [&runtime](const std::string& name) { return runtime.files().read(name); };
  if (const Result<std::string> text = read(path); !text && text.error().code == Code::not_found)
    return fail(Code::not_found,
                path + " does not exist: --data must be the folder of a fairlead server");
  Result<identity::ClientConfig> config = identity::read_kubeconfig(path, read);
  if (!config) return fail(std::move(config).error().context(path));
  return config;
}

}  // namespace fairlead::client
