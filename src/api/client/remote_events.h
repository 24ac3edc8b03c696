// RemoteEvents: Events written through the API. What this process has written is counted up by a
// patch; what it has not is made, and if it was there already (told by an earlier process) counted
// on from what it says.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "api/client/event_recorder.h"
#include "api/client/rest_client.h"

namespace fairlead::client {

class RemoteEvents final : public EventSink {
 public:
  explicit RemoteEvents(RestClient& client) : client_(client) {}
  Task<Result<>> write(EventWrite event) override;

 private:
  Task<Result<Json>> make(EventWrite event);
  Task<Result<Json>> count_up(EventWrite event, std::int64_t before);

  RestClient& client_;
  std::map<std::string, std::int64_t> counts_;  // as written last, by "namespace/name"
};

}  // namespace fairlead::client
