// HTTP/1.1 as strangers send it: however the bytes are cut into reads, the outcome is the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "foundation/wire/http1.h"

namespace {

namespace http1 = fairlead::wire::http1;

// Bytes in pieces whose sizes follow from a seed; seed 0 gives everything at once.
class Source {
 public:
  Source(std::string_view bytes, std::uint32_t seed) : bytes_(bytes), seed_(seed) {}
  bool more(std::string& buffer) {
    if (bytes_.empty()) return false;
    std::size_t n = bytes_.size();
    if (seed_ != 0) {
      seed_ = seed_ * 1664525 + 1013904223;
      n = 1 + (seed_ >> 24) % 24;
    }
    buffer.append(bytes_.substr(0, n));
    bytes_.remove_prefix(std::min(n, bytes_.size()));
    return true;
  }

 private:
  std::string_view bytes_;
  std::uint32_t seed_;
};

void note_fields(std::string& seen, const std::vector<http1::Field>& fields) {
  for (const http1::Field& field : fields) {
    if (!http1::is_token(field.name) || !http1::is_field_value(field.value)) std::abort();
    seen.append(field.name).append("=").append(field.value).append("|");
  }
}

// Everything a reader of these bytes would act on, as text.
std::string read_messages(std::string_view bytes, bool requests, std::uint32_t seed) {
  Source source(bytes, seed);
  std::string seen;
  std::string buffer;
  http1::HeadScanner scanner(2048);
  for (;;) {
    auto outcome = scanner.scan(buffer);
    while (outcome == http1::HeadScanner::Outcome::need_more && source.more(buffer))
      outcome = scanner.scan(buffer);
    if (outcome == http1::HeadScanner::Outcome::need_more) return seen.append("<more>");
    if (outcome == http1::HeadScanner::Outcome::rejected)
      return seen.append(scanner.rejection().reason);
    const std::string_view text =
        std::string_view(buffer).substr(scanner.begin(), scanner.length());
    http1::BodyDecoder body;
    if (requests) {
      const auto head = http1::parse_request_head(text, {2048, 16});
      if (!head) return seen.append(head.error().reason);
      if (!http1::is_token(head->method) || !http1::is_target(head->target)) std::abort();
      seen.append(head->method).append(head->target).append(head->authority);
      seen.append(head->keep_alive ? "K" : "C");
      note_fields(seen, head->fields);
      body = http1::BodyDecoder(head->framing, head->content_length);
    } else {
      const auto head = http1::parse_response_head(text, "GET", {2048, 16});
      if (!head) return seen.append(head.error().reason);
      seen.append(std::to_string(head->status)).append(head->keep_alive ? "K" : "C");
      note_fields(seen, head->fields);
      body = http1::BodyDecoder(head->framing, head->content_length);
    }
    buffer.erase(0, scanner.begin() + scanner.length());
    scanner.reset();
    while (!body.done()) {
      if (buffer.empty() && !source.more(buffer))
        return seen.append(body.end_of_input() ? "<end>" : "<cut>");
      const auto step = body.decode(buffer);
      if (step.consumed == 0 && !body.rejected()) std::abort();
      seen.append(step.payload);
      buffer.erase(0, step.consumed);
      if (body.rejected()) return seen.append(body.rejection().reason);
    }
    for (const auto& [name, value] : body.trailers()) seen.append(name).append("~").append(value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const bool requests = (data[0] & 1) != 0;
  const std::uint32_t seed = 1 + data[1] + 256u * data[2];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  if (read_messages(bytes, requests, 0) != read_messages(bytes, requests, seed)) std::abort();
  return 0;
}
