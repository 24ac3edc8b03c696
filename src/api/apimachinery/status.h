// Status: the answer Kubernetes gives instead of an object when a request fails (and when a delete
// succeeded). One constructor per case, each with the wording that clients and people know.
//
// Used by every layer that decides on requests; the API server turns one into the response, with
// `code` as HTTP status and `details.retry_after_seconds` as Retry-After header. Pure values.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resource/kind.h"
#include "api/resource/schema/field_error.h"
#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
};

struct StatusDetails {
  std::string name;
  std::string group;
  std::string kind;  // the resource ("widgets") for NotFound and its like, the Kind for Invalid
  std::string uid;
  std::vector<StatusCause> causes;
  int retry_after_seconds = 0;
};

struct Status {
  int code = 500;
  std::string reason;
  std::string message;
  std::optional<StatusDetails> details;
  bool success = false;
  std::string continue_token;  // metadata.continue of an expired continuation

  Json to_json() const;
};

// What a request is about, as messages name it: "leases.coordination.k8s.io".
struct GroupResource {
  std::string group;
  std::string resource;
  std::string qualified() const;
};
GroupResource group_resource(const resource::Kind& kind);

// A value, or the Status to answer with.
template <class T = void>
using Answer = std::expected<T, Status>;

inline std::unexpected<Status> refuse(Status status) { return std::unexpected(std::move(status)); }

// 4xx
Status bad_request(std::string message);
Status unauthorized(std::string message = "Unauthorized");
Status not_found(const GroupResource& resource, std::string_view name);
// A path or resource type that is not served at all.
Status unknown_resource();
Status method_not_allowed(const GroupResource& resource, std::string_view action);
Status not_acceptable(const std::vector<std::string_view>& accepted);
Status unsupported_media_type(const std::vector<std::string_view>& accepted);
Status already_exists(const GroupResource& resource, std::string_view name);
// Another object of that name waits for its finalizers.
Status being_deleted(const GroupResource& resource, std::string_view name);
Status generate_name_conflict(const GroupResource& resource, std::string_view name);
Status conflict(const GroupResource& resource, std::string_view name, std::string_view why);
// conflict() with the sentence for a stale resourceVersion.
Status modified(const GroupResource& resource, std::string_view name);
Status uid_mismatch(const GroupResource& resource, std::string_view name, std::string_view wanted,
                    std::string_view found);
Status apply_conflict(std::string message, std::vector<StatusCause> causes);
Status gone(std::string message);
Status expired(std::string message);  // reason Expired
Status expired_continue(std::string fresh_token);
Status request_entity_too_large(std::string_view limit);
Status invalid(std::string_view group, std::string_view kind, std::string_view name,
               const resource::FieldErrors& errors);
Status invalid(const resource::Kind& kind, std::string_view name,
               const resource::FieldErrors& errors);
// A JSON patch that could not be applied.
Status patch_failed(std::string_view why);
Status too_many_requests(std::string message, int retry_after_seconds);

// What was asked for, in the words of an authoriser. Empty resource: `path` is a non-resource path.
struct Attempt {
  std::string user;
  std::string verb;
  std::string group;
  std::string resource;
  std::string subresource;
  std::string namespace_name;
  std::string name;
  std::string path;
};
Status forbidden(const Attempt& attempt, std::string_view reason = {});
// Refused by admission: `<resource> "<name>" is forbidden: <why>`.
Status forbidden(const GroupResource& resource, std::string_view name, std::string_view why);
// `create` in a namespace that is going away; cause NamespaceTerminating.
Status namespace_terminating(const GroupResource& resource, std::string_view name,
                             std::string_view namespace_name);

// 5xx
Status internal_error(std::string_view why);
Status server_timeout(const GroupResource& resource, std::string_view operation, int retry_after);
Status service_unavailable(std::string message);
Status timeout(std::string_view message, int retry_after_seconds = 0);
Status too_large_resource_version(std::uint64_t asked, std::uint64_t current);

// 200 after a delete that removed the object.
Status deleted(const GroupResource& resource, std::string_view name, std::string_view uid);

// The one table from our error codes to HTTP status and reason, and the way back for callers inside
// the server, which distinguish refusals by their code.
Status status_of(const Error& error);
Error error_of(const Status& status);

}  // namespace fairlead::apimachinery
