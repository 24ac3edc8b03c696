// Heartbeats: which nodes have not renewed their lease for too long. Pure.
//
// Time is measured by the local clock, from when this server saw a renewal; clocks of nodes are
// never compared with it. Only time in which this server could see renewals counts: after it was
// stopped, or its store did not answer, it starts over (start_over).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/runtime/time.h"

namespace fairlead::controllers {

class Heartbeats {
 public:
  explicit Heartbeats(Duration grace) : grace_(grace) {}

  // The node renewed its lease, or is seen for the first time.
  void heard(std::string_view node, Instant now);
  // Another server has marked it silent: it is, until it renews.
  void found_silent(std::string_view node);
  void forget(std::string_view node);
  void clear() { nodes_.clear(); }
  // The time of every node begins anew, except of those already marked silent.
  void start_over(Instant now);

  bool known(std::string_view node) const { return nodes_.contains(node); }
  bool silent(std::string_view node, Instant now) const;
  std::vector<std::string> silent(Instant now) const;

 private:
  struct Node {
    Instant heard;
    bool found_silent = false;
  };
  bool silent(const Node& node, Instant now) const {
    return node.found_silent || now - node.heard >= grace_;
  }

  Duration grace_;
  std::map<std::string, Node, std::less<>> nodes_;
};

}  // namespace fairlead::controllers
