#include "api/identity/join.h"

#include <utility>

#include "foundation/wire/json.h"

namespace fairlead::identity {
namespace {

constexpr std::size_t kMaxRequestBytes = 64 << 10;
constexpr std::size_t kMaxResponseBytes = 1 << 20;
constexpr std::size_t kMaxServers = 1'000;

// The members of a message, all texts. Unknown members are left alone, so that newer nodes and
// older servers understand each other.
Result<JsonObject> decode_message(std::string_view body, std::size_t limit) {
  Result<wire::ParsedJson> parsed = wire::parse_json(body, {.max_depth = 8, .max_bytes = limit});
  if (!parsed) return fail(parsed.error());
  if (!parsed->value.is_object()) return fail(Code::invalid, "expected an object");
  return std::move(parsed->value.get_object());
}

Result<std::string> text_member(const JsonObject& object, std::string_view name, bool required) {
  const Json* value = object.if_contains(name);
  if (!value) {
    if (required) return fail(Code::invalid, std::string(name) + " is missing");
    return std::string();
  }
  if (!value->is_string()) return fail(Code::invalid, std::string(name) + " must be a string");
  return std::string(value->get_string().data(), value->get_string().size());
}

// The proof of a new node: a join token that fits, and a name that is free for this key.
Result<std::string> decide_new_node(const JoinRequest& request, const std::string& key_pin,
                                    const JoinFacts& facts) {
  const Result<JoinToken> token = JoinToken::parse(request.token);
  if (!token) return fail(Code::unauthorized, "join token is malformed");
  if (!facts.tokens) return fail(Code::unauthorized, "this server accepts no join tokens");
  FL_TRY(const JoinTokenRecord* record, check_join_token(*facts.tokens, *token, facts.now));
  if (!record->node.empty() && record->node != request.node)
    return fail(Code::forbidden, "join token " + record->id + " is for another node");
  const bool free = !facts.registration || *facts.registration == key_pin;
  if (!free && !record->replaces_nodes)
    return fail(Code::forbidden,
                "node " + request.node +
                    " is registered with another key; delete the Node first, or use "
                    "a token that may replace nodes");
  return record->id;
}

// The proof of a renewal: the connection's certificate is this node's and still the registered one.
Result<> decide_renewal(const JoinRequest& request, const JoinFacts& facts) {
  if (!facts.peer)
    return fail(Code::unauthorized, "a join token or the node's certificate is needed");
  if (node_of(*facts.peer) != request.node)
    return fail(Code::forbidden, "the certificate is not that of node " + request.node);
  if (!facts.registration)
    return fail(Code::forbidden, "node " + request.node + " is not registered any more");
  if (*facts.registration != facts.peer_key_pin)
    return fail(Code::forbidden, "node " + request.node + " is registered with another key");
  return {};
}

}  // namespace

std::string encode_join_request(const JoinRequest& request) {
  JsonObject object;
  if (!request.token.empty()) object["token"] = request.token;
  object["node"] = request.node;
  object["signingRequest"] = request.signing_request;
  return wire::encode_json(object);
}

Result<JoinRequest> decode_join_request(std::string_view body) {
  FL_TRY(const JsonObject object, decode_message(body, kMaxRequestBytes));
  JoinRequest request;
  FL_TRY(request.token, text_member(object, "token", false));
  FL_TRY(request.node, text_member(object, "node", true));
  FL_TRY(request.signing_request, text_member(object, "signingRequest", true));
  return request;
}

std::string encode_join_response(const JoinResponse& response) {
  JsonObject object;
  object["node"] = response.node;
  object["certificate"] = response.certificate;
  object["ca"] = response.ca;
  JsonArray servers;
  for (const std::string& server : response.servers) servers.emplace_back(server);
  object["servers"] = std::move(servers);
  return wire::encode_json(object);
}

Result<JoinResponse> decode_join_response(std::string_view body) {
  FL_TRY(const JsonObject object, decode_message(body, kMaxResponseBytes));
  JoinResponse response;
  FL_TRY(response.node, text_member(object, "node", true));
  FL_TRY(response.certificate, text_member(object, "certificate", true));
  FL_TRY(response.ca, text_member(object, "ca", true));
  const Json* servers = object.if_contains("servers");
  if (!servers || !servers->is_array() || servers->get_array().size() > kMaxServers)
    return fail(Code::invalid, "servers must be a list");
  for (const Json& server : servers->get_array()) {
    if (!server.is_string()) return fail(Code::invalid, "servers must be strings");
    response.servers.emplace_back(server.get_string().data(), server.get_string().size());
  }
  return response;
}

Result<JoinGrant> decide_join(const JoinRequest& request, const JoinFacts& facts) {
  if (!is_node_name(request.node)) return fail(Code::invalid, "node is not a valid node name");
  FL_TRY(SigningRequest signing, SigningRequest::parse_pem(request.signing_request));
  JoinGrant grant{
      .node = request.node, .key_pin = signing.key_pin(), .token_id = {}, .request = {}};
  if (request.token.empty()) {
    FL_CHECKED(decide_renewal(request, facts));
  } else {
    FL_TRY(grant.token_id, decide_new_node(request, grant.key_pin, facts));
  }
  grant.request = std::move(signing);
  return grant;
}

Result<std::string> check_ca(std::string_view pem, const std::string& pin) {
  FL_TRY(const std::vector<Certificate> offered, Certificate::parse_bundle(pem));
  std::string trusted;
  for (const Certificate& certificate : offered)
    if (certificate.is_authority() && certificate.key_pin() == pin) trusted += certificate.pem();
  if (trusted.empty())
    return fail(Code::unauthorized,
                "the server's authority is not the one the join token names: wrong server, or "
                "someone in between");
  return trusted;
}

Result<> check_join_response(const JoinResponse& response, const PrivateKey& key,
                             std::string_view node, std::string_view trusted_ca, WallTime now) {
  FL_TRY(const Certificate certificate, Certificate::parse_pem(response.certificate));
  FL_TRY(const TrustStore trust, TrustStore::parse_pem(trusted_ca));
  FL_CHECKED(trust.verify(certificate, Purpose::client, now));
  if (!key.matches(certificate))
    return fail(Code::unauthorized, "the certificate received is for another key");
  const User user{certificate.subject().common_name, {}, certificate.subject().organizations, {}};
  if (node_of(user) != node)
    return fail(Code::unauthorized, "the certificate received is for another node");
  return {};
}

}  // namespace fairlead::identity
