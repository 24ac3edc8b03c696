#include "foundation/wire/http1.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "foundation/base/check.h"

namespace fairlead::wire::http1 {
namespace {

constexpr std::size_t kExtensionBytes = 256;  // per chunk; nobody uses them
constexpr std::size_t kTrailerBytes = 16 << 10;
constexpr std::size_t kTrailerFields = 64;
constexpr unsigned kChunkSizeDigits = 15;  // 2^60 is beyond every body limit

// Character classes, one bit each, looked up by byte.
enum : std::uint8_t { kToken = 1, kValue = 2, kTarget = 4, kHost = 8 };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  auto mark = [&classes](std::string_view characters, std::uint8_t bit) {
    for (const char c : characters) classes[static_cast<unsigned char>(c)] |= bit;
  };
  for (int c = '0'; c <= '9'; ++c) classes[c] |= kToken | kHost;
  for (int c = 'a'; c <= 'z'; ++c) classes[c] |= kToken | kHost;
  for (int c = 'A'; c <= 'Z'; ++c) classes[c] |= kToken | kHost;
  mark("!#$%&'*+-.^_`|~", kToken);
  mark("-._~!$&'()*+,;=:[]%", kHost);
  for (int c = 0x21; c <= 0x7e; ++c) classes[c] |= kValue | kTarget;
  classes['#'] &= static_cast<std::uint8_t>(~kTarget);
  for (int c = 0x80; c <= 0xff; ++c) classes[c] |= kValue;
  mark(" \t", kValue);
  return classes;
}
constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

bool all_in(std::string_view text, std::uint8_t bit) {
  for (const char c : text)
    if (!(kClasses[static_cast<unsigned char>(c)] & bit)) return false;
  return true;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }
bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::unexpected<Rejection> rejected(int status, std::string_view reason) {
  return std::unexpected(Rejection{status, reason});
}

// Takes the line up to CRLF off the front of `rest`. The scanner made sure that there is one.
std::string_view take_line(std::string_view& rest) {
  const std::size_t lf = rest.find('\n');
  CHECK(lf != std::string_view::npos && lf > 0);
  const std::string_view line = rest.substr(0, lf - 1);
  rest.remove_prefix(lf + 1);
  return line;
}

std::expected<Field, Rejection> parse_field(std::string_view line) {
  if (is_space(line.front())) return rejected(400, "folded header line");
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return rejected(400, "header line without colon");
  const Field field{line.substr(0, colon), trim(line.substr(colon + 1))};
  if (!is_token(field.name)) return rejected(400, "invalid character in header name");
  if (!all_in(field.value, kValue)) return rejected(400, "invalid character in header value");
  return field;
}

// What the fields say about framing and the connection, gathered in one pass.
struct Message {
  std::vector<Field> fields;
  bool has_length = false;
  std::uint64_t length = 0;
  bool has_coding = false;
  std::string_view coding;
  unsigned hosts = 0;
  std::string_view host;
  bool close = false;
  bool keep_alive = false;
  bool has_expect = false;
  std::string_view expect;
};

std::expected<void, Rejection> note_connection(Message& message, std::string_view value) {
  while (true) {
    const std::size_t comma = value.find(',');
    const std::string_view option = trim(value.substr(0, comma));
    if (!option.empty() && !is_token(option)) return rejected(400, "malformed Connection");
    if (equals_ignoring_case(option, "close")) message.close = true;
    if (equals_ignoring_case(option, "keep-alive")) message.keep_alive = true;
    if (comma == std::string_view::npos) return {};
    value.remove_prefix(comma + 1);
  }
}

std::expected<void, Rejection> note_field(Message& message, const Field& field) {
  switch (field.name.size()) {
    case 4:
      if (equals_ignoring_case(field.name, "host")) {
        if (++message.hosts > 1) return rejected(400, "duplicate Host");
        if (!all_in(field.value, kHost)) return rejected(400, "malformed Host");
        message.host = field.value;
      }
      break;
    case 6:
      if (equals_ignoring_case(field.name, "expect")) {
        if (message.has_expect) return rejected(417, "unsupported expectation");
        message.has_expect = true;
        message.expect = field.value;
      }
      break;
    case 10:
      if (equals_ignoring_case(field.name, "connection"))
        return note_connection(message, field.value);
      break;
    case 14:
      if (equals_ignoring_case(field.name, "content-length")) {
        if (message.has_length) return rejected(400, "duplicate Content-Length");
        if (!parse_content_length(field.value, message.length))
          return rejected(400, "malformed Content-Length");
        message.has_length = true;
      }
      break;
    case 17:
      if (equals_ignoring_case(field.name, "transfer-encoding")) {
        if (message.has_coding) return rejected(400, "duplicate Transfer-Encoding");
        message.has_coding = true;
        message.coding = field.value;
      }
      break;
    default:
      break;
  }
  return {};
}

std::expected<Message, Rejection> parse_fields(std::string_view rest, const HeadLimits& limits) {
  Message message;
  message.fields.reserve(16);
  for (;;) {
    const std::string_view line = take_line(rest);
    if (line.empty()) break;
    if (message.fields.size() == limits.fields) return rejected(431, "too many headers");
    const auto field = parse_field(line);
    if (!field) return std::unexpected(field.error());
    const auto noted = note_field(message, *field);
    if (!noted) return std::unexpected(noted.error());
    message.fields.push_back(*field);
  }
  if (message.has_coding && message.has_length)
    return rejected(400, "both Content-Length and Transfer-Encoding");
  return message;
}

// Only "chunked", alone, is understood.
std::expected<void, Rejection> check_coding(const Message& message, int minor_version) {
  if (!message.has_coding) return {};
  if (minor_version == 0) return rejected(400, "Transfer-Encoding in HTTP/1.0");
  if (message.coding.empty()) return rejected(400, "malformed Transfer-Encoding");
  if (!equals_ignoring_case(message.coding, "chunked"))
    return rejected(501, "unsupported transfer coding");
  return {};
}

// "HTTP/1.x" → x.
std::expected<int, Rejection> parse_version(std::string_view text) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() != 8 || !text.starts_with("HTTP/") || !is_digit(text[5]) || text[6] != '.' ||
      !is_digit(text[7]))
    return rejected(400, "malformed version");
  if (text[5] != '1') return rejected(505, "unsupported HTTP version");
  return text[7] == '0' ? 0 : 1;
}

