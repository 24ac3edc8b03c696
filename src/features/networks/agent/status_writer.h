// StatusWriter: carries the statuses of this node's attachments to the API. What waits while a
// write is under way goes together, in one transaction; a transaction that is refused is tried
// again in pieces, so that one bad case holds up nobody.
//
// What to write is decided by whoever made it, at the moment of writing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/client/rest_client.h"
#include "api/client/work_queue.h"
#include "features/networks/agent/agent_metrics.h"
#include "features/networks/agent/attachment.h"
#include "foundation/runtime/runtime.h"
#include "foundation/wire/json.h"

namespace fairlead::agent {

struct StatusWrite {
  Attachment subject;
  Json patch;  // a merge patch of the status subresource
  StatusNews news;
};

class StatusWriter {
 public:
  // What there is to write about that uid now; nothing: nothing.
  using Plan = std::function<std::optional<StatusWrite>(const std::string& uid)>;
  // The object as it was written.
  using Written = std::function<void(const Json& object)>;

  StatusWriter(runtime::Runtime& runtime, client::RestClient& client, AgentMetrics& metrics,
               Plan plan, Written written);

  // The status of `uid` may have to be written.
  void add(const std::string& uid) { queue_.add(uid); }

  // Until cancelled.
  Task<void> run();

 private:
  struct Item {
    std::string uid;
    StatusWrite write;
  };
  Task<void> work();
  Task<void> write_all(std::vector<Item> items);
  Task<Result<Json>> write_together(const std::vector<Item>& items);
  Task<void> write_alone(Item item);
  void finish(const Item& item, const Result<>& outcome, std::string_view told, Instant start);

  runtime::Runtime& runtime_;
  client::RestClient& client_;
  AgentMetrics& metrics_;
  Plan plan_;
  Written written_;
  client::WorkQueue<std::string> queue_;
  Instant alone_until_{};  // the server has no transactions for us: not before then
};

}  // namespace fairlead::agent
