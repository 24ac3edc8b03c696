#include "api/identity/kubeconfig.h"

#include <gtest/gtest.h>

#include <map>

#include "api/identity/test_support.h"
#include "foundation/base/encoding.h"

namespace fairlead::identity {
namespace {

using namespace testing;

ReadFile files(std::map<std::string, std::string> content) {
  return [content = std::move(content)](const std::string& path) -> Result<std::string> {
    const auto found = content.find(path);
    if (found == content.end()) return fail(Code::not_found, path + ": no such file");
    return found->second;
  };
}

Result<ClientConfig> load(std::string_view text, const ReadFile& read = files({}),
                          std::string_view context = "") {
  FL_TRY(const Kubeconfig config, parse_kubeconfig(text));
  return resolve(config, context, "/etc/fl", read);
}

std::string with(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
         "contexts: [{name: c, context: {cluster: k, user: u, namespace: prod}}]\n"
         "clusters: [{name: k, cluster: {" +
         cluster +
         "}}]\n"
         "users: [{name: u, user: {" +
         user + "}}]\n";
}

// What is written is read back, with everything embedded.
TEST(Kubeconfig, round_trip) {
  const KeyPair ca = make_ca(), jane = client_of(ca, "jane");
  ClientConfig config;
  config.server = "https://127.0.0.1:6443";
  config.ca = ca.certificate.pem();
  config.token = "t0ken";
  config.client_certificate = jane.certificate.pem();
  config.client_key = must(jane.key.pem());
  config.tls_server_name = "api";
  const ClientConfig read = must(load(encode_kubeconfig(config, "fairlead", "admin")));
  EXPECT_EQ(read.server, config.server);
  EXPECT_EQ(read.ca, config.ca);
  EXPECT_EQ(read.token, config.token);
  EXPECT_EQ(read.client_certificate, config.client_certificate);
  EXPECT_EQ(read.client_key, config.client_key);
  EXPECT_EQ(read.tls_server_name, "api");
  EXPECT_EQ(read.namespace_, "default");
}

// Files are read relative to the kubeconfig; embedded data wins over a file; a token file is kept.
TEST(Kubeconfig, files_and_data) {
  const KeyPair ca = make_ca(), other = make_ca("other", 2), jane = client_of(ca, "jane");
  const ReadFile read = files({{"/etc/fl/ca.crt", ca.certificate.pem()},
                               {"/abs/jane.crt", jane.certificate.pem()},
                               {"/etc/fl/jane.key", must(jane.key.pem())},
                               {"/etc/fl/token", "abc\n"}});
  const ClientConfig config =
      must(load(with("server: 'https://h:1/', certificate-authority: ca.crt",
                     "client-certificate: /abs/jane.crt, client-key: jane.key, tokenFile: token"),
                read));
  EXPECT_EQ(config.server, "https://h:1");
  EXPECT_EQ(config.ca, ca.certificate.pem());
  EXPECT_EQ(config.client_certificate, jane.certificate.pem());
  EXPECT_EQ(config.token, "abc");
  EXPECT_EQ(config.token_file, "/etc/fl/token");
  EXPECT_EQ(config.namespace_, "prod");
  const std::string data = encode_base64(other.certificate.pem());
  EXPECT_EQ(must(load(with("server: 'https://h', certificate-authority: nowhere, "
                           "certificate-authority-data: " +
                               data,
                           "token: x")))
                .ca,
            other.certificate.pem());
}

// The context asked for wins over the current one.
TEST(Kubeconfig, picks_the_context) {
  const std::string text =
      "current-context: a\n"
      "contexts:\n- {name: a, context: {cluster: k, user: u}}\n- {name: b, context: {cluster: l}}\n"
      "clusters:\n- {name: k, cluster: {server: 'https://k'}}\n- {name: l, cluster: {server: "
      "'http://l'}}\nusers:\n- {name: u, user: {token: x}}\n";
  EXPECT_EQ(must(load(text)).server, "https://k");
  EXPECT_EQ(must(load(text, files({}), "b")).server, "http://l");
  EXPECT_EQ(must(load(text, files({}), "b")).token, "");
  EXPECT_FALSE(load(text, files({}), "c"));
}

// What is not supported is refused by name instead of failing later with a 401.
TEST(Kubeconfig, unsupported) {
  const std::string server = "server: 'https://h'";
  for (const auto& [text, word] : std::vector<std::pair<std::string, std::string>>{
           {with(server, "exec: {command: aws}"), "exec"},
           {with(server, "auth-provider: {name: gcp}"), "gcp"},
           {with(server, "username: a, password: b"), "password"},
           {with(server + ", proxy-url: 'http://p'", "token: x"), "proxy"}}) {
    const auto config = load(text);
    ASSERT_FALSE(config) << text;
    EXPECT_EQ(config.error().code, Code::unsupported);
    EXPECT_NE(config.error().message.find(word), std::string::npos) << config.error().message;
  }
}

// Malformed files are refused, naming the place.
TEST(Kubeconfig, malformed) {
  const KeyPair ca = make_ca(), jane = client_of(ca, "jane"), joe = client_of(ca, "joe");
  const std::string server = "server: 'https://h'";
  const std::string mismatched =
      "client-certificate-data: " + encode_base64(jane.certificate.pem()) +
      ", client-key-data: " + encode_base64(must(joe.key.pem()));
  for (const std::string& bad :
       {std::string(""),
        std::string("[]"),
        std::string("x"),
        std::string("{"),
        std::string("kind: Pod"),
        std::string("clusters: 1"),
        std::string("clusters: [1]"),
        std::string("{}"),
        std::string("current-context: a"),
        with("server: 5", "token: x"),
        with("server: 'ftp://h'", "token: x"),
        with("server: 'https://'", "token: x"),
        with("server: 'https://u@h'", "token: x"),
        with("server: 'https://h?q'", "token: x"),
        with(server + ", insecure-skip-tls-verify: maybe", "token: x"),
        with(server + ", certificate-authority-data: '%%'", "token: x"),
        with(server + ", certificate-authority-data: Zm9v", "token: x"),
        with(server + ", certificate-authority: gone", "token: x"),
        with(server + ", insecure-skip-tls-verify: true, certificate-authority-data: " +
                 encode_base64(ca.certificate.pem()),
             "token: x"),
        with(server, "token: 12345"),
        with(server, "tokenFile: gone"),
        with(server, "client-certificate-data: " + encode_base64(jane.certificate.pem())),
        with(server, mismatched)})
    EXPECT_FALSE(load(bad)) << bad;
}

// A pod's environment and service account give a configuration; IPv6 hosts are bracketed.
TEST(InCluster, reads_the_service_account) {
  const std::string folder(kServiceAccountFolder);
  const std::string ca = make_ca().certificate.pem();
  const ReadFile read = files(
      {{folder + "/token", "tok"}, {folder + "/ca.crt", ca}, {folder + "/namespace", "prod"}});
  std::map<std::string, std::string, std::less<>> variables{{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                                            {"KUBERNETES_SERVICE_PORT", "443"}};
  const Environment environment = [&](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  const ClientConfig config = must(in_cluster_config(environment, read));
  EXPECT_EQ(config.server, "https://[fd00::1]:443");
  EXPECT_EQ(config.token, "tok");
  EXPECT_EQ(config.token_file, folder + "/token");
  EXPECT_EQ(config.namespace_, "prod");
  EXPECT_EQ(config.ca, ca);
  EXPECT_FALSE(in_cluster_config(environment, files({})));
  variables.erase("KUBERNETES_SERVICE_PORT");
  const auto outside = in_cluster_config(environment, read);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, Code::not_found);
}

}  // namespace
}  // namespace fairlead::identity