bool persists(const Message& message, int minor_version) {
  if (message.close) return false;
  return minor_version > 0 || message.keep_alive;
}

// "http://host/path" → authority and path; other forms are left as they are.
std::expected<void, Rejection> resolve_target(RequestHead& head) {
  if (head.method == "CONNECT") return rejected(501, "CONNECT is not supported");
  if (head.target.front() == '/') return {};
  if (head.target == "*") {
    if (head.method == "OPTIONS") return {};
    return rejected(400, "malformed target");
  }
  std::string_view rest = head.target;
  const std::size_t scheme_end = rest.find("://");
  if (scheme_end == std::string_view::npos) return rejected(400, "malformed target");
  const std::string_view scheme = rest.substr(0, scheme_end);
  if (!equals_ignoring_case(scheme, "http") && !equals_ignoring_case(scheme, "https"))
    return rejected(400, "malformed target");
  rest.remove_prefix(scheme_end + 3);
  const std::size_t path = rest.find_first_of("/?");
  head.authority = rest.substr(0, path);
  if (head.authority.empty() || !all_in(head.authority, kHost))
    return rejected(400, "malformed target");
  if (path == std::string_view::npos) {
    head.target = "/";
  } else if (rest[path] == '?') {
    return rejected(400, "malformed target");  // no '/' to point at: nobody sends this
  } else {
    head.target = rest.substr(path);
  }
  return {};
}

}  // namespace

void HeadScanner::reset() {
  begin_ = line_begin_ = scanned_ = 0;
  rejected_ = false;
}

HeadScanner::Outcome HeadScanner::reject(int status, std::string_view reason) {
  rejected_ = true;
  rejection_ = {status, reason};
  return Outcome::rejected;
}

