#include "node/agent/credentials.h"

#include <filesystem>

#include "api/client/server_url.h"
#include "foundation/base/log.h"
#include "node/join/join_client.h"
#include "node/join/join_files.h"

namespace fairlead::agent {
namespace {

constexpr Duration kInterval = 1h;

Result<identity::ClientConfig> read_kubeconfig(runtime::Files& files, const std::string& path) {
  const auto read = [&files](const std::string& name) { return files.read(name); };
  FL_TRY(const std::string text, read(path));
  FL_TRY(const identity::Kubeconfig parsed, identity::parse_kubeconfig(text));
  return identity::resolve(parsed, "", std::filesystem::path(path).parent_path().string(), read);
}

// What `fairlead join` left in its folder: who we are, and every server it was told of.
Result<ApiAccess> read_membership(runtime::Files& files, const std::string& folder) {
  join::JoinFiles joined(files, folder);
  if (Result<std::string> there = files.read(joined.path("node.crt")); !there)
    return fail(there.error().code, joined.path("node.crt") + ": run `fairlead join` first");
  FL_TRY(const identity::PrivateKey key, joined.key());
  FL_TRY(const std::optional<join::Membership> membership, joined.read(key));
  if (!membership) return fail(Code::invalid, folder + " is not a complete membership");
  ApiAccess access;
  FL_TRY(access.config, read_kubeconfig(files, joined.path("node.kubeconfig")));
  access.joined_as = membership->node;
  for (const std::string& url : membership->servers) {
    if (url == access.config.server) continue;
    FL_TRY(runtime::Endpoint server, client::endpoint_of_url(url));
    access.further_servers.push_back(std::move(server));
  }
  return access;
}

}  // namespace

Result<ApiAccess> read_access(runtime::Files& files, const CredentialFiles& from) {
  if (!from.join_dir.empty()) return read_membership(files, from.join_dir);
  Result<identity::ClientConfig> config = read_kubeconfig(files, from.kubeconfig);
  if (!config) return fail(std::move(config).error());
  return ApiAccess{.config = std::move(*config), .further_servers = {}, .joined_as = {}};
}

Task<void> keep_credentials(runtime::Runtime& runtime, client::RestClient& client,
                            CredentialFiles from) {
  for (;;) {
    if (Result<> slept = co_await runtime::sleep(runtime, kInterval); !slept) co_return;
    if (!from.join_dir.empty()) {
      join::JoinClient renewal(runtime, {.folder = from.join_dir}, [](const std::string& text) {
        log::info("renewal", {{"told", text}});
      });
      const Result<join::JoinOutcome> outcome = co_await renewal.run();
      if (!outcome)
        log::warning("certificate not renewed", {{"error", outcome.error().to_string()}});
    }
    const Result<ApiAccess> access = read_access(runtime.files(), from);
    if (access) {
      client.use_credentials(access->config);
    } else {
      log::warning("credentials not read again", {{"error", access.error().to_string()}});
    }
  }
}

}  // namespace fairlead::agent
