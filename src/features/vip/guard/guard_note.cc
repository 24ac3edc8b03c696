#include "features/vip/guard/guard_note.h"

#include <charconv>
#include <utility>

namespace fairlead::vip {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = kDigits.find(text[i]), low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

// The first word, taken off the text.
std::string_view take_word(std::string_view& text) {
  const std::size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

}  // namespace

std::string encode(const GuardNote& note) {
  std::string line =
      std::to_string(note.margin.count()) + (note.unfenced ? " unfenced" : " fenced");
  for (const GuardNote::Farewell& one : note.farewells)
    line += " " + one.to.to_string() + " " + to_hex(one.bytes);
  return line + "\n";
}

std::optional<GuardNote> decode_note(std::string_view line) {
  GuardNote note;
  const std::string_view margin = take_word(line);
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(margin.data(), margin.data() + margin.size(), count);
  if (error != std::errc() || end != margin.data() + margin.size() || count < 0)
    return std::nullopt;
  note.margin = Duration(count);
  const std::string_view fence = take_word(line);
  if (fence != "fenced" && fence != "unfenced") return std::nullopt;
  note.unfenced = fence == "unfenced";
  while (!line.empty()) {
    auto to = runtime::Endpoint::parse(take_word(line));
    std::optional<std::string> bytes = from_hex(take_word(line));
    if (!to || !bytes || bytes->empty()) return std::nullopt;
    note.farewells.push_back({std::move(*to), std::move(*bytes)});
  }
  return note;
}

void NoteReader::feed(std::string_view bytes) {
  partial_ += bytes;
  for (std::size_t end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
    if (std::optional<GuardNote> note = decode_note(std::string_view(partial_).substr(0, end)))
      last_ = std::move(note);
    partial_.erase(0, end + 1);
  }
  if (partial_.size() > kLongestLine) partial_.clear();
}

}  // namespace fairlead::vip
