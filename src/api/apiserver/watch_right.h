// WatchRight: the right to an open watch. A watch lasts for up to an hour, and its user may lose
// the right meanwhile: a Node is deleted, a certificate expires, a token or a role is revoked, an
// object moves to another node. So authentication and authorisation are repeated while the
// watch is open.
//
// Kept small, because there are thousands of watches: it keeps only those parts of the request that
// the decision depends on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/apiserver/access.h"
#include "api/apiserver/request.h"
#include "foundation/http/message.h"

namespace fairlead::apiserver {

class WatchRight {
 public:
  // REQUIRES: the request was authorised. `access` outlives this.
  WatchRight(Access& access, const Request& request);
  WatchRight(const WatchRight&) = delete;
  WatchRight& operator=(const WatchRight&) = delete;

  // Checked before every write: false when a node's rights, which depend on the objects it has,
  // no longer cover the watch. Never waits.
  bool covers_what_is_there() const;

  // Authenticates and authorises once more. When another server must be asked and does not answer,
  // the last positive answer counts for a minute.
  Task<bool> holds(const runtime::PeerInfo& peer);

  // The node whose credentials were used; empty: not a node's.
  std::string_view node() const { return identity::node_of(*user_); }
  const identity::User& user() const { return *user_; }
  const resource::Kind& kind() const { return kind_; }

 private:
  identity::Attributes attributes(const identity::User& user) const;
  bool patience_left() const;

  Access& access_;
  identity::UserRef user_;
  const resource::Kind& kind_;
  std::string namespace_name_;
  std::string name_;
  apimachinery::FieldSelector selector_;
  std::vector<identity::FieldTerm> terms_;  // views into selector_
  http::Headers credentials_;
  Instant answered_;  // the last positive answer
};

}  // namespace fairlead::apiserver
