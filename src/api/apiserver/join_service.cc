#include "api/apiserver/join_service.h"

#include <utility>

#include "foundation/base/encoding.h"
#include "foundation/base/log.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::refuse;
using identity::JoinGrant;
using identity::JoinRequest;
using identity::JoinResponse;
using identity::JoinTokenRecord;

constexpr std::size_t kMaxBody = 64 << 10;

// The same as everywhere, but a node is told what was wrong with its proof.
Status status_of(const Error& error) {
  if (error.code == Code::unauthorized) return apimachinery::unauthorized(error.message);
  return apimachinery::status_of(error);
}

std::optional<std::string> registration_of(const Json& node) {
  const Json* annotations = wire::find(node, "metadata.annotations");
  if (!annotations || !annotations->is_object()) return std::nullopt;
  const Json* pin = annotations->get_object().if_contains(identity::kRegistrationAnnotation);
  if (!pin || !pin->is_string() || pin->get_string().empty()) return std::nullopt;
  return std::string(pin->get_string());
}

Json registered(Json node, const JoinGrant& grant) {
  JsonObject& metadata = wire::member_object(node.get_object(), "metadata");
  metadata["name"] = grant.node;
  Json& annotations = metadata["annotations"];
  if (!annotations.is_object()) annotations = JsonObject();
  annotations.get_object()[identity::kRegistrationAnnotation] = grant.key_pin;
  return node;
}

}  // namespace

std::string join_token_secret_name(std::string_view id) { return "join-token-" + std::string(id); }

Json encode_join_token_secret(const JoinTokenRecord& record) {
  const std::string text = wire::encode_json(identity::encode_record(record));
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "Secret"},
                    {"metadata", JsonObject{{"name", join_token_secret_name(record.id)},
                                            {"namespace", kJoinTokenNamespace}}},
                    {"type", kJoinTokenType},
                    {"data", JsonObject{{"record", encode_base64(text)}}}};
}

Result<JoinTokenRecord> decode_join_token_secret(const Json& secret) {
  if (wire::find_string(secret, "type") != kJoinTokenType)
    return fail(Code::invalid, "the Secret is no join token");
  FL_TRY(const std::string text, decode_base64(wire::find_string(secret, "data.record")));
  FL_TRY(const wire::ParsedJson parsed, wire::parse_json(text));
  FL_TRY(JoinTokenRecord record, identity::decode_record(parsed.value));
  if (wire::find_string(secret, "metadata.name") != join_token_secret_name(record.id))
    return fail(Code::invalid, "the Secret's name is not that of its join token");
  return record;
}

JoinService::JoinService(Parts parts, JoinOptions options)
    : parts_(parts),
      nodes_(*parts.catalog.find("", "v1", "nodes")),
      secrets_(*parts.catalog.find("", "v1", "secrets")),
      joins_(options.burst, options.per_second, parts.runtime.now()),
      attempts_(options.burst, options.per_second, parts.runtime.now()) {}

bool JoinService::serves(std::string_view path) const {
  return path == identity::kJoinPath || path == identity::kJoinCaPath;
}

Task<Result<>> JoinService::serve(Request& request) {
  const http::Request& asked = request.exchange.request();
  const bool wants_ca = request.info.path == identity::kJoinCaPath;
  if (asked.method != (wants_ca ? "GET" : "POST")) {
    const Error wrong{Code::unsupported, "only GET is possible on " +
                                             std::string(identity::kJoinCaPath) + ", POST on " +
                                             std::string(identity::kJoinPath)};
    co_return co_await send_status(request, status_of(wrong));
  }
  if (wants_ca) co_return co_await send_text(request, 200, parts_.authority.ca_pem());
  if (asked.body.size() > kMaxBody)
    co_return co_await send_status(request, apimachinery::request_entity_too_large("64 KiB"));

  const Peer peer = co_await identify(request);
  request.user = peer.user;  // for the audit record
  const Result<JoinRequest> wanted = identity::decode_join_request(asked.body);
  // Neither a node's renewal nor a right token is ever held up by strangers who try things.
  http::TokenBucket& pace = has_right_token(wanted) ? joins_ : attempts_;
  if (!peer.user && !pace.take(parts_.runtime.now()))
    co_return co_await send_status(
        request, apimachinery::too_many_requests("too many nodes join at once, try again", 1));
  if (!wanted) co_return co_await send_status(request, status_of(wanted.error()));
  const Answer<JoinResponse> response = co_await join(*wanted, peer);
  if (!response) {
    log::warning("join refused", {{"node", wanted->node},
                                  {"from", request.exchange.peer().address},
                                  {"reason", response.error().message}});
    co_return co_await send_status(request, response.error());
  }
  std::vector<Bytes> body;
  body.emplace_back(identity::encode_join_response(*response));
  co_return co_await send_bytes(request, 200, kJsonType, std::move(body));
}

