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
constexpr std::size_t kMostOthers = 4;
constexpr std::size_t kEndedKept = 1'024;

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
  return {.received = {}, .reply = {}, .refused = std::move(why), .knock = {}};
}

Sessions::Outcome knock_of(std::string name) {
  return {
      .received = {}, .reply = {}, .refused = "of one that is no member", .knock = std::move(name)};
}

}  // namespace

void Sessions::set_peers(const std::vector<std::string>& names) {
  ++changes_;
  for (auto& [name, peer] : peers_) peer.member = false;
  for (const std::string& name : names)
    if (name != options_.self.node) peers_[name].member = true;
}

const Sessions::Peer* Sessions::member(std::string_view name) const {
  const auto at = peers_.find(name);
  return at == peers_.end() || !at->second.member ? nullptr : &at->second;
}
Sessions::Peer* Sessions::member(std::string_view name) {
  return const_cast<Peer*>(std::as_const(*this).member(name));
}

void Sessions::set_keys(const std::map<std::string, std::string>& keys) {
  if (keys == keys_) return;
  const std::map<std::string, std::string> before = std::exchange(keys_, keys);
  for (auto& [name, peer] : peers_) {
    const auto key = keys_.find(name);
    const auto old = before.find(name);
    if (key == keys_.end()) {  // nobody can greet with it again
      peer.current.reset();
      peer.others.clear();
    } else if ((old == before.end() || old->second != key->second) && peer.current) {
      add_session(name, peer, peer.current->incarnation, key->second);
    }
  }
  ++changes_;
}

const std::string* Sessions::secret_of(const std::string& peer) const {
  if (!options_.keyed) return options_.secret ? &*options_.secret : nullptr;
  const auto key = keys_.find(peer);
  return key == keys_.end() ? nullptr : &key->second;
}

Sessions::Session& Sessions::add_session(const std::string& name, Peer& peer,
                                         std::uint64_t incarnation, const std::string& secret) {
  if (peer.others.size() == kMostOthers) peer.others.erase(peer.others.begin());
  peer.others.push_back(
      {++made_, incarnation, secret, Seal(secret, options_.self, {name, incarnation})});
  return peer.others.back();
}

bool Sessions::has_session(const std::string& name) const {
  const Peer* peer = member(name);
  return peer && (!authenticated() || peer->current);
}

std::string Sessions::hello(const std::string& to) const {
  const std::string* secret = secret_of(to);
  if (!secret) return "";
  const Peer* peer = member(to);
  std::string body;
  wire::ProtoWriter out(body);
  out.bytes(1, options_.self.node);
  out.number(2, options_.self.incarnation);
  out.bytes(3, to);
  out.number(4, peer ? peer->known : 0);
  return kHelloType + signature(*secret, body) + body;
}

std::string Sessions::plain(const Message& message) const {
  std::string body;
  wire::ProtoWriter out(body);
  out.bytes(1, options_.self.node);
  out.bytes(2, encode(message));
  return kPlainType + body;
}

std::string Sessions::send(const std::string& to, const Message& message) {
  if (!authenticated()) return plain(message);
  Peer* peer = member(to);
  if (!peer) return hello(to);
  if (peer->current) return peer->current->seal.close(encode(message));
  if (!peer->others.empty()) return peer->others.back().seal.close(encode(message));
  return hello(to);
}

std::optional<std::string> Sessions::probe(const std::string& to) {
  Peer* peer = member(to);
  const std::string* secret = secret_of(to);
  if (!options_.keyed || !secret || !peer || !peer->current) return std::nullopt;
  const Session& current = *peer->current;
  if (current.secret == *secret) return std::nullopt;
  for (Session& one : peer->others)
    if (one.secret == *secret && one.incarnation == current.incarnation)
      return one.seal.close(encode({.incarnation = options_.self.incarnation}));
  return std::nullopt;
}

std::optional<std::string> Sessions::farewell(const std::string& to, const Message& message) const {
  if (!authenticated()) return plain(message);
  const Peer* peer = member(to);
  if (!peer || !peer->current) return std::nullopt;
  return peer->current->seal.close_last(encode(message));
}

