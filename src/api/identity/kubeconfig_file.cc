#include "api/identity/kubeconfig_file.h"

#include <filesystem>

namespace fairlead::identity {

Result<ClientConfig> read_kubeconfig(const std::string& path, const ReadFile& read) {
  FL_TRY(const std::string text, read(path));
  FL_TRY(const Kubeconfig parsed, parse_kubeconfig(text));
  return resolve(parsed, "", std::filesystem::path(path).parent_path().string(), read);
}

}  // namespace fairlead::identity
