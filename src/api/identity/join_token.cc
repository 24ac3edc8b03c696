// Join tokens and the records a server keeps of them (declared in token.h).
#include <algorithm>
#include <utility>

#include "api/identity/token.h"
#include "foundation/base/encoding.h"
#include "foundation/base/time_text.h"

namespace fairlead::identity {
namespace {

constexpr std::size_t kIdLength = 6;
constexpr std::size_t kSecretLength = 16;
constexpr std::size_t kPinDigits = 64;
constexpr std::string_view kPinPrefix = "sha256:";
constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";

bool is_of_length(std::string_view text, std::size_t length) {
  return text.size() == length && text.find_first_not_of(kAlphabet) == std::string_view::npos;
}

bool is_pin(std::string_view text) {
  return text.size() == kPinPrefix.size() + kPinDigits && text.starts_with(kPinPrefix) &&
         text.substr(kPinPrefix.size()).find_first_not_of("0123456789abcdef") ==
             std::string_view::npos;
}

std::string random_text(const Random& random, std::size_t length) {
  std::string text;
  while (text.size() < length) {
    // 252 = 7 × 36: values above would favour the first characters.
    for (const char byte : random_bytes(random, 8)) {
      const auto value = static_cast<unsigned char>(byte);
      if (value < 252 && text.size() < length) text += kAlphabet[value % kAlphabet.size()];
    }
  }
  return text;
}

Result<std::string> string_member(const JsonObject& object, std::string_view name) {
  const Json* value = object.if_contains(name);
  if (!value) return std::string();
  const auto* text = value->if_string();
  if (!text) return fail(Code::invalid, std::string(name) + " must be a string");
  return std::string(text->data(), text->size());
}

}  // namespace

Result<JoinToken> JoinToken::parse(std::string_view text) {
  const Error refused{Code::invalid,
                      "a join token looks like abcdef.0123456789abcdef or "
                      "abcdef.0123456789abcdef@sha256:<64 hexadecimal digits>"};
  JoinToken token;
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    token.ca_pin = text.substr(at + 1);
    if (!is_pin(token.ca_pin)) return fail(refused);
    text = text.substr(0, at);
  }
  const std::size_t dot = std::min(text.find('.'), text.size());
  token.id = text.substr(0, dot);
  token.secret = text.substr(std::min(dot + 1, text.size()));
  if (!is_of_length(token.id, kIdLength) || !is_of_length(token.secret, kSecretLength))
    return fail(refused);
  return token;
}

JoinToken JoinToken::make(const Random& random, std::string ca_pin) {
  return {random_text(random, kIdLength), random_text(random, kSecretLength), std::move(ca_pin)};
}

std::string JoinToken::to_string() const {
  return id + "." + secret + (ca_pin.empty() ? "" : "@" + ca_pin);
}

JoinTokenRecord make_record(const JoinToken& token, std::optional<WallTime> expires,
                            std::string description) {
  JoinTokenRecord record;
  record.id = token.id;
  record.secret_digest = encode_hex(as_text(sha256(token.secret)));
  record.expires = expires;
  record.description = std::move(description);
  return record;
}

Json encode_record(const JoinTokenRecord& record) {
  JsonObject object;
  object["id"] = record.id;
  object["secretDigest"] = record.secret_digest;
  if (record.expires) object["expires"] = rfc3339(*record.expires);
  if (!record.node.empty()) object["node"] = record.node;
  if (record.replaces_nodes) object["replacesNodes"] = true;
  if (!record.description.empty()) object["description"] = record.description;
  return object;
}

Result<JoinTokenRecord> decode_record(const Json& value) {
  const JsonObject* object = value.if_object();
  if (!object) return fail(Code::invalid, "a join token record must be an object");
  JoinTokenRecord record;
  FL_TRY(record.id, string_member(*object, "id"));
  FL_TRY(record.secret_digest, string_member(*object, "secretDigest"));
  FL_TRY(record.node, string_member(*object, "node"));
  FL_TRY(record.description, string_member(*object, "description"));
  FL_TRY(const std::string expires, string_member(*object, "expires"));
  if (!is_of_length(record.id, kIdLength)) return fail(Code::invalid, "join token record: id");
  if (record.secret_digest.size() != 64)
    return fail(Code::invalid, "join token record " + record.id + ": secretDigest");
  if (!expires.empty()) {
    FL_TRY(record.expires, parse_rfc3339(expires));
  }
  if (const Json* replaces = object->if_contains("replacesNodes")) {
    if (!replaces->is_bool()) return fail(Code::invalid, "replacesNodes must be true or false");
    record.replaces_nodes = replaces->get_bool();
  }
  return record;
}

std::string encode_records(const std::vector<JoinTokenRecord>& records) {
  JsonArray list;
  for (const JoinTokenRecord& record : records) list.push_back(encode_record(record));
  JsonObject object;
  object["tokens"] = std::move(list);
  return wire::encode_json_pretty(object) + "\n";
}

Result<std::vector<JoinTokenRecord>> decode_records(std::string_view text) {
  FL_TRY(const wire::ParsedJson parsed, wire::parse_json(text));
  const Json* list = wire::find(parsed.value, "tokens");
  if (!list || !list->is_array()) return fail(Code::invalid, "expected a list named tokens");
  std::vector<JoinTokenRecord> records;
  for (const Json& item : list->get_array()) {
    FL_TRY(JoinTokenRecord record, decode_record(item));
    records.push_back(std::move(record));
  }
  return records;
}

Result<const JoinTokenRecord*> check_join_token(const std::vector<JoinTokenRecord>& records,
                                                const JoinToken& token, WallTime now) {
  const std::string digest = encode_hex(as_text(sha256(token.secret)));
  for (const JoinTokenRecord& record : records) {
    const bool proven =
        record.id == token.id && equal_in_constant_time(record.secret_digest, digest);
    if (proven && (!record.expires || now < *record.expires)) return &record;
  }
  return fail(Code::unauthorized, "join token is unknown or has expired");
}

}  // namespace fairlead::identity
