#include "features/vip/keys/key_offer.h"

#include "api/identity/digest.h"
#include "foundation/wire/protobuf.h"

namespace fairlead::vip {
namespace {

constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestRefusal = 512;

std::string with_length(std::string_view text) {
  std::string out;
  out.push_back(static_cast<char>(text.size() >> 8));
  out.push_back(static_cast<char>(text.size()));
  return out.append(text);
}

}  // namespace

std::string encode(const KeyOffer& offer) {
  std::string body;
  wire::ProtoWriter out(body);
  out.bytes(1, offer.from);
  out.bytes(2, offer.to);
  out.bytes(3, offer.part);
  out.bytes(4, std::string_view(offer.refusal).substr(0, kLongestRefusal));
  return with_length(body);
}

Result<KeyOffer> decode_offer(std::string_view body) {
  KeyOffer offer;
  wire::ProtoReader reader(body);
  while (reader.next()) {
    if (reader.field() == 1) offer.from = reader.bytes();
    if (reader.field() == 2) offer.to = reader.bytes();
    if (reader.field() == 3) offer.part = reader.bytes();
    if (reader.field() == 4) offer.refusal = reader.bytes();
  }
  if (!reader.ok() || offer.from.empty() || offer.from.size() > kLongestName ||
      offer.to.size() > kLongestName || offer.refusal.size() > kLongestRefusal)
    return fail(Code::invalid, "not an offer of an election peer");
  if (offer.refusal.empty() && offer.part.size() != kKeyPartBytes)
    return fail(Code::invalid, "an offer of an election peer without its part of the key");
  return offer;
}

std::string agree(const KeyOffer& dialer, const KeyOffer& acceptor) {
  const std::string text = with_length(dialer.from) + with_length(acceptor.from) +
                           with_length(dialer.part) + with_length(acceptor.part);
  return std::string(identity::as_text(identity::hmac_sha256("fairlead virtual IPs key 1", text)));
}

}  // namespace fairlead::vip
