#include "api/identity/openssl_support.h"

#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstring>

#include "foundation/base/encoding.h"

namespace fairlead::identity::openssl {
namespace {

std::string text_of(const ASN1_STRING* value) {
  unsigned char* utf8 = nullptr;
  const int length = ASN1_STRING_to_UTF8(&utf8, value);
  if (length < 0) {
    ERR_clear_error();
    return {};
  }
  std::string text(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(length));
  OPENSSL_free(utf8);
  return text;
}

Ip ip_from(const unsigned char* bytes, int length) {
  if (length == 4)
    return Ip::v4(std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
                  std::uint32_t{bytes[2]} << 8 | bytes[3]);
  std::array<std::uint8_t, 16> v6{};
  std::memcpy(v6.data(), bytes, v6.size());
  return Ip::v6(v6);
}

Result<> add_entry(X509_NAME* name, const char* field, const std::string& value) {
  if (!X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                  reinterpret_cast<const unsigned char*>(value.data()),
                                  static_cast<int>(value.size()), -1, 0))
    return fail(last_error(Code::invalid, std::string("certificate subject ") + field));
  return {};
}

Result<> add_general_name(GENERAL_NAMES* names, int type, const void* bytes, std::size_t size) {
  Owned<GENERAL_NAME, GENERAL_NAME_free> name(GENERAL_NAME_new());
  Owned<ASN1_STRING, ASN1_STRING_free> value(
      ASN1_STRING_type_new(type == GEN_DNS ? V_ASN1_IA5STRING : V_ASN1_OCTET_STRING));
  if (!name || !value || !ASN1_STRING_set(value.get(), bytes, static_cast<int>(size)))
    return fail(last_error(Code::internal, "certificate name"));
  GENERAL_NAME_set0_value(name.get(), type, value.release());
  if (!sk_GENERAL_NAME_push(names, name.get()))
    return fail(last_error(Code::internal, "certificate name"));
  static_cast<void>(name.release());  // the stack owns it now
  return {};
}

bool is_dns_text(std::string_view text) {
  return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '*';
  });
}

}  // namespace

Error last_error(Code code, std::string_view what) {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  std::string message(what);
  if (const char* reason = error ? ERR_reason_error_string(error) : nullptr)
    message.append(": ").append(reason);
  return {code, std::move(message)};
}

BioPtr read_only(std::string_view text) {
  const auto size = static_cast<int>(std::min<std::size_t>(text.size(), INT_MAX));
  return BioPtr(BIO_new_mem_buf(text.data(), size));
}

std::string content(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  return size > 0 ? std::string(bytes, static_cast<std::size_t>(size)) : std::string();
}

Subject read_subject(const X509_NAME* name) {
  Subject subject;
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    const int field = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (field == NID_commonName)
      subject.common_name = text_of(X509_NAME_ENTRY_get_data(entry));
    else if (field == NID_organizationName)
      subject.organizations.push_back(text_of(X509_NAME_ENTRY_get_data(entry)));
  }
  return subject;
}

Result<NamePtr> make_name(const Subject& subject) {
  NamePtr name(X509_NAME_new());
  if (!name) return fail(last_error(Code::internal, "certificate subject"));
  for (const std::string& organization : subject.organizations) {
    FL_CHECKED(add_entry(name.get(), "O", organization));
  }
  if (!subject.common_name.empty()) {
    FL_CHECKED(add_entry(name.get(), "CN", subject.common_name));
  }
  return name;
}

Names read_names(const GENERAL_NAMES* general) {
  Names names;
  for (int i = 0; general && i < sk_GENERAL_NAME_num(general); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(general, i);
    if (name->type == GEN_DNS) {
      const ASN1_STRING* text = name->d.dNSName;
      names.dns.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                             static_cast<std::size_t>(ASN1_STRING_length(text)));
    } else if (name->type == GEN_IPADD) {
      const int length = ASN1_STRING_length(name->d.iPAddress);
      if (length == 4 || length == 16)
        names.ips.push_back(ip_from(ASN1_STRING_get0_data(name->d.iPAddress), length));
    }
  }
  return names;
}

Result<GeneralNamesPtr> make_general_names(const Names& names) {
  GeneralNamesPtr general;
  if (names.dns.empty() && names.ips.empty()) return general;
  general.reset(GENERAL_NAMES_new());
  if (!general) return fail(last_error(Code::internal, "certificate names"));
  for (const std::string& dns : names.dns) {
    if (!is_dns_text(dns)) return fail(Code::invalid, "not a host name: " + dns);
    FL_CHECKED(add_general_name(general.get(), GEN_DNS, dns.data(), dns.size()));
  }
  for (const Ip& ip : names.ips) {
    const auto* bytes = ip.bytes().data();
    FL_CHECKED(ip.is_v4() ? add_general_name(general.get(), GEN_IPADD, bytes + 12, 4)
                          : add_general_name(general.get(), GEN_IPADD, bytes, 16));
  }
  return general;
}

Result<WallTime> read_time(const ASN1_TIME* time) {
  std::tm civil{};
  if (!time || !ASN1_TIME_to_tm(time, &civil)) return fail(last_error(Code::invalid, "time"));
  const auto date = std::chrono::year(civil.tm_year + 1900) /
                    static_cast<unsigned>(civil.tm_mon + 1) / static_cast<unsigned>(civil.tm_mday);
  if (!date.ok()) return fail(Code::invalid, "time: no such date");
  // WallTime counts nanoseconds: it ends in 2262.
  if (date.year() < std::chrono::year(1700)) return WallTime::min();
  if (date.year() > std::chrono::year(2261)) return WallTime::max();
  const std::chrono::sys_seconds seconds =
      std::chrono::sys_days(date) + std::chrono::hours(civil.tm_hour) +
      std::chrono::minutes(civil.tm_min) + std::chrono::seconds(civil.tm_sec);
  return WallTime(seconds);
}

Result<> set_time(ASN1_TIME* into, WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  if (!ASN1_TIME_set(into, static_cast<std::time_t>(seconds)))
    return fail(last_error(Code::invalid, "certificate time"));
  return {};
}

Result<std::string> key_pin_of(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int length = key ? i2d_PUBKEY(key, &der) : -1;
  if (length <= 0) return fail(last_error(Code::invalid, "public key"));
  const Digest digest =
      sha256(std::string_view(reinterpret_cast<char*>(der), static_cast<std::size_t>(length)));
  OPENSSL_free(der);
  return "sha256:" + encode_hex(as_text(digest));
}

}  // namespace fairlead::identity::openssl
