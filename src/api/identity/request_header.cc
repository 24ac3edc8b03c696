// Identity in headers: the aggregator's X-Remote-*. Declared in authenticator.h.
#include <algorithm>
#include <utility>

#include "api/identity/authenticator.h"
#include "api/identity/header_text.h"

namespace fairlead::identity {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The first non-empty value among these names, in the order of the names.
std::string first_value(HeaderFields headers, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    for (const auto& [field, value] : headers)
      if (same_header(field, name) && !value.empty()) return value;
  return {};
}

std::vector<std::string> all_values(HeaderFields headers, const std::vector<std::string>& names) {
  std::vector<std::string> values;
  for (const std::string& name : names)
    for (const auto& [field, value] : headers)
      if (same_header(field, name) && !value.empty()) values.push_back(value);
  return values;
}

void add_extras(HeaderFields headers, std::string_view prefix, User& user) {
  for (const auto& [field, value] : headers) {
    if (field.size() <= prefix.size() || !header_begins(field, prefix)) continue;
    user.extra[extra_key(std::string_view(field).substr(prefix.size()))].push_back(value);
  }
}

// A ConfigMap value that is a JSON array of strings.
Result<> read_list(const Json& data, std::string_view key, std::vector<std::string>& into) {
  const JsonObject* object = data.if_object();
  const Json* value = object ? object->if_contains(key) : nullptr;
  if (!value) return {};
  const Error refused{Code::invalid, std::string(key) + " must be a JSON list of strings"};
  if (!value->is_string()) return fail(refused);
  const auto& text = value->get_string();
  const Result<wire::ParsedJson> parsed = wire::parse_json({text.data(), text.size()});
  if (!parsed || !parsed->value.is_array()) return fail(refused);
  into.clear();
  for (const Json& item : parsed->value.get_array()) {
    if (!item.is_string()) return fail(refused);
    into.emplace_back(item.get_string().data(), item.get_string().size());
  }
  return {};
}

}  // namespace

std::string extra_key(std::string_view text) {
  std::string key;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low >= 0) {
      key += lower(static_cast<char>(high << 4 | low));
      i += 2;
    } else {
      key += lower(text[i]);
    }
  }
  return key;
}

Result<AggregatorAuthentication> decode_aggregator_authentication(const Json& data) {
  AggregatorAuthentication result;
  RequestHeaderOptions& options = result.request_header;
  // An aggregator removes from its clients' requests the headers that it sets itself, and only
  // those: a uid header that it does not name is its client's invention.
  options.uid_headers.clear();
  FL_CHECKED(read_list(data, "requestheader-allowed-names", options.allowed_names));
  FL_CHECKED(read_list(data, "requestheader-username-headers", options.username_headers));
  FL_CHECKED(read_list(data, "requestheader-group-headers", options.group_headers));
  FL_CHECKED(read_list(data, "requestheader-uid-headers", options.uid_headers));
  FL_CHECKED(read_list(data, "requestheader-extra-headers-prefix", options.extra_prefixes));
  if (!data.is_object()) return fail(Code::invalid, "expected an object");
  const auto text = [&data](std::string_view key) -> std::string_view {
    const Json* value = data.get_object().if_contains(key);
    if (!value || !value->is_string()) return {};
    return {value->get_string().data(), value->get_string().size()};
  };
  result.client_ca = text("client-ca-file");
  if (const std::string_view ca = text("requestheader-client-ca-file"); !ca.empty()) {
    Result<TrustStore> trust = TrustStore::parse_pem(ca);
    if (!trust) return fail(trust.error().context("requestheader-client-ca-file"));
    options.trust = std::move(*trust);
  }
  return result;
}

RequestHeaderAuthenticator::RequestHeaderAuthenticator(RequestHeaderOptions options)
    : options_(std::move(options)) {}

void RequestHeaderAuthenticator::set_options(RequestHeaderOptions options) {
  options_ = std::move(options);
  cache_.clear();
}

// The outcome is the proxy itself when it may speak for others, null when its headers count for
// nothing.
CertificateCache::Entry RequestHeaderAuthenticator::judge(const std::string& pem,
                                                          WallTime now) const {
  CertificateCache::Entry refused{CertificateCache::refused(now), UserRef(), {}};
  const Result<Certificate> certificate = Certificate::parse_pem(pem);
  if (!certificate) return refused;
  const std::string& name = certificate->subject().common_name;
  const std::vector<std::string>& allowed = options_.allowed_names;
  const bool listed = allowed.empty() || std::ranges::find(allowed, name) != allowed.end();
  if (!listed || !options_.trust.verify(*certificate, Purpose::client, now)) return refused;
  return {CertificateCache::accepted(*certificate, now),
          std::make_shared<const User>(User{name, {}, {}, {}}), certificate->key_pin()};
}

std::optional<Result<UserRef>> RequestHeaderAuthenticator::authenticate_now(
    const AuthRequest& request) {
  if (!request.peer || request.peer->certificate.empty() || options_.trust.empty())
    return UserRef();
  const std::string& pem = request.peer->certificate;
  const CertificateCache::Entry& proxy =
      cache_.find_or(pem, request.now, [&] { return judge(pem, request.now); });
  if (!proxy.outcome || !*proxy.outcome) return UserRef();
  User user;
  user.name = first_value(request.headers, options_.username_headers);
  if (user.name.empty()) return UserRef();
  user.groups = all_values(request.headers, options_.group_headers);
  user.uid = first_value(request.headers, options_.uid_headers);
  for (const std::string& prefix : options_.extra_prefixes)
    add_extras(request.headers, prefix, user);
  return std::make_shared<const User>(with_authenticated_group(std::move(user)));
}

bool RequestHeaderAuthenticator::looks_at(std::string_view name) const {
  const auto listed = [name](const std::vector<std::string>& names) {
    return std::ranges::any_of(names,
                               [name](const auto& other) { return same_header(name, other); });
  };
  return listed(options_.username_headers) || listed(options_.group_headers) ||
         listed(options_.uid_headers) ||
         std::ranges::any_of(options_.extra_prefixes,
                             [name](const auto& prefix) { return header_begins(name, prefix); });
}

}  // namespace fairlead::identity
