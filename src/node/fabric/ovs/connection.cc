#include "node/fabric/ovs/connection.h"

#include <array>

namespace fairlead::fabric::ovs {

Connection::Connection(runtime::Runtime& runtime, std::unique_ptr<runtime::Stream> stream,
                       Consume consume, Ended ended)
    : stream_(std::move(stream)),
      consume_(std::move(consume)),
      ended_(std::move(ended)),
      scope_(runtime) {
  scope_.spawn(read());
  scope_.spawn(write());
}

void Connection::send(std::string_view bytes) {
  outbox_ += bytes;
  to_write_.notify();
}

void Connection::end(const Error& why) {
  if (!std::exchange(open_, false)) return;
  stream_->close();
  to_write_.notify();
  ended_(why);
}

Task<void> Connection::read() {
  std::array<char, 16384> buffer;
  while (open_) {
    const Result<std::size_t> count = co_await stream_->read(buffer);
    if (!count) {
      if (count.error().code != Code::cancelled) end(count.error());
      co_return;
    }
    if (*count == 0) {
      end({Code::unavailable, "closed by the other side"});
      co_return;
    }
    const Result<> consumed = consume_({buffer.data(), *count});
    if (!consumed) end(consumed.error());
  }
}

Task<void> Connection::write() {
  while (open_) {
    if (outbox_.empty()) {
      const Result<> woken = co_await to_write_.wait();
      if (!woken) co_return;
      continue;
    }
    const std::string bytes = std::exchange(outbox_, {});
    const Result<> written = co_await stream_->write(bytes);
    if (!written) {
      if (written.error().code != Code::cancelled) end(written.error());
      co_return;
    }
  }
}

}  // namespace fairlead::fabric::ovs
