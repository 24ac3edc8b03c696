#include "node/agent/explanation.h"

#include <algorithm>

#include "foundation/wire/utf8.h"

namespace fairlead::agent {
namespace {

// The length of the UTF-8 character that `text` begins with; 0: none.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  return length <= text.size() && wire::is_utf8(text.substr(0, length)) ? length : 0;
}

// C0, DEL and C1, the last in UTF-8: what terminals take for commands.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

std::string since_text(const std::string& since) {
  return since.empty() ? "" : " (since " + printable(since) + ")";
}

Json missing_json(const Missing& missing) {
  return JsonObject{{"what", missing.what},
                    {"why", missing.why},
                    {"remedy", missing.remedy},
                    {"since", missing.since}};
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || is_control(character)) {
      out += '?';
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  return out;
}

std::string to_text(const Explanation& explanation) {
  std::string text = printable(explanation.subject) + ": " +
                     (explanation.fulfilled ? "as it should be" : "not as it should be") +
                     ", says " + printable(explanation.witness) + "\n";
  text += "  wanted:  " + printable(explanation.wanted) + "\n";
  text += "  is:      " + printable(explanation.actual) + since_text(explanation.since) + "\n";
  for (const Missing& missing : explanation.missing) {
    text += "  missing: " + printable(missing.what) + ": " + printable(missing.why) +
            since_text(missing.since) + "\n";
    if (!missing.remedy.empty()) text += "           " + printable(missing.remedy) + "\n";
  }
  for (const std::string& note : explanation.notes) text += "  note:    " + printable(note) + "\n";
  return text;
}

Json to_json(const Explanation& explanation) {
  JsonArray missing;
  for (const Missing& one : explanation.missing) missing.push_back(missing_json(one));
  JsonArray notes;
  for (const std::string& note : explanation.notes) notes.emplace_back(note);
  return JsonObject{{"subject", explanation.subject},     {"witness", explanation.witness},
                    {"fulfilled", explanation.fulfilled}, {"wanted", explanation.wanted},
                    {"actual", explanation.actual},       {"since", explanation.since},
                    {"missing", std::move(missing)},      {"notes", std::move(notes)}};
}

Result<Explanation> parse_explanation(const Json& value) {
  Result<Explanation> parsed = resource::decode<Explanation>(value);
  if (!parsed) return fail(Code::corrupt, "not an explanation: " + parsed.error().message);
  return parsed;
}

}  // namespace fairlead::agent
