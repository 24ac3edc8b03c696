// EngineClient: the agent's side of the engine's unix socket (engine_service.h). Each call fails
// with unavailable while there is no engine, and with what the engine answered otherwise.
#pragma once

#include <string>

#include "features/vip/control/messages.h"
#include "foundation/http/client.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

class EngineClient {
 public:
  EngineClient(runtime::Runtime& runtime, const std::string& state);

  Task<Result<>> order(const Order& order);
  // Waits while the report has the version `after`, for a second.
  Task<Result<Report>> report(std::int64_t after);
  Task<Result<>> wish(const WishOrder& wish);
  // Takes two seconds.
  Task<Result<std::string>> measure();

 private:
  Task<Result<std::string>> ask(std::string method, std::string target, std::string body,
                                Duration patience);

  runtime::Runtime& runtime_;
  http::Client http_;
};

}  // namespace fairlead::vip
