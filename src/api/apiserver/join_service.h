// JoinService: the server's side of `fairlead join` (api/identity/join.h). Its paths need no
// credentials: the proof is in the request, a join token (api/identity/join_token_secret.h), or in
// the connection's certificate.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/apiserver/api_server.h"
#include "api/identity/authority.h"
#include "api/identity/join.h"
#include "foundation/http/token_bucket.h"

namespace fairlead::apiserver {

struct JoinOptions {
  // Token buckets, one for joins with a valid token and one, as large, for all attempts without;
  // so failed attempts never delay valid ones. Over the rate the answer is 429.
  double burst = 50;
  double per_second = 10;
};

class JoinService final : public PathHandler {
 public:
  struct Parts {
    runtime::Runtime& runtime;
    const resource::Catalog& catalog;
    watchcache::WatchCache& cache;
    ObjectWriter& writer;
    identity::Authority& authority;
    identity::Authenticator& authenticator;
  };
  explicit JoinService(Parts parts, JoinOptions options = {});

  // The servers' URLs that joining nodes get, in order of preference.
  void set_servers(std::vector<std::string> servers) { servers_ = std::move(servers); }

  bool serves(std::string_view path) const override;
  bool open_to_all() const override { return true; }
  Task<Result<>> serve(Request& request) override;

 private:
  struct Peer {
    identity::UserRef user;
    std::string key_pin;
  };
  Task<Peer> identify(const Request& request) const;
  std::vector<identity::JoinTokenRecord> find_token(const identity::JoinRequest& wanted) const;
  bool has_right_token(const Result<identity::JoinRequest>& wanted) const;
  Answer<Change> plan(const identity::JoinRequest& wanted, const Peer& peer, const Json* live,
                      std::optional<identity::JoinGrant>& grant) const;
  Task<Answer<identity::JoinResponse>> join(const identity::JoinRequest& wanted, const Peer& peer);

  Parts parts_;
  const resource::Kind& nodes_;
  const resource::Kind& secrets_;
  http::TokenBucket joins_;
  http::TokenBucket attempts_;
  std::vector<std::string> servers_;
};

}  // namespace fairlead::apiserver
