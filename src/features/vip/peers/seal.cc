#include "features/vip/peers/seal.h"

#include <openssl/evp.h>
#include <openssl/kdf.h>

#include <limits>
#include <memory>

#include "foundation/base/check.h"

namespace fairlead::vip {
namespace {

constexpr std::size_t kTag = 16;
constexpr std::size_t kName = 8;
constexpr std::size_t kHead = 1 + kName + 8;
constexpr std::size_t kNonce = 12;

const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* raw(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string number(std::uint64_t value) {
  std::string text(8, '\0');
  for (int i = 7; i >= 0; --i, value >>= 8)
    text[static_cast<std::size_t>(i)] = static_cast<char>(value);
  return text;
}

std::string name(const SealEnd& end) {
  return number(end.node.size()) + end.node + number(end.incarnation);
}

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

Context cipher(bool seal, const std::array<unsigned char, 32>& key, std::string_view head) {
  Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  const std::string nonce = std::string(kNonce - 8, '\0') + std::string(head.substr(1 + kName, 8));
  int length = 0;
  CHECK(context &&
        EVP_CipherInit_ex(context.get(), EVP_chacha20_poly1305(), nullptr, key.data(), raw(nonce),
                          seal ? 1 : 0) > 0 &&
        EVP_CipherUpdate(context.get(), nullptr, &length, raw(head),
                         static_cast<int>(head.size())) > 0);
  return context;
}

}  // namespace

Seal::Key Seal::derive(std::string_view secret, const SealEnd& from, const SealEnd& to) {
  const std::string info = "fairlead virtual IPs 1" + name(from) + name(to);
  std::array<unsigned char, 32 + kName> derived;
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr), EVP_PKEY_CTX_free);
  std::size_t length = derived.size();
  CHECK(context && EVP_PKEY_derive_init(context.get()) > 0 &&
        EVP_PKEY_CTX_set_hkdf_md(context.get(), EVP_sha256()) > 0 &&
        EVP_PKEY_CTX_set1_hkdf_key(context.get(), raw(secret), static_cast<int>(secret.size())) >
            0 &&
        EVP_PKEY_CTX_add1_hkdf_info(context.get(), raw(info), static_cast<int>(info.size())) > 0 &&
        EVP_PKEY_derive(context.get(), derived.data(), &length) > 0);
  Key key;
  std::copy_n(derived.begin(), key.secret.size(), key.secret.begin());
  key.name.assign(derived.begin() + key.secret.size(), derived.end());
  return key;
}

Seal::Seal(std::string_view secret, const SealEnd& self, const SealEnd& peer)
    : send_key_(derive(secret, self, peer)), receive_key_(derive(secret, peer, self)) {}

std::string Seal::close(std::string_view message) {
  CHECK(sent_ < std::numeric_limits<std::uint64_t>::max() - 1);
  return close_as(++sent_, message);
}

std::string Seal::close_last(std::string_view message) const {
  return close_as(std::numeric_limits<std::uint64_t>::max(), message);
}

std::string Seal::close_as(std::uint64_t count, std::string_view message) const {
  std::string datagram = kSealedType + send_key_.name + number(count);
  const Context context = cipher(true, send_key_.secret, datagram);
  datagram.resize(kHead + message.size() + kTag);
  int length = 0;
  CHECK(EVP_CipherUpdate(context.get(), raw(datagram) + kHead, &length, raw(message),
                         static_cast<int>(message.size())) > 0 &&
        EVP_CipherFinal_ex(context.get(), raw(datagram) + kHead + length, &length) > 0 &&
        EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kTag,
                            raw(datagram) + kHead + message.size()) > 0);
  return datagram;
}

bool Seal::names(std::string_view datagram) const {
  return datagram.size() >= kSealOverhead && datagram[0] == kSealedType &&
         datagram.substr(1, kName) == receive_key_.name;
}

Result<std::string> Seal::open(std::string_view datagram) {
  const Error wrong{Code::invalid, "the seal is not the peer's"};
  if (!names(datagram)) return fail(wrong);
  std::uint64_t count = 0;
  for (const char byte : datagram.substr(1 + kName, 8))
    count = count << 8 | static_cast<unsigned char>(byte);
  if (!is_new(count)) return fail(Code::invalid, "the datagram is repeated or too old");
  const Context context = cipher(false, receive_key_.secret, datagram.substr(0, kHead));
  std::string message(datagram.size() - kSealOverhead, '\0');
  std::string tag(datagram.substr(datagram.size() - kTag));
  int length = 0;
  const bool right =
      EVP_CipherUpdate(context.get(), raw(message), &length, raw(datagram.substr(kHead)),
                       static_cast<int>(message.size())) > 0 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kTag, tag.data()) > 0 &&
      EVP_CipherFinal_ex(context.get(), raw(message) + length, &length) > 0;
  if (!right) return fail(wrong);
  accept(count);
  return message;
}

bool Seal::is_new(std::uint64_t count) const {
  if (count > highest_) return true;
  const std::uint64_t age = highest_ - count;
  return count > 0 && age < kWindow && (window_ >> age & 1) == 0;
}

void Seal::accept(std::uint64_t count) {
  if (count > highest_) {
    const std::uint64_t step = count - highest_;
    window_ = step >= kWindow ? 0 : window_ << step;
    highest_ = count;
  }
  window_ |= std::uint64_t{1} << (highest_ - count);
}

}  // namespace fairlead::vip
