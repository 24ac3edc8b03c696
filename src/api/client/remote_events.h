// RemoteEvents: Events written through the API. An Event that this process has written before gets
// its count patched; another is created or, if an earlier process wrote it, counted on from there.
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
  std::map<std::string, std::int64_t> counts_;  // as last written, by "namespace/name"
};

}  // namespace fairlead::client