HeadScanner::Outcome HeadScanner::scan(std::string_view buffer) {
  if (rejected_) return Outcome::rejected;
  // One blank line before a request is allowed for (RFC 9112, 2.2).
  if (begin_ == 0 && buffer.starts_with("\r\n")) begin_ = line_begin_ = scanned_ = 2;
  // What cannot begin a message is refused at once: TLS on a plain port, binary noise.
  if (buffer.size() > begin_ && !(kClasses[static_cast<unsigned char>(buffer[begin_])] & kToken) &&
      !(begin_ == 0 && buffer[0] == '\r' && buffer.size() == 1))
    return reject(400, "malformed message");

  const std::size_t end = std::min(buffer.size(), begin_ + limit_);
  while (scanned_ < end) {
    const void* found = std::memchr(buffer.data() + scanned_, '\n', end - scanned_);
    if (!found) {
      scanned_ = end;
      break;
    }
    const std::size_t lf = static_cast<const char*>(found) - buffer.data();
    if (lf == line_begin_ || buffer[lf - 1] != '\r') return reject(400, "bare line feed");
    scanned_ = lf + 1;
    if (lf - 1 == line_begin_) return Outcome::complete;
    line_begin_ = scanned_;
  }
  if (buffer.size() > begin_ + limit_) return reject(431, "header too large");
  return Outcome::need_more;
}

std::expected<RequestHead, Rejection> parse_request_head(std::string_view text,
                                                         const HeadLimits& limits) {
  const std::string_view line = take_line(text);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return rejected(400, "malformed request line");
  RequestHead head;
  head.method = line.substr(0, first);
  head.target = line.substr(first + 1, last - first - 1);
  if (!is_token(head.method)) return rejected(400, "malformed method");
  if (!is_target(head.target)) return rejected(400, "malformed target");
  const auto version = parse_version(line.substr(last + 1));
  if (!version) return std::unexpected(version.error());
  head.minor_version = *version;

  auto message = parse_fields(text, limits);
  if (!message) return std::unexpected(message.error());
  if (message->hosts == 0 && head.minor_version > 0) return rejected(400, "missing Host");
  if (const auto coding = check_coding(*message, head.minor_version); !coding)
    return std::unexpected(coding.error());
  head.authority = message->host;
  if (const auto resolved = resolve_target(head); !resolved)
    return std::unexpected(resolved.error());

  if (message->has_expect && head.minor_version > 0) {
    if (!equals_ignoring_case(message->expect, "100-continue"))
      return rejected(417, "unsupported expectation");
    head.expect_continue = true;
  }
  if (message->has_coding) {
    head.framing = Framing::chunked;
  } else if (message->has_length && message->length > 0) {
    head.framing = Framing::length;
    head.content_length = message->length;
  }
  head.keep_alive = persists(*message, head.minor_version);
  head.fields = std::move(message->fields);
  return head;
}

std::expected<ResponseHead, Rejection> parse_response_head(std::string_view text,
                                                           std::string_view request_method,
                                                           const HeadLimits& limits) {
  const std::string_view line = take_line(text);
  ResponseHead head;
  const std::size_t space = line.find(' ');
  const auto version = parse_version(line.substr(0, space));
  if (!version) return std::unexpected(version.error());
  head.minor_version = *version;
  if (space == std::string_view::npos) return rejected(400, "malformed status line");
  const std::string_view rest = line.substr(space + 1);
  const char* digits_end = rest.data() + std::min<std::size_t>(3, rest.size());
  const auto [end, problem] = std::from_chars(rest.data(), digits_end, head.status);
  if (problem != std::errc{} || end != rest.data() + 3 || head.status < 100 ||
      (rest.size() > 3 && rest[3] != ' ') || !all_in(rest, kValue))
    return rejected(400, "malformed status line");

  auto message = parse_fields(text, limits);
  if (!message) return std::unexpected(message.error());
  if (const auto coding = check_coding(*message, head.minor_version); !coding)
    return std::unexpected(coding.error());
  const bool bodiless =
      head.status < 200 || head.status == 204 || head.status == 304 || request_method == "HEAD";
  if (bodiless) {
    head.framing = Framing::none;
  } else if (message->has_coding) {
    head.framing = Framing::chunked;
  } else if (message->has_length) {
    head.framing = message->length > 0 ? Framing::length : Framing::none;
    head.content_length = message->length;
  } else {
    head.framing = Framing::until_close;
  }
  head.keep_alive = head.framing != Framing::until_close && persists(*message, head.minor_version);
  head.fields = std::move(message->fields);
  return head;
}

BodyDecoder::BodyDecoder(Framing framing, std::uint64_t content_length) {
  switch (framing) {
    case Framing::none:
      break;
    case Framing::length:
      remaining_ = content_length;
      state_ = content_length > 0 ? State::counted : State::done;
      break;
    case Framing::chunked:
      state_ = State::chunk_size;
      break;
    case Framing::until_close:
      state_ = State::until_close;
      break;
  }
}

