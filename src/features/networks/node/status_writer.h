// StatusWriter: writes the statuses of this node's attachments to the API. Those that wait while a
// write is under way go into one transaction; a refused transaction is retried in parts, so that
// one bad write does not hold up the others.
//
// The owner's callback decides what to write, at the moment of writing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/client/rest_client.h"
#include "api/control/work_queue.h"
#include "features/networks/node/attachment.h"
#include "features/networks/node/networks_metrics.h"
#include "foundation/runtime/runtime.h"
#include "foundation/wire/json.h"

namespace fairlead::networks {

struct StatusWrite {
  Attachment subject;
  Json patch;  // a merge patch of the status subresource
  StatusNews news;
};

class StatusWriter {
 public:
  // The write for that uid now; nullopt: its status is up to date.
  using Plan = std::function<std::optional<StatusWrite>(const std::string& uid)>;
  // The object as it was written.
  using Written = std::function<void(const Json& object)>;

  StatusWriter(runtime::Runtime& runtime, client::RestClient& client, NetworksMetrics& metrics,
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
  NetworksMetrics& metrics_;
  Plan plan_;
  Written written_;
  control::WorkQueue<std::string> queue_;
  Instant alone_until_{};  // the server refused transactions: statuses go one by one until then
};

}  // namespace fairlead::networks
