#include "api/identity/token.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <utility>

#include "foundation/base/check.h"
#include "foundation/base/encoding.h"

namespace fairlead::identity {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kMaxTokenText = 16 << 10;
constexpr std::string_view kNodeTokenPrefix = "fln1.";

bool is_token_text(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTokenText &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

Error in_line(std::size_t line, std::string_view what) {
  return {Code::invalid, "token file line " + std::to_string(line) + ": " + std::string(what)};
}

// One record of RFC 4180 on one line: fields by commas, quoted where they contain one.
Result<std::vector<std::string>> split_csv(std::string_view line, std::size_t number) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  bool was_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted) {
      if (c != '"') {
        fields.back() += c;
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += '"';
        ++i;
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      if (was_quoted || !trimmed(fields.back()).empty())
        return fail(in_line(number, "stray quotation mark"));
      fields.back().clear();
      quoted = was_quoted = true;
    } else if (c == ',') {
      fields.emplace_back();
      was_quoted = false;
    } else if (!was_quoted) {
      fields.back() += c;
    } else if (c != ' ' && c != '\t') {
      return fail(in_line(number, "text after a quoted field"));
    }
  }
  if (quoted) return fail(in_line(number, "quotation mark is not closed"));
  return fields;
}

std::vector<std::string> split_groups(std::string_view text) {
  std::vector<std::string> groups;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (const std::string_view group = trimmed(text.substr(0, comma)); !group.empty())
      groups.emplace_back(group);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return groups;
}

Result<StaticToken> parse_token_line(std::string_view line, std::size_t number) {
  FL_TRY(std::vector<std::string> fields, split_csv(line, number));
  if (fields.size() < 3) return fail(in_line(number, "expected token,user,uid[,\"groups\"]"));
  if (fields.size() > 4)
    return fail(in_line(number, "too many fields; several groups belong into quotation marks"));
  for (std::string& field : fields) field = trimmed(field);
  if (!is_token_text(fields[0]))
    return fail(in_line(number, "the token is empty or not plain text"));
  if (fields[1].empty()) return fail(in_line(number, "the user is empty"));
  StaticToken token{std::move(fields[0]), {}};
  token.user.name = std::move(fields[1]);
  token.user.uid = std::move(fields[2]);
  if (fields.size() == 4) token.user.groups = split_groups(fields[3]);
  return token;
}

}  // namespace

std::string make_token(const Random& random) {
  return encode_base64url(random_bytes(random, kTokenBytes));
}

std::optional<std::string_view> bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  authorization = trimmed(authorization);
  if (authorization.size() <= kScheme.size()) return std::nullopt;
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char c = authorization[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) != kScheme[i]) return std::nullopt;
  }
  return trimmed(authorization.substr(kScheme.size()));
}

Result<std::vector<StaticToken>> parse_token_file(std::string_view text) {
  std::vector<StaticToken> tokens;
  std::set<std::string, std::less<>> seen;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    FL_TRY(StaticToken token, parse_token_line(line, number));
    if (!seen.insert(token.token).second)
      return fail(in_line(number, "this token was given before"));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Result<std::string> parse_single_token(std::string_view text) {
  const std::string_view token = trimmed(text);
  if (!is_token_text(token)) return fail(Code::invalid, "expected one token on one line");
  return std::string(token);
}

void TokenTable::add(std::string_view token, UserRef user) {
  users_[sha256(token)] = std::move(user);
}

UserRef TokenTable::find(std::string_view token) const {
  const auto found = users_.find(sha256(token));
  return found == users_.end() ? nullptr : found->second;
}

// --- tokens bound to a node
// --------------------------------------------------------------------------

namespace {

std::string node_token_mac(std::string_view key, std::string_view signed_part) {
  const Digest mac = hmac_sha256(key, signed_part);
  return encode_base64url(as_text(mac));
}

}  // namespace

std::string make_node_token(std::string_view key, std::string_view node, WallTime expires) {
  CHECK(!key.empty());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(expires).time_since_epoch().count();
  std::string token(kNodeTokenPrefix);
  token.append(encode_base64url(node)).append(".").append(std::to_string(seconds));
  return token + "." + node_token_mac(key, token);
}

bool looks_like_node_token(std::string_view token) { return token.starts_with(kNodeTokenPrefix); }

Result<std::string> check_node_token(std::string_view key, std::string_view token, WallTime now) {
  const Error refused{Code::unauthorized, "node token is not valid"};
  const std::size_t mac_dot = token.rfind('.');
  if (key.empty() || !looks_like_node_token(token) || mac_dot < kNodeTokenPrefix.size())
    return fail(refused);
  const std::string_view signed_part = token.substr(0, mac_dot);
  if (!equal_in_constant_time(token.substr(mac_dot + 1), node_token_mac(key, signed_part)))
    return fail(refused);
  const std::string_view body = signed_part.substr(kNodeTokenPrefix.size());
  const std::size_t dot = body.find('.');
  if (dot == std::string_view::npos) return fail(refused);
  const std::string_view expiry = body.substr(dot + 1);
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(expiry.data(), expiry.data() + expiry.size(), seconds);
  if (error != std::errc() || end != expiry.data() + expiry.size()) return fail(refused);
  const auto now_seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  if (now_seconds >= seconds) return fail(Code::unauthorized, "node token has expired");
  Result<std::string> node = decode_base64url(body.substr(0, dot));
  if (!node || !is_node_name(*node)) return fail(refused);
  return node;
}

}  // namespace fairlead::identity
