#include "api/client/join_tokens.h"

#include <utility>

#include "api/identity/certificate.h"
#include "api/identity/join_token_secret.h"

namespace fairlead::client {
namespace {

const ResourceName kSecrets{"", "v1", "secrets", true};

// They are of no use to anybody.
Task<Result<>> remove_expired(RestClient& api) {
  const WallTime now = api.runtime().wall_now();
  FL_CO_TRY(const std::vector<identity::JoinTokenRecord> known, co_await list_join_tokens(api));
  for (const identity::JoinTokenRecord& record : known) {
    if (!record.expires || now < *record.expires) continue;
    const Result<> removed = co_await remove_join_token(api, record.id);
    if (!removed && removed.error().code != Code::not_found) co_return removed;
  }
  co_return Result<>{};
}

}  // namespace

Task<Result<std::vector<identity::JoinTokenRecord>>> list_join_tokens(RestClient& api) {
  const ListQuery query{.namespace_name = std::string(identity::kJoinTokenNamespace),
                        .field_selector = "type=" + std::string(identity::kJoinTokenType)};
  FL_CO_TRY(const ListResult listed, co_await api.list(kSecrets, query));
  std::vector<identity::JoinTokenRecord> records;
  for (const Json& secret : listed.items)
    if (Result<identity::JoinTokenRecord> record = identity::decode_join_token_secret(secret))
      records.push_back(std::move(*record));
  co_return records;
}

Task<Result<>> remove_join_token(RestClient& api, std::string id) {
  const Result<> removed = co_await api.remove(kSecrets, std::string(identity::kJoinTokenNamespace),
                                               identity::join_token_secret_name(id));
  if (!removed && removed.error().code == Code::not_found)
    co_return fail(Code::not_found, "there is no join token " + id);
  co_return removed;
}

Task<Result<identity::JoinToken>> create_join_token(RestClient& api, std::string ca,
                                                    NewJoinToken wanted) {
  FL_CO_TRY(const identity::Certificate authority, identity::Certificate::parse_pem(ca));
  FL_CO_CHECKED(co_await remove_expired(api));
  runtime::Runtime& runtime = api.runtime();
  identity::JoinToken token =
      identity::JoinToken::make([&runtime] { return runtime.random(); }, authority.key_pin());
  std::optional<WallTime> expires;
  if (wanted.life) expires = runtime.wall_now() + *wanted.life;
  identity::JoinTokenRecord record =
      identity::make_record(token, expires, std::move(wanted.description));
  record.node = std::move(wanted.node);
  record.replaces_nodes = wanted.replaces_nodes;
  Json secret = identity::encode_join_token_secret(record);
  FL_CO_CHECKED(
      co_await api.create(kSecrets, std::string(identity::kJoinTokenNamespace), std::move(secret)));
  co_return token;
}

}  // namespace fairlead::client
