// extendedMetadata: when each section of an object was last written, to the microsecond. The server
// keeps it; what clients send is ignored. Latencies from a client's write to its effect are
// measured from these times, because creationTimestamp has seconds only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource/schema/describe.h"

namespace fairlead::resource {

struct WriteTime {
  std::string section;
  MicroTime server_time;

  template <class V>
  static void describe(V& v) {
    v.field("section", &WriteTime::section)
        .required()
        .description("The section of the object, for example spec.");
    v.field("serverTime", &WriteTime::server_time)
        .required()
        .description("The server's time of the latest write that changed the section.");
  }
};

struct ExtendedMetadata {
  std::vector<WriteTime> writes;

  template <class V>
  static void describe(V& v) {
    v.field("writes", &ExtendedMetadata::writes)
        .keyed_by({"section"})
        .description("The latest write to each section, kept by the server.");
  }

  // When `section` was last written; nothing if it never was.
  std::optional<Moment> written(std::string_view section) const;
};

// Null and missing are the same.
bool same_content(const Json* a, const Json* b);

// A section is the content at some paths.
struct Section {
  std::string name;
  std::vector<std::string> paths;
};

// Sets extendedMetadata of `object`: the times of `old`, with `now` for every section whose content
// differs (on create: that has content).
void stamp_writes(const std::vector<Section>& sections, Json& object, const Json* old, Moment now);

}  // namespace fairlead::resource
