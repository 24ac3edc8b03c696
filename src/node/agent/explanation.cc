#include "node/agent/explanation.h"

namespace fairlead::agent {
namespace {

std::string since_text(const std::string& since) {
  return since.empty() ? "" : " (since " + since + ")";
}

Json missing_json(const Missing& missing) {
  return JsonObject{{"what", missing.what},
                    {"why", missing.why},
                    {"remedy", missing.remedy},
                    {"since", missing.since}};
}

}  // namespace

std::string to_text(const Explanation& explanation) {
  std::string text = explanation.subject + ": " +
                     (explanation.fulfilled ? "as it should be" : "not as it should be") +
                     ", says " + explanation.witness + "\n";
  text += "  wanted:  " + explanation.wanted + "\n";
  text += "  is:      " + explanation.actual + since_text(explanation.since) + "\n";
  for (const Missing& missing : explanation.missing) {
    text += "  missing: " + missing.what + ": " + missing.why + since_text(missing.since) + "\n";
    if (!missing.remedy.empty()) text += "           " + missing.remedy + "\n";
  }
  for (const std::string& note : explanation.notes) text += "  note:    " + note + "\n";
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
