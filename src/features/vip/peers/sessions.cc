#include "features/vip/peers/sessions.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <utility>

#include "features/vip/election/message_codec.h"
#include "foundation/wire/protobuf.h"

namespace fairlead::vip {
namespace {

constexpr char kHelloType = 2;
constexpr char kPlainType = 3;
constexpr std::size_t kSignature = 32;
constexpr std::size_t kLongestName = 253;
constexpr std::size_t kMostWaiting = 4;

struct Hello {
  std::string from;
  std::uint64_t incarnation = 0;
  std::string to;
  std::uint64_t known = 0;  // of the one it is for
};

std::string signature(std::string_view secret, std::string_view body) {
  std::string signature(kSignature, '\0');
  unsigned int length = 0;
  const std::string input = "fairlead virtual IPs hello" + std::string(body);
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(input.data()), input.size(),
       reinterpret_cast<unsigned char*>(signature.data()), &length);
  return signature;
}

std::optional<Hello> parse_hello(std::string_view body) {
  Hello hello;
  wire::ProtoReader reader(body);
  while (reader.next()) {
    if (reader.field() == 1) hello.from = reader.bytes();
    if (reader.field() == 2) hello.incarnation = reader.number();
    if (reader.field() == 3) hello.to = reader.bytes();
    if (reader.field() == 4) hello.known = reader.number();
  }
  if (!reader.ok() || hello.from.size() > kLongestName || hello.to.size() > kLongestName ||
      hello.incarnation == 0)
    return std::nullopt;
  return hello;
}

Sessions::Outcome refuse(std::string why) {
  return {.received = {}, .reply = {}, .refused = std::move(why)};
}

}  // namespace

void Sessions::set_peers(const std::vector<std::string>& names) {
  ++changes_;
  std::erase_if(peers_, [&](const auto& peer) {
    return std::ranges::find(names, peer.first) == names.end();
  });
  for (const std::string& name : names)
    if (name != options_.self.node) peers_.try_emplace(name);
}

bool Sessions::has_session(const std::string& name) const {
  const auto peer = peers_.find(name);
  return peer != peers_.end() && (!options_.secret || peer->second.current);
}

std::string Sessions::hello(const std::string& to) const {
  const auto peer = peers_.find(to);
  std::string body;
  wire::ProtoWriter out(body);
  out.bytes(1, options_.self.node);
  out.number(2, options_.self.incarnation);
  out.bytes(3, to);
  out.number(4, peer == peers_.end() ? 0 : peer->second.known);
  return kHelloType + signature(*options_.secret, body) + body;
}

std::string Sessions::plain(const Message& message) const {
  std::string body;
  wire::ProtoWriter out(body);
  out.bytes(1, options_.self.node);
  out.bytes(2, encode(message));
  return kPlainType + body;
}

std::string Sessions::send(const std::string& to, const Message& message) {
  if (!options_.secret) return plain(message);
  const auto peer = peers_.find(to);
  if (peer == peers_.end()) return hello(to);
  if (peer->second.current) return peer->second.current->seal.close(encode(message));
  if (!peer->second.waiting.empty()) return peer->second.waiting.back().seal.close(encode(message));
  return hello(to);
}

std::optional<std::string> Sessions::farewell(const std::string& to, const Message& message) const {
  if (!options_.secret) return plain(message);
  const auto peer = peers_.find(to);
  if (peer == peers_.end() || !peer->second.current) return std::nullopt;
  return peer->second.current->seal.close_last(encode(message));
}

Sessions::Outcome Sessions::receive(std::string_view datagram) {
  if (datagram.empty()) return refuse("an empty datagram");
  const char type = datagram.front();
  if (!options_.secret) {
    if (type == kPlainType) return take_plain(datagram.substr(1));
    return refuse("a sealed datagram, but this node has no secret");
  }
  if (type == kHelloType) return take_hello(datagram.substr(1));
  if (type == kSealedType) return take_sealed(datagram);
  if (type == kPlainType) return refuse("a datagram without a seal, but this node has a secret");
  return refuse("not a datagram of an election peer");
}

Sessions::Outcome Sessions::take_hello(std::string_view datagram) {
  if (datagram.size() < kSignature) return refuse("a greeting that is cut short");
  const std::string_view body = datagram.substr(kSignature);
  const std::string right = signature(*options_.secret, body);
  if (CRYPTO_memcmp(right.data(), datagram.data(), kSignature) != 0)
    return refuse("a greeting that is not signed with this election's secret");
  const std::optional<Hello> hello = parse_hello(body);
  if (!hello) return refuse("a greeting that is broken");
  if (hello->to != options_.self.node) return refuse("a greeting for node " + hello->to);
  const auto at = peers_.find(hello->from);
  if (at == peers_.end()) return refuse("a greeting of " + hello->from + ", which is no member");
  Peer& peer = at->second;
  Outcome outcome;
  const bool in_use = peer.current && peer.current->incarnation == hello->incarnation;
  if (!in_use) {
    peer.known = hello->incarnation;
    auto waiting = std::ranges::find(peer.waiting, hello->incarnation, &Session::incarnation);
    if (waiting == peer.waiting.end()) {
      if (peer.waiting.size() == kMostWaiting) peer.waiting.erase(peer.waiting.begin());
      peer.waiting.push_back({hello->incarnation, Seal(*options_.secret, options_.self,
                                                       {hello->from, hello->incarnation})});
      waiting = std::prev(peer.waiting.end());
    }
    // It knows this incarnation: the session can be taken into use at once.
    if (hello->known == options_.self.incarnation)
      outcome.reply = {hello->from,
                       waiting->seal.close(encode({.incarnation = options_.self.incarnation}))};
  }
  if (hello->known != options_.self.incarnation)
    outcome.reply = {hello->from, this->hello(hello->from)};
  return outcome;
}

Sessions::Outcome Sessions::take_sealed(std::string_view datagram) {
  for (auto& [name, peer] : peers_) {
    const bool in_use = peer.current && peer.current->seal.names(datagram);
    const auto waiting = std::ranges::find_if(
        peer.waiting, [&](const Session& session) { return session.seal.names(datagram); });
    if (!in_use && waiting == peer.waiting.end()) continue;
    Session& session = in_use ? *peer.current : *waiting;
    const Result<std::string> message = session.seal.open(datagram);
    if (!message) return refuse(name + ": " + message.error().message);
    if (!in_use) {
      peer.current = std::move(session);
      peer.waiting.clear();
      ++changes_;
    }
    return opened(name, *message);
  }
  return refuse("a datagram of no session");
}

Sessions::Outcome Sessions::take_plain(std::string_view datagram) {
  std::string_view from, bytes;
  wire::ProtoReader reader(datagram);
  while (reader.next()) {
    if (reader.field() == 1) from = reader.bytes();
    if (reader.field() == 2) bytes = reader.bytes();
  }
  if (!reader.ok()) return refuse("not a datagram of an election peer");
  if (!peers_.contains(from)) return refuse("a datagram of one that is no member");
  return opened(std::string(from), bytes);
}

Sessions::Outcome Sessions::opened(const std::string& from, std::string_view bytes) {
  Result<Message> message = decode_message(bytes);
  if (!message) return refuse(from + ": " + message.error().message);
  return {.received = Received{from, std::move(*message)}, .reply = {}, .refused = {}};
}

}  // namespace fairlead::vip
