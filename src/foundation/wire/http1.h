// The HTTP/1.1 message format (RFC 9112), both directions, as a pure and strict codec.
//
// Used by foundation/http/http1_server and foundation/http/http1_client, which own buffers and
// sockets; nothing here copies a message or waits. Reading a message takes three steps:
//   1. HeadScanner finds the end of the head in a buffer that grows at its end;
//   2. parse_request_head / parse_response_head turn the head into views of that buffer;
//   3. BodyDecoder walks the bytes that follow, handing out views of the payload.
//
// Strict means: two readers of the same bytes can never disagree about where a message ends. Bare
// CR or LF, folded lines, white space before a colon, both or several of Content-Length and
// Transfer-Encoding, and every character outside the grammar are refused. How the bytes were cut
// into reads never changes the outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fairlead::wire::http1 {

struct Field {
  std::string_view name;
  std::string_view value;  // without white space around it
};

// Why a message is refused, as the status a server answers with. `reason` is a literal.
struct Rejection {
  int status = 400;
  std::string_view reason;
  bool operator==(const Rejection&) const = default;
};

struct HeadLimits {
  std::size_t bytes = 64 << 10;
  std::size_t fields = 200;
};

enum class Framing { none, length, chunked, until_close };

struct RequestHead {
  std::string_view method;
  std::string_view target;     // origin form, or "*"
  std::string_view authority;  // from an absolute target if it had one, else from Host
  int minor_version = 1;
  std::vector<Field> fields;
  Framing framing = Framing::none;
  std::uint64_t content_length = 0;
  bool keep_alive = true;
  bool expect_continue = false;
};

struct ResponseHead {
  int status = 200;
  int minor_version = 1;
  std::vector<Field> fields;
  Framing framing = Framing::none;
  std::uint64_t content_length = 0;
  bool keep_alive = true;
};

// Looks for the blank line that ends a head. The buffer must begin at the same message in every
// call and only grow until complete; then reset() for the next message.
class HeadScanner {
 public:
  enum class Outcome { need_more, complete, rejected };

  explicit HeadScanner(std::size_t byte_limit = HeadLimits{}.bytes) : limit_(byte_limit) {}

  Outcome scan(std::string_view buffer);
  // After complete: where the head begins (a single blank line before it is skipped) and its
  // length, its own blank line included.
  std::size_t begin() const { return begin_; }
  std::size_t length() const { return scanned_ - begin_; }
  // After rejected.
  const Rejection& rejection() const { return rejection_; }
  void reset();

 private:
  Outcome reject(int status, std::string_view reason);

  std::size_t limit_;
  std::size_t begin_ = 0;
  std::size_t line_begin_ = 0;
  std::size_t scanned_ = 0;
  bool rejected_ = false;
  Rejection rejection_;
};

// `head` is exactly what a HeadScanner delimited. The views in the result point into it.
std::expected<RequestHead, Rejection> parse_request_head(std::string_view head,
                                                         const HeadLimits& limits = {});
// `request_method` decides whether a body follows.
std::expected<ResponseHead, Rejection> parse_response_head(std::string_view head,
                                                           std::string_view request_method,
                                                           const HeadLimits& limits = {});

// Takes a body apart as it arrives.
class BodyDecoder {
 public:
  BodyDecoder() = default;  // no body: done from the start
  BodyDecoder(Framing framing, std::uint64_t content_length);

  struct Step {
    std::size_t consumed = 0;
    std::string_view payload;  // a part of the input; may be empty
  };
  // Takes bytes from the front of `input` up to the end of one payload piece, of the input or of
  // the body, whichever comes first. REQUIRES: !done() && !rejected(). Progress is made on any
  // input that is not empty, unless it is rejected.
  Step decode(std::string_view input);

  // The peer ended the connection. True if that is a proper end of this body.
  bool end_of_input();

  bool done() const { return state_ == State::done; }
  bool rejected() const { return state_ == State::rejected; }
  const Rejection& rejection() const { return rejection_; }
  // Payload bytes still to come, where that is known (Framing::length).
  std::uint64_t remaining() const { return state_ == State::counted ? remaining_ : 0; }
  // Complete once done(). Fields that could change the framing or routing of a message are left
  // out.
  std::vector<std::pair<std::string, std::string>>& trailers() { return trailers_; }

 private:
  enum class State {
    done,
    rejected,
    counted,
    until_close,
    chunk_size,
    chunk_extension,
    chunk_size_lf,
    chunk_payload,
    chunk_cr,
    chunk_lf,
    trailer,
    trailer_lf,
  };
  void reject(std::string_view reason);
  void take_framing_byte(char c);
  void end_of_chunk_size();
  void take_trailer_line();

  State state_ = State::done;
  std::uint64_t remaining_ = 0;
  unsigned digits_ = 0;
  std::size_t extension_bytes_ = 0;
  std::size_t trailer_bytes_ = 0;
  std::string trailer_line_;
  std::vector<std::pair<std::string, std::string>> trailers_;
  Rejection rejection_;
};

// token of RFC 9110: methods and field names.
bool is_token(std::string_view text);
// Visible ASCII, spaces, tabs and bytes from 0x80; no white space at either end.
bool is_field_value(std::string_view text);
// What may stand in a request line as target: visible ASCII without '#'.
bool is_target(std::string_view text);

bool equals_ignoring_case(std::string_view a, std::string_view b);
// Decimal digits only. False on anything else or on overflow.
bool parse_content_length(std::string_view text, std::uint64_t& value);

// "OK" for 200; empty for a status without a name here.
std::string_view reason_phrase(int status);

// Encoding. REQUIRES: valid parts (is_token, is_field_value, is_target).
void append_status_line(std::string& out, int status);
void append_request_line(std::string& out, std::string_view method, std::string_view target);
void append_field(std::string& out, std::string_view name, std::string_view value);
void append_content_length(std::string& out, std::uint64_t length);
void append_end_of_head(std::string& out);
// The line before a chunk's payload. A payload is followed by "\r\n", the last one by kLastChunk.
void append_chunk_size(std::string& out, std::size_t size);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace fairlead::wire::http1
