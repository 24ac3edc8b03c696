// RemoteEvents: Events written through the API. An Event that this process has written before gets
// its count patched; another is created or, if an earlier process wrote it, counted on from there.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "api/client/rest_client.h"
#include "api/control/event_recorder.h"

namespace fairlead::client {

class RemoteEvents final : public control::EventSink {
 public:
  explicit RemoteEvents(RestClient& client) : client_(client) {}
  Task<Result<>> write(control::EventWrite event) override;

 private:
  Task<Result<Json>> make(control::EventWrite event);
  Task<Result<Json>> count_up(control::EventWrite event, std::int64_t before);

  RestClient& client_;
  std::map<std::string, std::int64_t> counts_;  // as last written, by "namespace/name"
};

}  // namespace fairlead::client
