// Heartbeats: which nodes have not been heard for too long. Pure.
//
// Only the local clock counts, from when this server heard of a renewal: clocks of nodes are never
// compared with it. And only time in which this server could hear: when it was stopped, or its
// store did not answer, nobody's silence means anything (start_over).
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

  // It renewed, or is first heard of.
  void heard(std::string_view node, Instant now);
  // Somebody else has found it silent: it is, until it is heard.
  void found_silent(std::string_view node);
  void forget(std::string_view node);
  void clear() { nodes_.clear(); }
  // Everybody's time begins anew, but for those that were found silent.
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
