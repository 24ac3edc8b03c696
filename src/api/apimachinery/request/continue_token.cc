#include "api/apimachinery/request/continue_token.h"

#include <fmt/format.h>

#include "foundation/wire/json.h"

namespace fairlead::apimachinery {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kTokenVersion = "meta.k8s.io/v1";
constexpr std::size_t kMaxTokenBytes = 8 << 10;

// A start key names a place below the prefix and nothing else.
bool stays_below_prefix(std::string_view key) {
  std::string_view rest = key.starts_with('/') ? key.substr(1) : key;
  while (true) {
    const std::string_view segment = rest.substr(0, rest.find('/'));
    if (segment.empty() || segment == "." || segment == "..") return false;
    if (segment.size() == rest.size()) return true;
    rest.remove_prefix(segment.size() + 1);
  }
}

std::unexpected<Status> bad_token(std::string_view why) {
  return refuse(bad_request(why.empty() ? "continue key is not valid"
                                        : fmt::format("continue key is not valid: {}", why)));
}

}  // namespace

std::string encode_base64url(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    held += 8;
    while (held >= 6) {
      held -= 6;
      out += kAlphabet[(bits >> held) & 63];
    }
  }
  if (held > 0) out += kAlphabet[(bits << (6 - held)) & 63];
  return out;
}

Result<std::string> decode_base64url(std::string_view text) {
  if (text.size() % 4 == 1) return fail(Code::invalid, "bad base64 length");
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return fail(Code::invalid, "bad base64 character");
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      out += static_cast<char>((bits >> held) & 255);
    }
  }
  return out;
}

std::string encode_continue(const ContinueToken& token) {
  JsonObject object;
  object["v"] = kTokenVersion;
  object["rv"] = token.revision;
  object["start"] = token.start;
  return encode_base64url(wire::encode_json(object));
}

Answer<ContinueToken> decode_continue(std::string_view text) {
  if (text.size() > kMaxTokenBytes) return bad_token("it is too long");
  const auto bytes = decode_base64url(text);
  if (!bytes) return bad_token(bytes.error().message);
  const auto parsed = wire::parse_json(*bytes);
  if (!parsed || !parsed->value.is_object()) return bad_token("");
  if (const std::string_view version = wire::find_string(parsed->value, "v");
      version != kTokenVersion) {
    return bad_token(fmt::format("server does not recognize this encoded version {}", version));
  }
  const Json* revision = parsed->value.get_object().if_contains("rv");
  if (!revision || !revision->is_int64() || revision->get_int64() == 0 ||
      revision->get_int64() < -1) {
    return bad_token("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  }
  ContinueToken token;
  token.revision = revision->get_int64();
  token.start = wire::find_string(parsed->value, "start");
  if (token.start.empty()) {
    return bad_token("encoded start key empty (version meta.k8s.io/v1)");
  }
  if (!stays_below_prefix(token.start)) return bad_token("");
  return token;
}

}  // namespace fairlead::apimachinery
