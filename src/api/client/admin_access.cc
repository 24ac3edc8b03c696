#include "api/client/admin_access.h"

namespace fairlead::client {

Result<identity::ClientConfig> read_admin_kubeconfig(runtime::Runtime& runtime,
                                                     const std::string& folder) {
  if (folder.empty()) return fail(Code::invalid, "--data: the server's folder must be given");
  const std::string path = folder + "/admin.kubeconfig";
  const auto read = [&runtime](const std::string& name) { return runtime.files().read(name); };
  const Result<std::string> text = read(path);
  if (!text && text.error().code == Code::not_found)
    return fail(Code::not_found,
                path + " does not exist: --data must be the folder of a fairlead server");
  if (!text) return fail(text.error());
  const Result<identity::Kubeconfig> parsed = identity::parse_kubeconfig(*text);
  if (!parsed) return fail(parsed.error().context(path));
  Result<identity::ClientConfig> config = identity::resolve(*parsed, "", folder, read);
  if (!config) return fail(std::move(config).error().context(path));
  return config;
}

}  // namespace fairlead::client