// The node that the connection's certificate proves; headers prove nothing here.
Task<JoinService::Peer> JoinService::identify(const Request& request) const {
  const runtime::PeerInfo& connection = request.exchange.peer();
  if (connection.certificate.empty()) co_return Peer{};
  const identity::AuthRequest question{
      .peer = &connection, .headers = {}, .now = parts_.runtime.wall_now()};
  const Result<identity::UserRef> user = co_await parts_.authenticator.authenticate(question);
  const Result<identity::Certificate> certificate =
      identity::Certificate::parse_pem(connection.certificate);
  if (!user || !*user || !certificate || identity::node_of(**user).empty()) co_return Peer{};
  co_return Peer{*user, certificate->key_pin()};
}

// As far as the cache knows; whether it opens something is decided later.
bool JoinService::has_right_token(const Result<JoinRequest>& wanted) const {
  if (!wanted) return false;
  const Result<identity::JoinToken> token = identity::JoinToken::parse(wanted->token);
  return token &&
         identity::check_join_token(find_token(*wanted), *token, parts_.runtime.wall_now());
}

// The record of the token's id, if there is one.
std::vector<JoinTokenRecord> JoinService::find_token(const JoinRequest& wanted) const {
  const Result<identity::JoinToken> token = identity::JoinToken::parse(wanted.token);
  if (!token) return {};
  const watchcache::ObjectRef secret = parts_.cache.of(secrets_).find(
      watchcache::object_key(secrets_, kJoinTokenNamespace, join_token_secret_name(token->id)));
  if (!secret) return {};
  Result<JoinTokenRecord> record = decode_join_token_secret(secret->decode());
  if (!record) {
    log::warning("join token not readable",
                 {{"secret", secret->name}, {"error", record.error().message}});
    return {};
  }
  return {std::move(*record)};
}

Answer<Change> JoinService::plan(const JoinRequest& wanted, const Peer& peer, const Json* live,
                                 std::optional<JoinGrant>& grant) const {
  const std::vector<JoinTokenRecord> tokens = find_token(wanted);
  identity::JoinFacts facts{.tokens = &tokens,
                            .peer = peer.user,
                            .peer_key_pin = peer.key_pin,
                            .registration = {},
                            .now = parts_.runtime.wall_now()};
  if (live) facts.registration = registration_of(*live);
  Result<JoinGrant> decided = identity::decide_join(wanted, facts);
  if (!decided) return refuse(status_of(decided.error()));
  grant = std::move(*decided);

  const WriteContext context{.kind = &nodes_,
                             .name = live ? grant->node : std::string(),
                             .options = {.field_manager = "fairlead-join"},
                             .now = parts_.runtime.wall_now(),
                             .random = [this] { return parts_.runtime.random(); }};
  if (!live) return plan_create(context, registered(JsonObject(), *grant));
  return plan_update(context, live, registered(*live, *grant));
}

Task<Answer<JoinResponse>> JoinService::join(const JoinRequest& wanted, const Peer& peer) {
  // A token deleted on another server opens nothing here.
  const Result<> fresh = co_await parts_.cache.fresh();
  if (!fresh) co_return refuse(status_of(fresh.error()));
  std::optional<JoinGrant> grant;
  WriteItem item{.kind = &nodes_, .name = wanted.node};
  item.plan = [&](const Json* live) { return plan(wanted, peer, live, grant); };
  const WriteResult<Written> written = co_await parts_.writer.write(std::move(item));
  if (!written) co_return refuse(written.error().status());
  // The node's first request must find the registration.
  const Result<> seen = co_await parts_.cache.fresh();
  if (!seen) co_return refuse(status_of(seen.error()));

  const Result<identity::Certificate> certificate =
      parts_.authority.sign_node(grant->request, grant->node, parts_.runtime.wall_now());
  if (!certificate) co_return refuse(status_of(certificate.error()));
  log::info(grant->token_id.empty() ? "node certificate renewed" : "node joined",
            {{"node", grant->node}, {"token", grant->token_id}, {"key", grant->key_pin}});
  co_return JoinResponse{.node = grant->node,
                         .certificate = certificate->pem(),
                         .ca = parts_.authority.ca_pem(),
                         .servers = servers_};
}

}  // namespace fairlead::apiserver
