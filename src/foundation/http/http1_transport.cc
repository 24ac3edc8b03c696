#include "foundation/http/http1_transport.h"

#include <algorithm>
#include <cstring>

namespace fairlead::http {

void ReadBuffer::reallocate(std::size_t capacity) {
  auto fresh = std::make_unique_for_overwrite<char[]>(capacity);
  const std::size_t held = size();
  if (held > 0) std::memcpy(fresh.get(), bytes_.get() + begin_, held);
  bytes_ = std::move(fresh);
  capacity_ = capacity;
  begin_ = 0;
  end_ = held;
}

std::span<char> ReadBuffer::room() {
  if (capacity_ == 0) reallocate(kSmall);
  if (end_ == capacity_ || (begin_ > 0 && capacity_ - end_ < kSmall / 2)) {
    const std::size_t held = size();
    if (held > 0 && begin_ > 0) std::memmove(bytes_.get(), bytes_.get() + begin_, held);
    begin_ = 0;
    end_ = held;
  }
  // A peer that fills the buffer is sending a lot, or has a long head: in few steps to the large
  // size.
  if (end_ == capacity_)
    reallocate(capacity_ < kMedium ? kMedium : std::max(kLarge, capacity_ * 2));
  return {bytes_.get() + end_, capacity_ - end_};
}

void ReadBuffer::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::span<char> free = room();
    const std::size_t n = std::min(free.size(), bytes.size());
    std::memcpy(free.data(), bytes.data(), n);
    filled(n);
    bytes.remove_prefix(n);
  }
}

void ReadBuffer::shrink() {
  if (empty() && capacity_ > kSmall) reallocate(kSmall);
}

Http1Transport::Http1Transport(runtime::Runtime& runtime, runtime::Stream& stream)
    : runtime_(runtime),
      stream_(stream),
      read_timer_(runtime,
                  [this] {
                    if (!reading_) return;
                    read_late_ = true;
                    reading_->cancel();
                  }),
      write_timer_(runtime, [this] {
        if (!writing_) return;
        write_late_ = true;
        writing_->cancel();
      }) {}

void Http1Transport::interrupt_read() {
  if (reading_) reading_->cancel();
}

void Http1Transport::interrupt_write() {
  if (writing_) writing_->cancel();
}

Task<Result<std::size_t>> Http1Transport::read_more(Instant deadline) {
  runtime::Nested<Result<std::size_t>> read(runtime_, stream_.read(buffer_.room()));
  read_late_ = false;
  if (deadline != Instant::max()) read_timer_.set(deadline);
  reading_ = &read;
  Result<std::size_t> got = co_await read;
  reading_ = nullptr;
  read_timer_.clear();
  if (got) {
    buffer_.filled(*got);
  } else if (read_late_) {
    co_return fail(Code::timeout, "peer sent nothing in time");
  }
  co_return got;
}

Task<Result<>> Http1Transport::write(std::string_view bytes, Duration stall) {
  constexpr std::size_t kSlice = 256 << 10;
  while (!bytes.empty()) {
    const std::string_view slice = bytes.substr(0, kSlice);
    runtime::Nested<Result<>> write(runtime_, stream_.write(slice));
    write_late_ = false;
    write_timer_.set(runtime_.now() + stall);
    writing_ = &write;
    Result<> written = co_await write;
    writing_ = nullptr;
    write_timer_.clear();
    if (!written) {
      if (write_late_) co_return fail(Code::timeout, "peer took no bytes in time");
      co_return written;
    }
    bytes.remove_prefix(slice.size());
  }
  co_return Result<>{};
}

}  // namespace fairlead::http
