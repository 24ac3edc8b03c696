#include "node/agent/credentials.h"

#include <filesystem>

#include "api/client/server_url.h"
#include "api/identity/certificate.h"
#include "foundation/base/log.h"
#include "foundation/base/time_text.h"
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
  // Asked for a key that is missing, JoinFiles would make one, which belongs to no certificate.
  if (Result<std::string> there = files.read(joined.path("node.key")); !there)
    return fail(std::move(there).error());
  FL_TRY(const identity::PrivateKey key, joined.key());
  FL_TRY(const std::optional<join::Membership> membership, joined.read(key));
  if (!membership) return fail(Code::invalid, folder + " is not a complete membership");
  ApiAccess access;
  FL_TRY(access.config, read_kubeconfig(files, joined.path("node.kubeconfig")));
  access.joined_as = membership->node;
  for (const std::string& url : membership->servers) {
    if (url == access.config.server) continue;
    FL_TRY(client::ServerUrl server, client::parse_server_url(url));
    access.further_servers.push_back(std::move(server.endpoint));
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

void check_credentials(runtime::Files& files, const CredentialFiles& from, WallTime now,
                       Checklist& checks) {
  const std::string what = from.join_dir.empty() ? "credentials of kubeconfig " + from.kubeconfig
                                                 : "credentials of join folder " + from.join_dir;
  const Result<ApiAccess> access = read_access(files, from);
  if (!access) return checks.failed(what, access.error().message);
  checks.passed(what);
  const std::string& pem = access->config.client_certificate;
  if (pem.empty()) {
    if (access->config.token.empty() && access->config.token_file.empty())
      checks.failed("identity", "there is neither a client certificate nor a token");
    return;
  }
  const Result<identity::Certificate> certificate = identity::Certificate::parse_pem(pem);
  if (!certificate) return checks.failed("client certificate", certificate.error().message);
  const identity::Validity& validity = certificate->validity();
  const std::string span =
      "valid from " + rfc3339(validity.not_before) + " until " + rfc3339(validity.not_after);
  if (certificate->covers(now)) {
    checks.passed("client certificate, " + span);
  } else {
    checks.failed("client certificate", "it is " + span + ", and now it is " + rfc3339(now));
  }
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
