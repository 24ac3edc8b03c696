#include "api/apimachinery/request/media_type.h"

#include <algorithm>
#include <charconv>

namespace fairlead::apimachinery {
namespace {

// More clauses than any client sends.
constexpr std::size_t kMaxClauses = 32;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string_view unquote(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

std::string_view next_part(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return trim(part);
}

}  // namespace

std::string_view MediaType::parameter(std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) return value;
  }
  return {};
}

double MediaType::quality() const {
  const std::string_view text = parameter("q");
  double quality = 1;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), quality);
  if (text.empty() || status != std::errc{} || end != text.data() + text.size()) return 1;
  return quality;
}

bool MediaType::matches(std::string_view wanted_type, std::string_view wanted_subtype) const {
  return (type == "*" || type == wanted_type) && (subtype == "*" || subtype == wanted_subtype);
}

MediaType parse_media_type(std::string_view text) {
  MediaType media;
  const std::string_view essence = next_part(text, ';');
  const std::size_t slash = essence.find('/');
  media.type = lower(trim(essence.substr(0, slash)));
  if (slash != std::string_view::npos) media.subtype = lower(trim(essence.substr(slash + 1)));
  while (!text.empty()) {
    const std::string_view parameter = next_part(text, ';');
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos) continue;
    media.parameters.emplace_back(lower(trim(parameter.substr(0, equals))),
                                  unquote(trim(parameter.substr(equals + 1))));
  }
  return media;
}

std::vector<MediaType> parse_accept(std::string_view header) {
  if (trim(header).empty()) header = "*/*";
  std::vector<std::pair<double, MediaType>> clauses;
  while (!header.empty() && clauses.size() < kMaxClauses) {
    MediaType media = parse_media_type(next_part(header, ','));
    const double quality = media.quality();
    if (media.type.empty() || quality <= 0) continue;
    // Among equals the first one stays first.
    const auto place = std::find_if(clauses.begin(), clauses.end(),
                                    [&](const auto& other) { return other.first < quality; });
    clauses.insert(place, {quality, std::move(media)});
  }
  std::vector<MediaType> types;
  for (auto& [quality, media] : clauses) types.push_back(std::move(media));
  return types;
}

}  // namespace fairlead::apimachinery
