#include "api/apimachinery/request/list_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/apimachinery/request/option_values.h"

namespace fairlead::apimachinery {
namespace {

using resource::FieldErrors;

FieldErrors check_list(const ListOptions& options, std::string_view match) {
  FieldErrors errors;
  if (!match.empty()) {
    if (options.resource_version.empty()) {
      errors.push_back(resource::forbidden(
          "resourceVersionMatch",
          "resourceVersionMatch is forbidden unless resourceVersion is provided"));
    }
    if (!options.continue_token.empty()) {
      errors.push_back(resource::forbidden(
          "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"));
    }
    if (match != "Exact" && match != "NotOlderThan") {
      errors.push_back(resource::not_supported("resourceVersionMatch", Json(match),
                                               {"", "Exact", "NotOlderThan"}));
    }
    if (match == "Exact" && options.resource_version == "0") {
      errors.push_back(resource::forbidden(
          "resourceVersionMatch",
          "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
    }
  }
  if (options.send_initial_events) {
    errors.push_back(
        resource::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  return errors;
}

FieldErrors check_watch(const ListOptions& options, std::string_view match) {
  FieldErrors errors;
  if (options.send_initial_events && match != "NotOlderThan") {
    errors.push_back(resource::forbidden(
        "resourceVersionMatch",
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  }
  if (match.empty()) return errors;
  if (!options.send_initial_events) {
    errors.push_back(resource::forbidden(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  }
  if (match != "NotOlderThan") {
    errors.push_back(
        resource::not_supported("resourceVersionMatch", Json(match), {"NotOlderThan"}));
  }
  if (!options.continue_token.empty()) {
    errors.push_back(resource::forbidden(
        "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"));
  }
  return errors;
}

ResourceVersionMatch match_of(std::string_view text) {
  if (text == "Exact") return ResourceVersionMatch::exact;
  if (text == "NotOlderThan") return ResourceVersionMatch::not_older_than;
  return ResourceVersionMatch::unset;
}

Result<ListOptions> read_options(const Query& query, const resource::Kind& kind) {
  ListOptions options;
  FL_TRY(options.labels, LabelSelector::parse(query.get_or_empty("labelSelector")));
  FL_TRY(options.fields, FieldSelector::parse(query.get_or_empty("fieldSelector")));
  FL_CHECKED(options.fields.check(kind));
  FL_TRY(const auto watch, bool_option(query, "watch"));
  FL_TRY(const auto bookmarks, bool_option(query, "allowWatchBookmarks"));
  FL_TRY(options.send_initial_events, bool_option(query, "sendInitialEvents"));
  FL_TRY(const auto limit, integer_option(query, "limit"));
  FL_TRY(const auto timeout_seconds, integer_option(query, "timeoutSeconds"));
  options.watch = watch.value_or(false);
  options.allow_bookmarks = bookmarks.value_or(false);
  options.limit = std::max<std::int64_t>(0, limit.value_or(0));
  if (timeout_seconds) {
    // An absurd number means "as long as you like", which the server caps anyway.
    constexpr std::int64_t kDay = 86'400;
    options.timeout = std::chrono::seconds(std::clamp<std::int64_t>(*timeout_seconds, 0, kDay));
  }
  options.continue_token = query.get_or_empty("continue");
  options.resource_version = query.get_or_empty("resourceVersion");
  return options;
}

}  // namespace

std::optional<std::uint64_t> ListOptions::revision() const {
  return decimal_revision(resource_version);
}

Answer<ListOptions> parse_list_options(const Query& query, const resource::Kind& kind) {
  auto options = read_options(query, kind);
  if (!options) return refuse(bad_request(options.error().message));
  const std::string_view match = query.get_or_empty("resourceVersionMatch");
  const FieldErrors errors =
      options->watch ? check_watch(*options, match) : check_list(*options, match);
  if (!errors.empty()) return refuse(invalid("meta.k8s.io", "ListOptions", "", errors));
  options->match = match_of(match);
  if (!options->resource_version.empty() && !options->revision()) {
    return refuse(bad_request(invalid_revision_text(options->resource_version)));
  }
  const bool pinned = !options->resource_version.empty() && options->resource_version != "0";
  if (!options->watch && !options->continue_token.empty() && pinned) {
    return refuse(bad_request("specifying resource version is not allowed when using continue"));
  }
  return std::move(*options);
}

ReadAt read_at(const ListOptions& options) {
  using Freshness = ReadAt::Freshness;
  if (!options.continue_token.empty()) return {Freshness::continuation, 0};
  const auto revision = options.revision();
  if (!revision) return {Freshness::newest, 0};
  if (*revision == 0) return {Freshness::any, 0};
  switch (options.match) {
    case ResourceVersionMatch::exact:
      return {Freshness::exact, *revision};
    case ResourceVersionMatch::not_older_than:
      return {Freshness::not_older_than, *revision};
    case ResourceVersionMatch::unset:
      break;
  }
  return {options.limit > 0 ? Freshness::exact : Freshness::not_older_than, *revision};
}

Answer<std::optional<std::uint64_t>> parse_get_options(const Query& query) {
  const std::string_view text = query.get_or_empty("resourceVersion");
  if (text.empty()) return std::nullopt;
  const auto revision = decimal_revision(text);
  if (!revision) return refuse(bad_request(invalid_revision_text(text)));
  return revision;
}

}  // namespace fairlead::apimachinery
