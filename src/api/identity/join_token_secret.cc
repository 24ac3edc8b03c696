#include "api/identity/join_token_secret.h"

#include "foundation/base/encoding.h"

namespace fairlead::identity {

std::string join_token_secret_name(std::string_view id) { return "join-token-" + std::string(id); }

Json encode_join_token_secret(const JoinTokenRecord& record) {
  const std::string text = wire::encode_json(encode_record(record));
  return JsonObject{{"apiVersion", "v1"},
                    {"kind", "Secret"},
                    {"metadata", JsonObject{{"name", join_token_secret_name(record.id)},
                                            {"namespace", kJoinTokenNamespace}}},
                    {"type", kJoinTokenType},
                    {"data", JsonObject{{"record", encode_base64(text)}}}};
}

Result<JoinTokenRecord> decode_join_token_secret(const Json& secret) {
  if (wire::find_string(secret, "type") != kJoinTokenType)
    return fail(Code::invalid, "the Secret is no join token");
  FL_TRY(const std::string text, decode_base64(wire::find_string(secret, "data.record")));
  FL_TRY(const wire::ParsedJson parsed, wire::parse_json(text));
  FL_TRY(JoinTokenRecord record, decode_record(parsed.value));
  if (wire::find_string(secret, "metadata.name") != join_token_secret_name(record.id))
    return fail(Code::invalid, "the Secret's name is not that of its join token");
  return record;
}

}  // namespace fairlead::identity
