// The options of list and watch requests: parsed, checked, and given the meaning of the table in
// Kubernetes' documentation (resourceVersion × resourceVersionMatch × limit).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "api/apimachinery/request/query.h"
#include "api/apimachinery/selector/selector.h"
#include "api/apimachinery/status.h"
#include "api/resource/kind.h"

namespace fairlead::apimachinery {

enum class ResourceVersionMatch { unset, not_older_than, exact };

struct ListOptions {
  LabelSelector labels;
  FieldSelector fields;
  bool watch = false;
  bool allow_bookmarks = false;
  std::optional<bool> send_initial_events;
  std::string resource_version;  // as sent: "", "0" or decimal
  ResourceVersionMatch match = ResourceVersionMatch::unset;
  std::int64_t limit = 0;  // 0: all
  std::string continue_token;
  std::optional<std::chrono::seconds> timeout;

  // The number in resource_version; nullopt when unset.
  std::optional<std::uint64_t> revision() const;
};

// What a list has to read.
struct ReadAt {
  enum class Freshness {
    newest,          // as of now, consistent
    any,             // whatever the cache has
    not_older_than,  // at least `revision`
    exact,           // exactly `revision`
    continuation,    // as the token says
  };
  Freshness freshness = Freshness::newest;
  std::uint64_t revision = 0;
};

// 400 for what cannot be read (selectors, numbers, resourceVersion), 422 on ListOptions for
// combinations that make no sense. Selectors are checked against the kind.
Answer<ListOptions> parse_list_options(const Query& query, const resource::Kind& kind);
ReadAt read_at(const ListOptions& options);

// resourceVersion of a single GET: nullopt when unset.
Answer<std::optional<std::uint64_t>> parse_get_options(const Query& query);

}  // namespace fairlead::apimachinery
