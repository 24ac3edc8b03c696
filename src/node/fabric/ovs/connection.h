// A stream to a daemon of Open vSwitch with a reader and a writer of its own: what is sent is
// queued, what arrives is handed on as it comes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "foundation/base/result.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/scope.h"

namespace fairlead::fabric::ovs {

class Connection {
 public:
  // Called for each piece; a failure ends the connection.
  using Consume = std::function<Result<>(std::string_view)>;
  // Called once, when it has ended. It must not destroy the connection.
  using Ended = std::function<void(const Error&)>;

  Connection(runtime::Runtime& runtime, std::unique_ptr<runtime::Stream> stream, Consume consume,
             Ended ended);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void send(std::string_view bytes);
  void end(const Error& why);
  bool open() const { return open_; }

 private:
  Task<void> read();
  Task<void> write();

  std::unique_ptr<runtime::Stream> stream_;
  Consume consume_;
  Ended ended_;
  std::string outbox_;
  runtime::Signal to_write_;
  bool open_ = true;
  runtime::Scope scope_;  // last: its tasks use all of the above
};

}  // namespace fairlead::fabric::ovs
