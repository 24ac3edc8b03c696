// Explanation: the answer to `fairlead why KIND NAME`, in one shape for all features: what is
// wanted, what is, and what is missing, why and since when. Made by pure functions from facts;
// travels as JSON over the agent's admin socket and to `-o json`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/resource/schema/describe.h"
#include "foundation/wire/json.h"

namespace fairlead::agent {

// One thing that is missing.
struct Missing {
  std::string what;    // "an address"
  std::string why;     // "all addresses of its subnet are taken"
  std::string remedy;  // what somebody can do; empty: wait
  std::string since;   // RFC 3339; empty: not known

  bool operator==(const Missing&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("what", &Missing::what);
    v.field("why", &Missing::why);
    v.field("remedy", &Missing::remedy);
    v.field("since", &Missing::since);
  }
};

struct Explanation {
  std::string subject;  // "attachment default/web"
  std::string witness;  // who says so: "the API", "the agent of node a"
  bool fulfilled = false;
  std::string wanted;            // one sentence
  std::string actual;            // one sentence
  std::string since;             // of the actual state, RFC 3339; empty: not known
  std::vector<Missing> missing;  // the first cause first; empty if fulfilled
  std::vector<std::string> notes;

  bool operator==(const Explanation&) const = default;
  template <class V>
  static void describe(V& v) {
    v.field("subject", &Explanation::subject);
    v.field("witness", &Explanation::witness);
    v.field("fulfilled", &Explanation::fulfilled);
    v.field("wanted", &Explanation::wanted);
    v.field("actual", &Explanation::actual);
    v.field("since", &Explanation::since);
    v.field("missing", &Explanation::missing);
    v.field("notes", &Explanation::notes);
  }
};

// For a terminal: control characters become question marks, because whoever may write an object's
// messages must not be able to command it.
std::string printable(std::string_view text);

// For people, several lines, all printable.
std::string to_text(const Explanation& explanation);
// For programs: all members, also empty ones.
Json to_json(const Explanation& explanation);
// Fails with corrupt: what came was not one.
Result<Explanation> parse_explanation(const Json& value);

}  // namespace fairlead::agent
