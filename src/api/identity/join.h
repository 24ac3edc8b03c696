// How a machine becomes a node: messages and the decision. Pure.
//
//   node                                              any server
//   GET  /fairlead.dev/join/ca   (unverified TLS)   → the authority's certificate
//        check_ca(): its key must be the one pinned in the token; otherwise the node stops here,
//        before it has sent anything secret
//   POST /fairlead.dev/join      (verified TLS)     → JoinRequest{token, node, signing request}
//        decide_join() → sign → JoinResponse{certificate, authority, servers}
//
// The same POST over a connection with the node's certificate, without a token, renews it.
//
// A join token is no licence to become an existing node: a name that is registered with another key
// is refused, unless the token was made to replace nodes or the Node object was deleted first. The
// server stores the registration (kRegistrationAnnotation on the Node) in the same step, with a
// precondition, so that of two machines that join under one name at once only one succeeds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/identity/certificate.h"
#include "api/identity/token.h"
#include "api/identity/user.h"
#include "foundation/base/result.h"

namespace fairlead::identity {

inline constexpr std::string_view kJoinPath = "/fairlead.dev/join";
inline constexpr std::string_view kJoinCaPath = "/fairlead.dev/join/ca";
// On the Node: Certificate::key_pin() of the certificate it may use.
inline constexpr std::string_view kRegistrationAnnotation = "fairlead.dev/node-key";

struct JoinRequest {
  std::string token;  // empty: renewal, proven by the connection's certificate
  std::string node;
  std::string signing_request;  // PEM
};

struct JoinResponse {
  std::string node;
  std::string certificate;           // PEM
  std::string ca;                    // PEM
  std::vector<std::string> servers;  // "https://10.0.0.1:6443", in order of preference
};

std::string encode_join_request(const JoinRequest& request);
Result<JoinRequest> decode_join_request(std::string_view body);
std::string encode_join_response(const JoinResponse& response);
Result<JoinResponse> decode_join_response(std::string_view body);

// What the server knows when a request arrives.
struct JoinFacts {
  const std::vector<JoinTokenRecord>* tokens = nullptr;
  UserRef peer;                             // from the connection's verified certificate, or null
  std::string peer_key_pin;                 // of that certificate
  std::optional<std::string> registration;  // kRegistrationAnnotation of the Node, if there is one
  WallTime now;
};

struct JoinGrant {
  std::string node;
  std::string key_pin;   // to be registered
  std::string token_id;  // for the log; empty on renewal
  SigningRequest request;
};

// Fails with unauthorized (no or wrong proof), forbidden (proof of something else), invalid
// (malformed).
Result<JoinGrant> decide_join(const JoinRequest& request, const JoinFacts& facts);

// Node's side: the authority's certificates whose key is the pinned one, as PEM. Fails with
// unauthorized when there is none.
Result<std::string> check_ca(std::string_view pem, const std::string& pin);
// Node's side: the certificate is for our key and name, and the authority vouches for it at `now`.
Result<> check_join_response(const JoinResponse& response, const PrivateKey& key,
                             std::string_view node, std::string_view trusted_ca, WallTime now);

}  // namespace fairlead::identity
