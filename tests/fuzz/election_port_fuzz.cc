// What strangers send to the port of an election: datagrams to engines with a secret, with keys and
// without both, and offers of keys. Nothing is received under a seal, whatever is decoded is encoded
// and decoded to the same again.
#include "features/vip/keys/key_offer.h"
#include "features/vip/peers/sessions.h"
#include "foundation/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace fairlead::vip;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto offer = decode_offer(bytes)) {
    const auto again = decode_offer(std::string_view(encode(*offer)).substr(2));
    CHECK(again && *again == *offer);
  }
  Sessions plain({.self = {"a", 1}, .secret = {}, .keyed = false});
  Sessions sealed({.self = {"a", 1}, .secret = "of the site", .keyed = false});
  Sessions keyed({.self = {"a", 1}, .secret = {}, .keyed = true});
  keyed.set_keys({{"b", "of the two"}});
  for (Sessions* one : {&plain, &sealed, &keyed}) {
    one->set_peers({"a", "b"});
    const Sessions::Outcome outcome = one->receive(bytes);
    CHECK(one == &plain || !outcome.received);
  }
  return 0;
}
