// WatchRight: the right to an open watch. A watch lasts for an hour; who asked for it may lose the
// right meanwhile (a Node is deleted, a certificate expires, a token or a role is taken away, an
// attachment moves to another node). So it is asked again for as long as the watch is open.
//
// Kept small: there are thousands of watches. Of the request it keeps what the answer depends on.
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
  // Of a request that was admitted. `access` outlives it.
  WatchRight(Access& access, const Request& request);
  WatchRight(const WatchRight&) = delete;
  WatchRight& operator=(const WatchRight&) = delete;

  // Asked before every write: false when the rights of a node, which follow what runs on it, no
  // longer cover the watch. Never waits.
  bool covers_what_is_there() const;

  // Who asks and whether they may, all of it once more. Where somebody else must be asked and does
  // not answer, the last good answer counts for a minute.
  Task<bool> holds(const runtime::PeerInfo& peer);

  // The node whose credentials it was asked with; empty: not a node's.
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
  Instant answered_;  // when it was last said that it holds
};

}  // namespace fairlead::apiserver