Sessions::Outcome Sessions::receive(std::string_view datagram) {
  if (datagram.empty()) return refuse("an empty datagram");
  const char type = datagram.front();
  if (!authenticated()) {
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
  const std::optional<Hello> hello = parse_hello(body);
  if (!hello) return refuse("a greeting that is broken");
  Peer* const from = member(hello->from);
  const std::string* secret = secret_of(hello->from);
  if (!secret) return refuse("a greeting of " + hello->from + ", with which there is no key");
  const std::string right = signature(*secret, body);
  if (CRYPTO_memcmp(right.data(), datagram.data(), kSignature) != 0)
    return refuse(options_.keyed ? "a greeting that is not signed with the key of " + hello->from
                                 : "a greeting that is not signed with this election's secret");
  if (hello->to != options_.self.node) return refuse("a greeting for node " + hello->to);
  if (!from) return knock_of(hello->from);
  Peer& peer = *from;
  if (std::ranges::find(peer.ended, hello->incarnation) != peer.ended.end())
    return refuse("a greeting of an engine of " + hello->from +
                  " that has ended: it was recorded, or another machine uses this name");
  Outcome outcome;
  const auto is_it = [&](const Session& one) {
    return one.incarnation == hello->incarnation && one.secret == *secret;
  };
  if (!peer.current || !is_it(*peer.current)) {
    peer.known = hello->incarnation;
    const auto known = std::ranges::find_if(peer.others, is_it);
    Session& session = known != peer.others.end()
                           ? *known
                           : add_session(hello->from, peer, hello->incarnation, *secret);
    // It knows this incarnation: the session can be taken into use at once.
    if (hello->known == options_.self.incarnation)
      outcome.reply = {hello->from,
                       session.seal.close(encode({.incarnation = options_.self.incarnation}))};
  }
  if (hello->known != options_.self.incarnation)
    outcome.reply = {hello->from, this->hello(hello->from)};
  return outcome;
}

// Those of other incarnations have ended with that; those of older keys still open what is late.
void Sessions::take_into_use(Peer& peer, std::size_t other) {
  Session taken = std::move(peer.others[other]);
  peer.others.erase(peer.others.begin() + static_cast<std::ptrdiff_t>(other));
  std::optional<Session> before = std::exchange(peer.current, std::move(taken));
  const std::uint64_t incarnation = peer.current->incarnation;
  if (before && before->incarnation == incarnation) {
    peer.others.insert(peer.others.begin(), std::move(*before));
  } else if (before) {
    peer.ended.push_back(before->incarnation);
    if (peer.ended.size() > kEndedKept) peer.ended.pop_front();
  }
  std::erase_if(peer.others, [&](const Session& one) { return one.incarnation != incarnation; });
  ++changes_;
}

Sessions::Outcome Sessions::take_sealed(std::string_view datagram) {
  for (auto& [name, peer] : peers_) {
    const bool in_use = peer.current && peer.current->seal.names(datagram);
    const auto other = std::ranges::find_if(
        peer.others, [&](const Session& session) { return session.seal.names(datagram); });
    if (!in_use && other == peer.others.end()) continue;
    Session& session = in_use ? *peer.current : *other;
    const Result<std::string> message = session.seal.open(datagram);
    if (!message) return refuse(name + ": " + message.error().message);
    if (!peer.member) return knock_of(name);
    if (!in_use && (!peer.current || session.number > peer.current->number))
      take_into_use(peer, static_cast<std::size_t>(other - peer.others.begin()));
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
  if (!member(from)) return knock_of(std::string(from.substr(0, kLongestName)));
  return opened(std::string(from), bytes);
}

Sessions::Outcome Sessions::opened(const std::string& from, std::string_view bytes) {
  Result<Message> message = decode_message(bytes);
  if (!message) return refuse(from + ": " + message.error().message);
  return {.received = Received{from, std::move(*message)}, .reply = {}, .refused = {}, .knock = {}};
}

}  // namespace fairlead::vip
