// One connection's bytes for HTTP/1.1: a read buffer that stays small while idle, and reads and
// writes that end by a deadline or on request without cancelling the fiber that awaits them.
//
// Used by both sides of HTTP/1.1. One reader and one writer at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "foundation/http/lazy_timer.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::http {

// Bytes received and not yet consumed, in one piece.
class ReadBuffer {
 public:
  std::string_view view() const { return {bytes_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  std::size_t size() const { return end_ - begin_; }
  // How much larger the buffer is than the minimum that every connection has.
  std::size_t extra_bytes() const { return capacity_ > kSmall ? capacity_ : 0; }
  void consume(std::size_t n) {
    begin_ += n;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  void append(std::string_view bytes);
  // Free room at the end; made by moving and growing when there is little.
  std::span<char> room();
  void filled(std::size_t n) { end_ += n; }
  // Gives a grown buffer back while nothing is in it.
  void shrink();

 private:
  static constexpr std::size_t kSmall = 2 << 10;
  static constexpr std::size_t kMedium = 16 << 10;
  static constexpr std::size_t kLarge = 64 << 10;
  void reallocate(std::size_t capacity);

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

class Http1Transport {
 public:
  Http1Transport(runtime::Runtime& runtime, runtime::Stream& stream);

  ReadBuffer& buffer() { return buffer_; }
  runtime::Runtime& runtime() { return runtime_; }
  runtime::Stream& stream() { return stream_; }

  // Reads more into the buffer: how much, 0 at the peer's end. Fails with timeout at the deadline
  // and with cancelled after interrupt_read(); the connection remains usable after both.
  Task<Result<std::size_t>> read_more(Instant deadline);
  void interrupt_read();
  bool reading() const { return reading_ != nullptr; }

  // All of it, in slices that must each be taken within `stall`. After a failure nothing can
  // follow.
  Task<Result<>> write(std::string_view bytes, Duration stall);
  void interrupt_write();

 private:
  runtime::Runtime& runtime_;
  runtime::Stream& stream_;
  ReadBuffer buffer_;
  runtime::Nested<Result<std::size_t>>* reading_ = nullptr;
  runtime::Nested<Result<>>* writing_ = nullptr;
  bool read_late_ = false;
  bool write_late_ = false;
  LazyTimer read_timer_;
  LazyTimer write_timer_;
};

}  // namespace fairlead::http
