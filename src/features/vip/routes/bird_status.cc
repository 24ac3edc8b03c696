#include "features/vip/routes/bird_status.h"

#include <vector>

namespace fairlead::vip {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line) {
    if (c != ' ' && c != '\t' && c != '\r') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

template <class Take>
void for_each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(words_of(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

// Name  Proto  Table  State  Since  Info…
std::map<std::string, BirdSession> parse_protocols(std::string_view text) {
  std::map<std::string, BirdSession> sessions;
  for_each_line(text, [&](const std::vector<std::string>& words) {
    if (words.size() < 4 || words[1] != "BGP") return;
    BirdSession session{.established = false, .state = words[3]};
    for (std::size_t i = 5; i < words.size(); ++i) session.state += " " + words[i];
    session.established = words[3] == "up" && words.size() > 5 && words[5] == "Established";
    sessions[words[0]] = std::move(session);
  });
  return sessions;
}

// IP address  Interface  State  Since  Interval  Timeout
std::map<std::string, bool> parse_bfd_sessions(std::string_view text) {
  std::map<std::string, bool> sessions;
  for_each_line(text, [&](const std::vector<std::string>& words) {
    if (words.size() < 5 || words[0] == "IP") return;
    if (words[0].find_first_of(".:") == std::string::npos) return;
    sessions[words[0]] = words[2] == "Up";
  });
  return sessions;
}

bool reconfigured(std::string_view text) {
  return text.contains("Reconfigured") || text.contains("Reconfiguration in progress") ||
         text.contains("Reconfiguration already in progress");
}

}  // namespace fairlead::vip