void BodyDecoder::reject(std::string_view reason) {
  state_ = State::rejected;
  rejection_ = {400, reason};
}

BodyDecoder::Step BodyDecoder::decode(std::string_view input) {
  Step step;
  while (step.consumed < input.size()) {
    switch (state_) {
      case State::done:
      case State::rejected:
        return step;
      case State::until_close:
        step.payload = input.substr(step.consumed);
        step.consumed = input.size();
        return step;
      case State::counted:
      case State::chunk_payload: {
        step.payload = input.substr(step.consumed, remaining_);
        step.consumed += step.payload.size();
        remaining_ -= step.payload.size();
        if (remaining_ == 0) state_ = state_ == State::counted ? State::done : State::chunk_cr;
        return step;
      }
      default:
        take_framing_byte(input[step.consumed++]);
        break;
    }
  }
  return step;
}

void BodyDecoder::take_framing_byte(char c) {
  switch (state_) {
    case State::chunk_size: {
      const char l = lower(c);
      const int digit = l >= '0' && l <= '9' ? l - '0' : l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
      if (digit >= 0) {
        if (++digits_ > kChunkSizeDigits) return reject("chunk too large");
        remaining_ = remaining_ * 16 + static_cast<unsigned>(digit);
      } else if (digits_ == 0) {
        reject("malformed chunk size");
      } else if (c == '\r') {
        state_ = State::chunk_size_lf;
      } else if (c == ';') {
        state_ = State::chunk_extension;
      } else {
        reject("malformed chunk size");
      }
      return;
    }
    case State::chunk_extension:
      if (c == '\r') {
        state_ = State::chunk_size_lf;
      } else if (!(kClasses[static_cast<unsigned char>(c)] & kValue)) {
        reject("malformed chunk extension");
      } else if (++extension_bytes_ > kExtensionBytes) {
        reject("chunk extension too large");
      }
      return;
    case State::chunk_size_lf:
      if (c != '\n') return reject("bare carriage return");
      return end_of_chunk_size();
    case State::chunk_cr:
      if (c != '\r') return reject("chunk longer than its size");
      state_ = State::chunk_lf;
      return;
    case State::chunk_lf:
      if (c != '\n') return reject("bare carriage return");
      state_ = State::chunk_size;
      return;
    case State::trailer:
      if (++trailer_bytes_ > kTrailerBytes) return reject("trailers too large");
      if (c == '\n') return reject("bare line feed");
      if (c == '\r') {
        state_ = State::trailer_lf;
      } else {
        trailer_line_.push_back(c);
      }
      return;
    case State::trailer_lf:
      if (c != '\n') return reject("bare carriage return");
      return take_trailer_line();
    default:
      CHECK(false);
  }
}

void BodyDecoder::end_of_chunk_size() {
  digits_ = 0;
  extension_bytes_ = 0;
  state_ = remaining_ > 0 ? State::chunk_payload : State::trailer;
}

void BodyDecoder::take_trailer_line() {
  if (trailer_line_.empty()) {
    state_ = State::done;
    return;
  }
  if (trailers_.size() == kTrailerFields) return reject("too many trailers");
  const auto field = parse_field(trailer_line_);
  if (!field) return reject(field.error().reason);
  static constexpr std::string_view kForbidden[] = {
      "content-length", "transfer-encoding", "host",      "connection",    "te",
      "trailer",        "upgrade",           "expect",    "authorization", "content-type",
      "cookie",         "content-encoding",  "keep-alive"};
  const bool forbidden = std::any_of(std::begin(kForbidden), std::end(kForbidden), [&](auto name) {
    return equals_ignoring_case(field->name, name);
  });
  if (!forbidden) trailers_.emplace_back(std::string(field->name), std::string(field->value));
  trailer_line_.clear();
  state_ = State::trailer;
}

bool BodyDecoder::end_of_input() {
  if (state_ == State::until_close) state_ = State::done;
  return done();
}

bool is_token(std::string_view text) { return !text.empty() && all_in(text, kToken); }

bool is_field_value(std::string_view text) {
  return all_in(text, kValue) &&
         (text.empty() || (!is_space(text.front()) && !is_space(text.back())));
}

bool is_target(std::string_view text) { return !text.empty() && all_in(text, kTarget); }

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

bool parse_content_length(std::string_view text, std::uint64_t& value) {
  if (text.empty() || text.size() > 18) return false;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return false;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{};
}

}  // namespace fairlead::wire::http1
