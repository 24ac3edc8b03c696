// Whatever identity reads from strangers and from files: the first byte picks the reader.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/identity/authenticator.h"
#include "api/identity/certificate.h"
#include "api/identity/impersonation.h"
#include "api/identity/join.h"
#include "api/identity/kubeconfig.h"
#include "api/identity/token.h"
#include "foundation/runtime/time.h"

namespace {

using namespace fairlead;
using namespace fairlead::identity;

const WallTime kNow{std::chrono::sys_days{std::chrono::year{2030} / 6 / 1}};

void read_kubeconfig(std::string_view text) {
  const Result<Kubeconfig> config = parse_kubeconfig(text);
  if (!config) return;
  // Every file it refers to contains the text itself.
  const ReadFile read = [text](const std::string&) {
    return Result<std::string>(std::string(text));
  };
  const Result<ClientConfig> resolved = resolve(*config, "", "/", read);
  if (!resolved) return;
  const std::string written = encode_kubeconfig(*resolved, "c", "u");
  if (resolved->token_file.empty() && !parse_kubeconfig(written)) __builtin_trap();
}

void read_tokens(std::string_view text) {
  if (const auto tokens = parse_token_file(text)) {
    TokenTable table;
    for (const StaticToken& token : *tokens) {
      table.add(token.token, std::make_shared<const User>(token.user));
      if (!table.find(token.token)) __builtin_trap();
    }
  }
  static_cast<void>(parse_single_token(text));
  static_cast<void>(bearer_token(text));
  if (check_node_token("key", text, kNow)) {
    // Only the holder of the key can make one; the corpus contains none.
    __builtin_trap();
  }
  if (const auto token = JoinToken::parse(text)) {
    if (token->to_string() != text) __builtin_trap();
  }
  static_cast<void>(decode_records(text));
}

void read_certificates(std::string_view text) {
  if (const auto certificate = Certificate::parse_pem(text)) {
    const TrustStore trust({*certificate});
    static_cast<void>(trust.verify(*certificate, Purpose::client, kNow));
    static_cast<void>(needs_renewal(*certificate, kNow));
  }
  static_cast<void>(Certificate::parse_bundle(text));
  static_cast<void>(PrivateKey::parse_pem(text));
  static_cast<void>(SigningRequest::parse_pem(text));
}

void read_join(std::string_view text) {
  if (const auto request = decode_join_request(text)) {
    const std::vector<JoinTokenRecord> nobody;
    JoinFacts facts;
    facts.tokens = &nobody;
    facts.now = kNow;
    if (decide_join(*request, facts)) __builtin_trap();
  }
  static_cast<void>(decode_join_response(text));
  static_cast<void>(check_ca(text, "sha256:none"));
}

void read_headers(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> fields;
  while (!text.empty() && fields.size() < 50) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t colon = std::min(line.find(':'), line.size());
    fields.emplace_back(line.substr(0, colon), line.substr(std::min(colon + 1, line.size())));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  static_cast<void>(requested_impersonation(fields));
  RequestHeaderAuthenticator headers{RequestHeaderOptions{}};
  TokenAuthenticator tokens{TokenTable(), "key"};
  const runtime::PeerInfo peer;
  const AuthRequest request{&peer, fields, kNow};
  for (Authenticator* authenticator :
       {static_cast<Authenticator*>(&headers), static_cast<Authenticator*>(&tokens)}) {
    const auto outcome = authenticator->authenticate_now(request);
    // No certificate, no token, no headers of a stranger make a user here.
    if (outcome && *outcome && **outcome) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      read_kubeconfig(text);
      break;
    case 1:
      read_tokens(text);
      break;
    case 2:
      read_certificates(text);
      break;
    case 3:
      read_join(text);
      break;
    default:
      read_headers(text);
      break;
  }
  return 0;
}
