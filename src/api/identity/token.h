// Bearer tokens: static ones from files, join tokens, and tokens bound to one node.
//
// Pure. A token is never logged, never part of an Error, and kept only as its SHA-256 where it is
// looked up: the comparison then reveals nothing by its timing, and a dump of the table opens
// nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/identity/digest.h"
#include "api/identity/user.h"
#include "foundation/base/result.h"
#include "foundation/runtime/time.h"
#include "foundation/wire/json.h"

namespace fairlead::identity {

// 256 random bits as URL-safe text (43 characters).
std::string make_token(const Random& random);

// The token of an "Authorization: Bearer …" header; nullopt for another scheme or an empty token.
std::optional<std::string_view> bearer_token(std::string_view authorization);

// --- static tokens
// -----------------------------------------------------------------------------------

struct StaticToken {
  std::string token;
  User user;
};

// Lines of kube-apiserver's --token-auth-file: token,user,uid[,"group1,group2"]. Empty lines and
// lines that begin with '#' are skipped. Fails with invalid naming the line, never its content; a
// token given twice is refused.
Result<std::vector<StaticToken>> parse_token_file(std::string_view text);
// DIR/admin.token: one token on one line.
Result<std::string> parse_single_token(std::string_view text);

// Users by token, about a microsecond a look-up.
class TokenTable {
 public:
  // Later entries replace earlier ones of the same token.
  void add(std::string_view token, UserRef user);
  UserRef find(std::string_view token) const;  // null when unknown
  std::size_t size() const { return users_.size(); }

 private:
  std::unordered_map<Digest, UserRef, DigestHash> users_;
};

// --- join tokens
// -------------------------------------------------------------------------------------

// "abcdef.0123456789abcdef", as kubeadm writes them: the id names the token in lists and logs, the
// secret proves it. With "@sha256:<hex>" it also pins the public key of the cluster's authority, so
// that a new node knows whom it talks to before it says anything secret.
struct JoinToken {
  std::string id;      // [a-z0-9]{6}
  std::string secret;  // [a-z0-9]{16}
  std::string ca_pin;  // "sha256:…", or empty

  static Result<JoinToken> parse(std::string_view text);
  static JoinToken make(const Random& random, std::string ca_pin = {});
  std::string to_string() const;
};

// What the server keeps of a join token.
struct JoinTokenRecord {
  std::string id;
  std::string secret_digest;        // hex SHA-256 of the secret
  std::optional<WallTime> expires;  // none: until deleted
  std::string node;                 // only this node may join with it; empty: any
  bool replaces_nodes = false;      // may re-register a node that already has a certificate
  std::string description;
};
JoinTokenRecord make_record(const JoinToken& token, std::optional<WallTime> expires,
                            std::string description = {});
Json encode_record(const JoinTokenRecord& record);
Result<JoinTokenRecord> decode_record(const Json& value);
// The list file (DIR/join-tokens.json).
std::string encode_records(const std::vector<JoinTokenRecord>& records);
Result<std::vector<JoinTokenRecord>> decode_records(std::string_view text);

// The record that `token` proves at `now`. Unknown, expired and wrong tokens fail alike with
// unauthorized.
Result<const JoinTokenRecord*> check_join_token(const std::vector<JoinTokenRecord>& records,
                                                const JoinToken& token, WallTime now);

// --- tokens bound to a node
// --------------------------------------------------------------------------

// "fln1.<node, base64url>.<expiry, seconds>.<HMAC>": lets a node without a certificate (an agent in
// a pod) prove which node it is. Valid for every server that shares the key; nothing is stored.
std::string make_node_token(std::string_view key, std::string_view node, WallTime expires);
bool looks_like_node_token(std::string_view token);
// The node it speaks for. Fails with unauthorized when forged or expired.
Result<std::string> check_node_token(std::string_view key, std::string_view token, WallTime now);

}  // namespace fairlead::identity
