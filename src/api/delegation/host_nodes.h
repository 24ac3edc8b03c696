// HostNodes: forgets a node here when the host cluster deletes it.
//
// What a standalone server keeps about a node is owned by its Node and deleted with it. Behind a
// host cluster the Nodes are the host's: a watch follows them, and `forget` is called for a deleted
// one, after the host was asked whether that node is really gone (it may have registered again).
// Nodes that were deleted while there was no watch are found in the next list, unless the host has
// none of the nodes known here: then it is another cluster.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "api/client/reflector.h"
#include "api/client/rest_client.h"
#include "api/control/work_queue.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::delegation {

class HostNodes final : private client::ObjectSink {
 public:
  HostNodes(runtime::Runtime& runtime, client::RestClient& host);

  // `known`: the nodes that something here belongs to. `forget`: this one is gone; called again
  // after a failure.
  using Known = std::function<std::vector<std::string>()>;
  using Forget = std::function<Task<Result<>>(std::string node)>;
  void serve(Known known, Forget forget);
  bool serves() const { return known_ != nullptr; }

  // Follows the host's nodes until cancelled; REQUIRES: serve() was called.
  Task<void> run();

  std::size_t count() const { return names_.size(); }

 private:
  void replace(std::vector<Json> objects, const std::string& version) override;
  void put(const Json& object) override;
  void erase(const Json& last_state) override;
  Task<Result<>> forget_if_gone(std::string name);

  runtime::Runtime& runtime_;
  client::RestClient& host_;
  Known known_;
  Forget forget_;
  std::set<std::string, std::less<>> names_;
  control::WorkQueue<std::string> missing_;
  client::Reflector reflector_;
};

}  // namespace fairlead::delegation
