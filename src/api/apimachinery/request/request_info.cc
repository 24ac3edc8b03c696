#include "api/apimachinery/request/request_info.h"

#include <algorithm>
#include <array>

namespace fairlead::apimachinery {
namespace {

constexpr std::size_t kMaxTarget = 16 << 10;
constexpr std::size_t kMaxSegments = 12;
constexpr std::array<std::string_view, 2> kNamespaceSubresources = {"status", "finalize"};

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find_first_of("?#"));
}

// Segments are split before decoding, so that %2F stays inside its segment.
Answer<std::vector<std::string>> split_path(std::string_view path) {
  if (path.empty() || path.front() != '/') return refuse(unknown_resource());
  path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  std::vector<std::string> segments;
  while (!path.empty()) {
    const std::string_view raw = path.substr(0, path.find('/'));
    const bool last = raw.size() == path.size();
    path.remove_prefix(last ? raw.size() : raw.size() + 1);
    auto segment = percent_decode(raw, false);
    if (!segment) return refuse(bad_request(segment.error().message));
    const bool clean = !segment->empty() && *segment != "." && *segment != ".." &&
                       segment->find('\0') == std::string::npos;
    if (!clean || segments.size() == kMaxSegments) return refuse(unknown_resource());
    segments.push_back(std::move(*segment));
  }
  return segments;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string_view verb_of(std::string_view method) {
  if (method == "POST") return "create";
  if (method == "GET" || method == "HEAD") return "get";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return "delete";
  return "";
}

bool asks_for_watch(const Query& query) {
  const auto value = query.get("watch");
  return value && !value->empty() && *value != "0" && *value != "false";
}

// What follows the version: [namespaces/{namespace}/]resource[/name[/subresource]].
Answer<> read_parts(std::vector<std::string> parts, RequestInfo& info) {
  if (parts.front() == "namespaces" && parts.size() > 1) {
    info.namespace_name = parts[1];
    const bool subresource =
        parts.size() > 2 && std::find(kNamespaceSubresources.begin(), kNamespaceSubresources.end(),
                                      parts[2]) != kNamespaceSubresources.end();
    if (parts.size() > 2 && !subresource) parts.erase(parts.begin(), parts.begin() + 2);
  }
  if (parts.size() > 3) return refuse(unknown_resource());
  info.resource = parts[0];
  if (parts.size() > 1) info.name = parts[1];
  if (parts.size() > 2) info.subresource = parts[2];
  return {};
}

void refine_verb(const Query& query, RequestInfo& info) {
  if (info.name.empty() && info.verb == "get") {
    info.verb = asks_for_watch(query) ? "watch" : "list";
  } else if (info.name.empty() && info.verb == "delete") {
    info.verb = "deletecollection";
  }
}

}  // namespace

Answer<Query> parse_target_query(std::string_view target) {
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return Query();
  std::string_view text = target.substr(mark + 1);
  text = text.substr(0, text.find('#'));
  auto query = Query::parse(text);
  if (!query) return refuse(bad_request(query.error().message));
  return std::move(*query);
}

Answer<RequestInfo> parse_request(std::string_view method, std::string_view target) {
  if (target.size() > kMaxTarget) return refuse(unknown_resource());
  RequestInfo info;
  info.verb = lower(method);
  auto decoded = percent_decode(path_of(target), false);
  if (!decoded) return refuse(bad_request(decoded.error().message));
  info.path = std::move(*decoded);
  auto split = split_path(path_of(target));
  if (!split) return std::unexpected(std::move(split).error());
  std::vector<std::string> parts = std::move(*split);

  if (parts.size() < 3 || (parts[0] != "api" && parts[0] != "apis")) return info;
  const bool grouped = parts[0] == "apis";
  if (grouped && parts.size() < 4) return info;
  info.is_resource = true;
  if (grouped) info.group = parts[1];
  info.version = parts[grouped ? 2 : 1];
  parts.erase(parts.begin(), parts.begin() + (grouped ? 3 : 2));

  // /api/v1/watch/…, the old form: with a name it watches that one object.
  const bool old_watch = parts[0] == "watch" && parts.size() > 1;
  if (old_watch) parts.erase(parts.begin());
  info.verb = verb_of(method);
  if (old_watch && info.verb == "get") info.verb = "watch";
  if (auto read = read_parts(std::move(parts), info); !read) {
    return std::unexpected(std::move(read).error());
  }
  auto query = parse_target_query(target);
  if (!query) return std::unexpected(std::move(query).error());
  refine_verb(*query, info);
  return info;
}

}  // namespace fairlead::apimachinery
