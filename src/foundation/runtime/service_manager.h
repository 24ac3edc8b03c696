// ServiceManager: tells the service manager that started this process how it is, as sd_notify(3)
// does: a datagram to the unix socket that NOTIFY_SOCKET names.
#pragma once

#include <string>
#include <string_view>

#include "foundation/base/result.h"

namespace fairlead::runtime {

class ServiceManager {
 public:
  // Of this process. Without NOTIFY_SOCKET nobody is told anything.
  static ServiceManager from_environment();
  // A path, or "@name" for an abstract socket; empty: nobody.
  explicit ServiceManager(std::string socket) : socket_(std::move(socket)) {}

  bool present() const { return !socket_.empty(); }

  // "READY=1\nSTATUS=serving". Does not wait: a manager that does not listen is not told.
  Result<> tell(std::string_view state) const;

  Result<> ready(std::string_view status) const;
  Result<> stopping(std::string_view status) const;

 private:
  std::string socket_;
};

}  // namespace fairlead::runtime
