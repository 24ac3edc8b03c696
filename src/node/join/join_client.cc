#include "node/join/join_client.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "api/client/rest_client.h"
#include "api/client/server_url.h"
#include "api/identity/authority.h"
#include "foundation/http/client.h"

namespace fairlead::join {
namespace {

using identity::JoinResponse;

constexpr Duration kAnswerTime = 15s;
constexpr Duration kBusyPause = 1s;
constexpr int kBusyTries = 10;

// The server has looked at the proof and said no: another one of the same cluster would say it too.
bool is_verdict(const Error& error) {
  return error.code == Code::unauthorized || error.code == Code::forbidden ||
         error.code == Code::invalid;
}

// The address that worked is the one known to be reachable from here.
std::vector<std::string> preferred(std::string worked, const std::vector<std::string>& told) {
  std::vector<std::string> servers{std::move(worked)};
  for (const std::string& server : told)
    if (std::ranges::find(servers, server) == servers.end()) servers.push_back(server);
  return servers;
}

}  // namespace

JoinClient::JoinClient(runtime::Runtime& runtime, JoinPlan plan,
                       std::function<void(std::string)> tell)
    : runtime_(runtime),
      plan_(std::move(plan)),
      tell_(std::move(tell)),
      files_(runtime.files(), plan_.folder) {}

Task<Result<JoinOutcome>> JoinClient::run() {
  FL_CO_CHECKED(runtime_.files().make_directories(plan_.folder, 0700));
  FL_CO_TRY(const identity::PrivateKey key, files_.key());
  FL_CO_TRY(const std::optional<Membership> known, files_.read(key));
  const WallTime now = runtime_.wall_now();
  if (plan_.node.empty()) plan_.node = known ? known->node : plan_.default_node;
  if (!identity::is_node_name(plan_.node))
    co_return fail(Code::invalid, "--node: " + plan_.node + " is not a valid node name");
  if (known && known->node != plan_.node)
    co_return fail(Code::already_exists, files_.path("node.crt") + " is that of node " +
                                             known->node + ", not of " + plan_.node +
                                             ": give another --data, or remove the file");
  if (known && known->certificate.covers(now)) {
    if (!plan_.renew && !identity::needs_renewal(known->certificate, now))
      co_return JoinOutcome{.kind = JoinOutcome::Kind::unchanged,
                            .node = known->node,
                            .server = {},
                            .valid_until = known->certificate.validity().not_after};
    Result<JoinOutcome> renewed = co_await renew(*known, key);
    if (renewed || plan_.token.empty()) co_return renewed;
    tell_("not renewed: " + renewed.error().message + "; joining with --token instead");
  }
  if (plan_.token.empty())
    co_return fail(Code::invalid,
                   known ? "--token: needed, because " + files_.path("node.crt") + " has expired"
                         : std::string("--token: needed to join"));
  co_return co_await join(key);
}

Task<Result<JoinOutcome>> JoinClient::renew(Membership membership, identity::PrivateKey key) {
  FL_CO_TRY(const std::string key_pem, key.pem());
  std::vector<runtime::Endpoint> servers = plan_.servers;
  for (const std::string& url : membership.servers)
    if (Result<client::ServerUrl> server = client::parse_server_url(url))
      if (std::ranges::find(servers, server->endpoint) == servers.end())
        servers.push_back(server->endpoint);
  Error last{Code::invalid, files_.path("servers") + " names no server; give --server"};
  for (const runtime::Endpoint& server : servers) {
    Attempt attempt{.server = server,
                    .token = {},
                    .identity = {.certificate_chain = membership.certificate.pem(),
                                 .private_key = key_pem,
                                 .trusted_ca = membership.ca}};
    Result<JoinOutcome> outcome = co_await post(std::move(attempt), key);
    if (outcome) co_return outcome;
    last = outcome.error().context(server.to_string());
    if (is_verdict(last)) break;
    tell_(last.message);
  }
  co_return fail(std::move(last));
}

Task<Result<JoinOutcome>> JoinClient::join(identity::PrivateKey key) {
  Result<identity::JoinToken> token = identity::JoinToken::parse(plan_.token);
  if (!token) co_return fail(std::move(token).error().context("--token"));
  if (token->ca_pin.empty())
    co_return fail(Code::invalid,
                   "--token: it does not name the cluster's authority (…@sha256:…); give the "
                   "whole line that `fairlead server token create` printed");
  if (plan_.servers.empty()) co_return fail(Code::invalid, "--server: at least one is needed");
  Error last;
  for (const runtime::Endpoint& server : plan_.servers) {
    Result<std::string> ca = co_await fetch_ca(server, token->ca_pin);
    if (ca) {
      Attempt attempt{
          .server = server, .token = plan_.token, .identity = {.trusted_ca = std::move(*ca)}};
      Result<JoinOutcome> outcome = co_await post(std::move(attempt), key);
      if (outcome) co_return outcome;
      last = outcome.error().context(server.to_string());
      if (is_verdict(last)) break;
    } else {
      last = ca.error().context(server.to_string());
    }
    if (&server != &plan_.servers.back()) tell_(last.message + "; trying the next server");
  }
  co_return fail(std::move(last));
}

// Nothing secret is said on this connection: whom it leads to is not known yet.
Task<Result<std::string>> JoinClient::fetch_ca(runtime::Endpoint server, std::string pin) {
  runtime::TlsCredentials anyone{.skip_verify = true};
  FL_CO_TRY(const std::string pem,
            co_await exchange(server, std::move(anyone), "GET", identity::kJoinCaPath, {}));
  co_return identity::check_ca(pem, pin);
}

Task<Result<JoinOutcome>> JoinClient::post(Attempt attempt, identity::PrivateKey key) {
  const identity::User user = identity::node_user(plan_.node);
  FL_CO_TRY(const identity::SigningRequest request,
            identity::SigningRequest::make(
                key, {.common_name = user.name, .organizations = user.groups}));
  const std::string body = identity::encode_join_request(
      {.token = attempt.token, .node = plan_.node, .signing_request = request.pem()});
  Result<std::string> answer;
  for (int tried = 1;; ++tried) {
    answer = co_await exchange(attempt.server, attempt.identity, "POST", identity::kJoinPath, body);
    if (answer || answer.error().code != Code::exhausted || tried == kBusyTries) break;
    FL_CO_CHECKED(co_await runtime::sleep(runtime_, kBusyPause));
  }
  if (!answer) co_return fail(std::move(answer).error());
  FL_CO_TRY(JoinResponse response, identity::decode_join_response(*answer));
  FL_CO_CHECKED(identity::check_join_response(response, key, plan_.node,
                                              attempt.identity.trusted_ca, runtime_.wall_now()));
  // The authority that was pinned, whatever the answer says.
  response.ca = attempt.identity.trusted_ca;
  const std::string url = "https://" + attempt.server.to_string();
  FL_CO_CHECKED(files_.write(response, key, preferred(url, response.servers)));
  FL_CO_TRY(const identity::Certificate certificate,
            identity::Certificate::parse_pem(response.certificate));
  co_return JoinOutcome{
      .kind = attempt.token.empty() ? JoinOutcome::Kind::renewed : JoinOutcome::Kind::joined,
      .node = plan_.node,
      .server = url,
      .valid_until = certificate.validity().not_after};
}

// The body of a 200; any other answer is an Error.
Task<Result<std::string>> JoinClient::exchange(runtime::Endpoint server,
                                               runtime::TlsCredentials tls, std::string method,
                                               std::string_view path, std::string body) {
  tls.server_name = server.host;
  tls.alpn = {"h2", "http/1.1"};
  http::ClientOptions options{.endpoints = {server}};
  options.tls = std::make_shared<identity::SwappableTls>(std::move(tls));
  options.response_bytes = 1 << 20;
  http::Client client(runtime_, std::move(options));
  http::Request request{.method = std::move(method),
                        .target = std::string(path),
                        .authority = server.to_string(),
                        .headers = {{"User-Agent", "fairlead-join"}}};
  if (!body.empty()) request.headers.add("Content-Type", "application/json");
  request.body = std::move(body);
  Task<Result<http::Response>> sending = client.send(std::move(request));
  Result<http::Response> response =
      co_await runtime::with_timeout(runtime_, kAnswerTime, std::move(sending));
  client.close();
  if (!response) co_return fail(std::move(response).error());
  std::string text = response->body_text();
  if (response->status == 200) co_return text;
  const Result<wire::ParsedJson> parsed = wire::parse_json(text);
  const Json status = parsed ? parsed->value : Json(JsonObject{{"message", text}});
  co_return fail(client::error_of_status(response->status, status));
}

}  // namespace fairlead::join
