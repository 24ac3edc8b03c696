#include "api/identity/authenticator.h"

#include <algorithm>
#include <utility>

#include "api/identity/header_text.h"

namespace fairlead::identity {

std::string_view AuthRequest::header(std::string_view name) const {
  for (const auto& [field, value] : headers)
    if (same_header(field, name)) return value;
  return {};
}

Task<Result<UserRef>> Authenticator::authenticate(const AuthRequest& request) {
  std::optional<Result<UserRef>> outcome = authenticate_now(request);
  if (outcome) co_return std::move(*outcome);
  co_return fail(Code::internal, "authenticator gave no answer");
}

const CertificateCache::Entry* CertificateCache::find(const Digest& key, WallTime now) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  const Validity& holds = found->second.holds;
  return holds.not_before <= now && now < holds.not_after ? &found->second : nullptr;
}

Validity CertificateCache::accepted(const Certificate& certificate, WallTime now) {
  return {now, std::min(certificate.validity().not_after, now + 1h)};
}

Validity CertificateCache::refused(WallTime now) { return {now, now + 1min}; }

const CertificateCache::Entry& CertificateCache::insert(const Digest& key, Entry entry) {
  if (entries_.size() >= limit_) entries_.clear();
  return entries_.insert_or_assign(key, std::move(entry)).first->second;
}

User with_authenticated_group(User user) {
  const bool anonymous = user.name == kAnonymousUser || user.in_group(kUnauthenticatedGroup);
  if (!anonymous && !user.in_group(kAuthenticatedGroup))
    user.groups.emplace_back(kAuthenticatedGroup);
  return user;
}

// --- certificates
// ------------------------------------------------------------------------------------

X509Authenticator::X509Authenticator(TrustStore trust, NodeRegistered node_registered)
    : trust_(std::move(trust)), node_registered_(std::move(node_registered)) {}

void X509Authenticator::set_trust(TrustStore trust) {
  trust_ = std::move(trust);
  cache_.clear();
}

CertificateCache::Entry X509Authenticator::judge(const std::string& pem, WallTime now) const {
  const auto refused = [now](std::string reason) {
    return CertificateCache::Entry{
        CertificateCache::refused(now), fail(Code::unauthorized, std::move(reason)), {}};
  };
  const Result<Certificate> certificate = Certificate::parse_pem(pem);
  if (!certificate) return refused(certificate.error().message);
  const Result<> verified = trust_.verify(*certificate, Purpose::client, now);
  if (!verified) return refused(verified.error().message);
  if (certificate->subject().common_name.empty()) return refused("certificate: it names no user");
  User user{certificate->subject().common_name, {}, certificate->subject().organizations, {}};
  return {CertificateCache::accepted(*certificate, now),
          std::make_shared<const User>(with_authenticated_group(std::move(user))),
          certificate->key_pin()};
}

std::optional<Result<UserRef>> X509Authenticator::authenticate_now(const AuthRequest& request) {
  if (!request.peer || request.peer->certificate.empty()) return UserRef();
  const std::string& pem = request.peer->certificate;
  const CertificateCache::Entry& entry =
      cache_.find_or(pem, request.now, [&] { return judge(pem, request.now); });
  if (!entry.outcome || !node_registered_) return entry.outcome;
  const std::string_view node = node_of(**entry.outcome);
  if (!node.empty() && !node_registered_(node, entry.key_pin))
    return fail(Code::unauthorized, "certificate: the node is not registered with it");
  return entry.outcome;
}

// --- tokens
// ------------------------------------------------------------------------------------------

TokenAuthenticator::TokenAuthenticator(TokenTable table, std::string node_token_key)
    : table_(std::move(table)), node_token_key_(std::move(node_token_key)) {}

UserRef TokenAuthenticator::node_named(const std::string& node) {
  UserRef& user = node_users_[node];
  if (!user) user = std::make_shared<const User>(node_user(node));
  return user;
}

std::optional<Result<UserRef>> TokenAuthenticator::authenticate_now(const AuthRequest& request) {
  // Two of them leave open which one counts, here and wherever the request came through.
  const auto is_credential = [](const auto& field) {
    return same_header(field.first, "authorization");
  };
  if (std::ranges::count_if(request.headers, is_credential) > 1)
    return fail(Code::unauthorized, "more than one Authorization header");
  const std::optional<std::string_view> token = bearer_token(request.header("authorization"));
  if (!token) return UserRef();
  if (UserRef user = table_.find(*token)) return user;
  if (!node_token_key_.empty() && looks_like_node_token(*token)) {
    const Result<std::string> node = check_node_token(node_token_key_, *token, request.now);
    if (!node) return fail(node.error());
    return node_named(*node);
  }
  if (!last_) return UserRef();
  return fail(Code::unauthorized, "bearer token is not known");
}

bool TokenAuthenticator::looks_at(std::string_view header) const {
  return same_header(header, "authorization");
}

// --- union

UnionAuthenticator::UnionAuthenticator(std::vector<std::shared_ptr<Authenticator>> members,
                                       bool allow_anonymous)
    : members_(std::move(members)), allow_anonymous_(allow_anonymous) {}

Result<UserRef> UnionAuthenticator::without_user(std::optional<Error> wrong) const {
  if (wrong) return fail(std::move(*wrong));
  if (!allow_anonymous_) return fail(Code::unauthorized, "no credentials were given");
  return anonymous_user();
}

std::optional<Result<UserRef>> UnionAuthenticator::authenticate_now(const AuthRequest& request) {
  std::optional<Error> wrong;
  for (const auto& member : members_) {
    std::optional<Result<UserRef>> outcome = member->authenticate_now(request);
    if (!outcome) return std::nullopt;
    if (outcome->has_value() && **outcome) return outcome;
    if (!outcome->has_value() && !wrong) wrong = std::move(outcome->error());
  }
  return without_user(std::move(wrong));
}

Task<Result<UserRef>> UnionAuthenticator::authenticate(const AuthRequest& request) {
  std::optional<Error> wrong;
  for (const auto& member : members_) {
    std::optional<Result<UserRef>> outcome = member->authenticate_now(request);
    if (!outcome) {
      Task<Result<UserRef>> asking = member->authenticate(request);
      outcome.emplace(co_await asking);
    }
    if (outcome->has_value() && **outcome) co_return std::move(*outcome);
    if (!outcome->has_value() && !wrong) wrong = std::move(outcome->error());
  }
  co_return without_user(std::move(wrong));
}

bool UnionAuthenticator::looks_at(std::string_view header) const {
  return std::ranges::any_of(members_,
                             [header](const auto& member) { return member->looks_at(header); });
}

}  // namespace fairlead::identity
