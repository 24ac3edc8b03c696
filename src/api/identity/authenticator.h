// Authenticator: from the facts of a request to a User.
//
// The API server asks one Authenticator (a UnionAuthenticator) for every request. The usual answers
// come from authenticate_now(), without a coroutine frame or an allocation; an authenticator that
// has to ask someone (TokenReview) returns nullopt there and answers in authenticate().
//
// All of it runs on one loop. A Result's three outcomes:
//   a User       — proven
//   a null User  — this request carries no credentials of my kind
//   unauthorized — it does, and they are wrong (the server answers 401)
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/identity/certificate.h"
#include "api/identity/token.h"
#include "api/identity/user.h"
#include "foundation/base/result.h"
#include "foundation/runtime/stream.h"
#include "foundation/runtime/task.h"
#include "foundation/runtime/time.h"

namespace fairlead::identity {

// Header fields as they came: std::span(headers.begin(), headers.end()) of an http::Headers.
using HeaderFields = std::span<const std::pair<std::string, std::string>>;

// REQUIRES: what it refers to outlives the call, and the task if there is one.
struct AuthRequest {
  const runtime::PeerInfo* peer = nullptr;
  HeaderFields headers;
  WallTime now;

  // The first field of that name without regard to case; empty when absent.
  std::string_view header(std::string_view name) const;
};

class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // nullopt: ask authenticate().
  virtual std::optional<Result<UserRef>> authenticate_now(const AuthRequest& request) = 0;
  virtual Task<Result<UserRef>> authenticate(const AuthRequest& request);
  // Whether the outcome may depend on a header of that name: what a server keeps of a request whose
  // sender it will ask about again.
  virtual bool looks_at(std::string_view header) const {
    (void)header;
    return false;
  }
};

// Judged client certificates: verification happens once per certificate, not per request. Keyed by
// a digest, so that its size does not depend on what strangers present; when full it forgets
// everything, which costs one verification each.
class CertificateCache {
 public:
  explicit CertificateCache(std::size_t limit = 20'000) : limit_(limit) {}
  struct Entry {
    Validity holds;  // outside it the certificate is judged anew
    Result<UserRef> outcome;
    std::string key_pin;
  };
  // How long a judgement holds: a good one for at most an hour and never beyond the certificate's
  // own life, so that the end of an authority is noticed; a bad one for a minute.
  static Validity accepted(const Certificate& certificate, WallTime now);
  static Validity refused(WallTime now);

  // The entry for `pem`, if it holds at `now`; else what `judge` says, which is kept.
  template <class Judge>
  const Entry& find_or(const std::string& pem, WallTime now, Judge judge) {
    const Digest key = sha256(pem);
    if (const Entry* known = find(key, now)) return *known;
    return insert(key, judge());
  }
  void clear() { entries_.clear(); }
  std::size_t size() const { return entries_.size(); }

 private:
  const Entry* find(const Digest& key, WallTime now) const;
  const Entry& insert(const Digest& key, Entry entry);
  std::size_t limit_;
  std::unordered_map<Digest, Entry, DigestHash> entries_;
};

// CN = user, O = groups, signed by the cluster's own authority or a further client authority. A
// certificate from someone else is `unauthorized`, one without the client purpose too.
class X509Authenticator final : public Authenticator {
 public:
  // Whether the node's registration still names this key (Certificate::key_pin()): removing the
  // Node thereby revokes its certificate. Asked on every request of a node; null: not asked.
  using NodeRegistered = std::function<bool(std::string_view node, std::string_view key_pin)>;

  explicit X509Authenticator(TrustStore trust, NodeRegistered node_registered = nullptr);
  void set_trust(TrustStore trust);  // after a rotation; forgets what was verified
  std::optional<Result<UserRef>> authenticate_now(const AuthRequest& request) override;

 private:
  CertificateCache::Entry judge(const std::string& pem, WallTime now) const;
  TrustStore trust_;
  NodeRegistered node_registered_;
  CertificateCache cache_;
};

// Bearer tokens from a table, and tokens bound to nodes if a key is given.
class TokenAuthenticator final : public Authenticator {
 public:
  explicit TokenAuthenticator(TokenTable table, std::string node_token_key = {});
  void set_table(TokenTable table) { table_ = std::move(table); }
  // With `last` (the default) an unknown bearer token is `unauthorized`; without it is left for the
  // next authenticator (TokenReview).
  void set_last(bool last) { last_ = last; }
  std::optional<Result<UserRef>> authenticate_now(const AuthRequest& request) override;
  bool looks_at(std::string_view header) const override;

 private:
  TokenTable table_;
  UserRef node_named(const std::string& node);
  std::string node_token_key_;
  std::unordered_map<std::string, UserRef> node_users_;  // of nodes that proved themselves
  bool last_ = true;
};

// How an aggregator in front vouches for its users
// (kube-system/extension-apiserver-authentication).
struct RequestHeaderOptions {
  TrustStore trust;                        // requestheader-client-ca-file
  std::vector<std::string> allowed_names;  // of the proxy's certificate; empty: any
  std::vector<std::string> username_headers = {"X-Remote-User"};
  std::vector<std::string> group_headers = {"X-Remote-Group"};
  std::vector<std::string> uid_headers = {"X-Remote-Uid"};
  std::vector<std::string> extra_prefixes = {"X-Remote-Extra-"};
};
// From the `data` of that ConfigMap. Absent keys keep the defaults, but without
// requestheader-uid-headers no header gives a uid; `client_ca` gets client-ca-file.
struct AggregatorAuthentication {
  RequestHeaderOptions request_header;
  std::string client_ca;  // PEM, may be empty
};
Result<AggregatorAuthentication> decode_aggregator_authentication(const Json& data);

// Believes the headers only of a peer whose certificate chains to the request-header authority and
// is on the list. Anyone else's headers count as absent.
class RequestHeaderAuthenticator final : public Authenticator {
 public:
  explicit RequestHeaderAuthenticator(RequestHeaderOptions options);
  void set_options(RequestHeaderOptions options);
  std::optional<Result<UserRef>> authenticate_now(const AuthRequest& request) override;
  bool looks_at(std::string_view header) const override;

 private:
  CertificateCache::Entry judge(const std::string& pem, WallTime now) const;
  RequestHeaderOptions options_;
  CertificateCache cache_;
};

// Asks its members in order (request headers, certificates, tokens, review; anonymous last): the
// first User wins; if none is proven but some credentials were wrong, `unauthorized` — wrong
// credentials never become anonymous. Every proven user gets the group system:authenticated.
class UnionAuthenticator final : public Authenticator {
 public:
  explicit UnionAuthenticator(std::vector<std::shared_ptr<Authenticator>> members,
                              bool allow_anonymous);
  std::optional<Result<UserRef>> authenticate_now(const AuthRequest& request) override;
  Task<Result<UserRef>> authenticate(const AuthRequest& request) override;
  bool looks_at(std::string_view header) const override;

 private:
  Result<UserRef> without_user(std::optional<Error> wrong) const;
  std::vector<std::shared_ptr<Authenticator>> members_;
  bool allow_anonymous_;
};

// `user` with system:authenticated among its groups (the same object if it is there already or the
// user is anonymous). Members call it when they make a User, so that it costs nothing per request.
User with_authenticated_group(User user);

}  // namespace fairlead::identity
