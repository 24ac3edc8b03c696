#include "api/apimachinery/request/strict_decoding.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/apimachinery/request/quoted.h"

namespace fairlead::apimachinery {
namespace {

constexpr std::size_t kMaxProblems = 100;
constexpr std::size_t kMaxTotalCharacters = 4096;
constexpr std::size_t kMaxCutCharacters = 256;

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string_view cut_characters(std::string_view text, std::size_t limit) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (starts_character(text[i]) && characters++ == limit) return text.substr(0, i);
  }
  return text;
}

std::string warning_value(std::string_view text) {
  std::string out = "299 - \"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) continue;
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::vector<std::string> decoding_problems(const std::vector<std::string>& duplicates,
                                           const std::vector<std::string>& unknown) {
  std::vector<std::string> problems;
  const auto add = [&](std::string_view what, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      if (problems.size() == kMaxProblems) return;
      problems.push_back(fmt::format("{} field {}", what, quoted(path)));
    }
  };
  add("duplicate", duplicates);
  add("unknown", unknown);
  return problems;
}

Status strict_decoding_error(const std::vector<std::string>& problems) {
  return bad_request(fmt::format("strict decoding error: {}", fmt::join(problems, ", ")));
}

Status strict_decoding_error(const resource::Kind& kind, const std::vector<std::string>& problems) {
  Status status = strict_decoding_error(problems);
  status.message = fmt::format("{} in version {} cannot be handled as a {}: {}", kind.kind,
                               quoted(kind.version), kind.kind, status.message);
  return status;
}

std::vector<std::string> warning_headers(const std::vector<std::string>& texts) {
  std::vector<std::string_view> unique;
  std::size_t total = 0;
  for (const std::string& text : texts) {
    if (text.empty() || std::find(unique.begin(), unique.end(), text) != unique.end()) continue;
    unique.push_back(text);
    total += count_characters(text);
  }
  const bool cut = total > kMaxTotalCharacters;
  std::vector<std::string> headers;
  std::size_t written = 0;
  for (const std::string_view text : unique) {
    const std::string_view shown = cut ? cut_characters(text, kMaxCutCharacters) : text;
    if (cut && written >= kMaxTotalCharacters) break;
    written += count_characters(shown);
    headers.push_back(warning_value(shown));
  }
  return headers;
}

}  // namespace fairlead::apimachinery
