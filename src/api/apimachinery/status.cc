#include "api/apimachinery/status.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/apimachinery/request/quoted.h"

namespace fairlead::apimachinery {
namespace {

using resource::FieldError;
using resource::FieldErrors;

Status make(int code, std::string_view reason, std::string message) {
  Status status;
  status.code = code;
  status.reason = reason;
  status.message = std::move(message);
  return status;
}

Status about(const GroupResource& resource, std::string_view name, Status status) {
  StatusDetails details;
  details.name = name;
  details.group = resource.group;
  details.kind = resource.resource;
  status.details = std::move(details);
  return status;
}

std::string join(const std::vector<std::string_view>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

// One error stands alone; several are listed in brackets, each once.
std::string joined_errors(const FieldErrors& errors) {
  std::vector<std::string> texts;
  for (const FieldError& error : errors) {
    std::string text = error.to_string();
    if (std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(std::move(text));
  }
  if (texts.size() == 1) return texts.front();
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// User names and paths come from strangers and may end up in a browser.
std::string without_markup(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string attempt_text(const Attempt& attempt) {
  if (attempt.resource.empty()) {
    return fmt::format("User {} cannot {} path {}", quoted(attempt.user), attempt.verb,
                       quoted(attempt.path));
  }
  const std::string what =
      attempt.subresource.empty() ? attempt.resource : attempt.resource + "/" + attempt.subresource;
  const std::string where = attempt.namespace_name.empty()
                                ? "at the cluster scope"
                                : "in the namespace " + quoted(attempt.namespace_name);
  return fmt::format("User {} cannot {} resource {} in API group {} {}", quoted(attempt.user),
                     attempt.verb, quoted(what), quoted(attempt.group), where);
}

JsonArray causes_json(const std::vector<StatusCause>& causes) {
  JsonArray array;
  for (const StatusCause& cause : causes) {
    JsonObject entry;
    if (!cause.reason.empty()) entry["reason"] = cause.reason;
    if (!cause.message.empty()) entry["message"] = cause.message;
    if (!cause.field.empty()) entry["field"] = cause.field;
    array.push_back(std::move(entry));
  }
  return array;
}

JsonObject details_json(const StatusDetails& details) {
  JsonObject object;
  if (!details.name.empty()) object["name"] = details.name;
  if (!details.group.empty()) object["group"] = details.group;
  if (!details.kind.empty()) object["kind"] = details.kind;
  if (!details.uid.empty()) object["uid"] = details.uid;
  if (!details.causes.empty()) object["causes"] = causes_json(details.causes);
  if (details.retry_after_seconds > 0) object["retryAfterSeconds"] = details.retry_after_seconds;
  return object;
}

Status retry_after(Status status, int seconds) {
  if (!status.details) status.details.emplace();
  status.details->retry_after_seconds = seconds;
  return status;
}

}  // namespace

std::string GroupResource::qualified() const {
  return group.empty() ? resource : resource + "." + group;
}

GroupResource group_resource(const resource::Kind& kind) { return {kind.group, kind.plural}; }

Json Status::to_json() const {
  JsonObject metadata;
  if (!continue_token.empty()) metadata["continue"] = continue_token;
  JsonObject object;
  object["kind"] = "Status";
  object["apiVersion"] = "v1";
  object["metadata"] = std::move(metadata);
  object["status"] = success ? "Success" : "Failure";
  if (!message.empty()) object["message"] = message;
  if (!reason.empty()) object["reason"] = reason;
  if (details) object["details"] = details_json(*details);
  if (!success) object["code"] = code;
  return object;
}

Status bad_request(std::string message) { return make(400, "BadRequest", std::move(message)); }

Status unauthorized(std::string message) { return make(401, "Unauthorized", std::move(message)); }

Status not_found(const GroupResource& resource, std::string_view name) {
  return about(
      resource, name,
      make(404, "NotFound", fmt::format("{} {} not found", resource.qualified(), quoted(name))));
}

Status unknown_resource() {
  Status status = make(404, "NotFound", "the server could not find the requested resource");
  status.details.emplace();
  return status;
}

Status method_not_allowed(const GroupResource& resource, std::string_view action) {
  return about(resource, {},
               make(405, "MethodNotAllowed",
                    fmt::format("{} is not supported on resources of kind {}", action,
                                quoted(resource.qualified()))));
}

Status not_acceptable(const std::vector<std::string_view>& accepted) {
  return make(406, "NotAcceptable",
              "only the following media types are accepted: " + join(accepted));
}

Status unsupported_media_type(const std::vector<std::string_view>& accepted) {
  return make(415, "UnsupportedMediaType",
              "the body of the request was in an unknown format - accepted media types include: " +
                  join(accepted));
}

Status already_exists(const GroupResource& resource, std::string_view name) {
  return about(resource, name,
               make(409, "AlreadyExists",
                    fmt::format("{} {} already exists", resource.qualified(), quoted(name))));
}

Status being_deleted(const GroupResource& resource, std::string_view name) {
  Status status = already_exists(resource, name);
  status.message = "object is being deleted: " + status.message;
  return status;
}

Status generate_name_conflict(const GroupResource& resource, std::string_view name) {
  Status status = already_exists(resource, name);
  status.message += ", the server was not able to generate a unique name for the object";
  return retry_after(std::move(status), 1);
}

Status conflict(const GroupResource& resource, std::string_view name, std::string_view why) {
  return about(resource, name,
               make(409, "Conflict",
                    fmt::format("Operation cannot be fulfilled on {} {}: {}", resource.qualified(),
                                quoted(name), why)));
}

Status modified(const GroupResource& resource, std::string_view name) {
  return conflict(resource, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

Status uid_mismatch(const GroupResource& resource, std::string_view name, std::string_view wanted,
                    std::string_view found) {
  return conflict(
      resource, name,
      fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", wanted,
                  found));
}

Status apply_conflict(std::string message, std::vector<StatusCause> causes) {
  Status status = make(409, "Conflict", std::move(message));
  status.details.emplace().causes = std::move(causes);
  return status;
}

Status gone(std::string message) { return make(410, "Gone", std::move(message)); }

Status expired(std::string message) { return make(410, "Expired", std::move(message)); }

Status expired_continue(std::string fresh_token) {
  Status status = expired(
      "The provided continue parameter is too old to display a consistent list result. You can "
      "start a new list without the continue parameter, or use the continue token in this "
      "response to retrieve the remainder of the results. Continuing with the provided token "
      "results in an inconsistent list - objects that were created, modified, or deleted between "
      "the time the first chunk was returned and now may show up in the list.");
  status.continue_token = std::move(fresh_token);
  return status;
}

Status request_entity_too_large(std::string_view limit) {
  return make(413, "RequestEntityTooLarge", fmt::format("Request entity too large: {}", limit));
}

Status invalid(std::string_view group, std::string_view kind, std::string_view name,
               const FieldErrors& errors) {
  const std::string qualified =
      group.empty() ? std::string(kind) : fmt::format("{}.{}", kind, group);
  std::string message = fmt::format("{} {} is invalid", qualified, quoted(name));
  if (!errors.empty()) message += ": " + joined_errors(errors);
  Status status = about({std::string(group), std::string(kind)}, name,
                        make(422, "Invalid", std::move(message)));
  for (const FieldError& error : errors) {
    status.details->causes.push_back({error.reason(), error.message(), error.field});
  }
  return status;
}

Status invalid(const resource::Kind& kind, std::string_view name, const FieldErrors& errors) {
  return invalid(kind.group, kind.kind, name, errors);
}

Status patch_failed(std::string_view why) {
  Status status =
      make(422, "Invalid", "the server rejected our request due to an error in our request");
  // kubectl shows causes as `field: message`.
  status.details.emplace().causes.push_back({"FieldValueInvalid", std::string(why), "patch"});
  return status;
}

Status too_many_requests(std::string message, int retry_after_seconds) {
  return retry_after(make(429, "TooManyRequests", std::move(message)), retry_after_seconds);
}

Status forbidden(const GroupResource& resource, std::string_view name, std::string_view why) {
  std::string message;
  if (resource.resource.empty()) {
    message = fmt::format("forbidden: {}", why);
  } else if (name.empty()) {
    message = fmt::format("{} is forbidden: {}", resource.qualified(), why);
  } else {
    message = fmt::format("{} {} is forbidden: {}", resource.qualified(), quoted(name), why);
  }
  return about(resource, name, make(403, "Forbidden", std::move(message)));
}

Status forbidden(const Attempt& attempt, std::string_view reason) {
  std::string why = without_markup(attempt_text(attempt));
  if (!reason.empty()) why += fmt::format(": {}", reason);
  return forbidden({attempt.group, attempt.resource}, attempt.name, why);
}

Status namespace_terminating(const GroupResource& resource, std::string_view name,
                             std::string_view namespace_name) {
  Status status = forbidden(
      resource, name,
      fmt::format("unable to create new content in namespace {} because it is being terminated",
                  namespace_name));
  status.details->causes.push_back({"NamespaceTerminating",
                                    fmt::format("namespace {} is being terminated", namespace_name),
                                    "metadata.namespace"});
  return status;
}

Status internal_error(std::string_view why) {
  Status status = make(500, "InternalError", fmt::format("Internal error occurred: {}", why));
  status.details.emplace().causes.push_back({"", std::string(why), ""});
  return status;
}

Status server_timeout(const GroupResource& resource, std::string_view operation, int seconds) {
  Status status = about(
      resource, operation,
      make(500, "ServerTimeout",
           fmt::format("The {} operation against {} could not be completed at this time, please "
                       "try again.",
                       operation, resource.qualified())));
  return retry_after(std::move(status), seconds);
}

Status service_unavailable(std::string message) {
  return make(503, "ServiceUnavailable", std::move(message));
}

Status timeout(std::string_view message, int retry_after_seconds) {
  return retry_after(make(504, "Timeout", fmt::format("Timeout: {}", message)),
                     retry_after_seconds);
}

Status too_large_resource_version(std::uint64_t asked, std::uint64_t current) {
  Status status =
      timeout(fmt::format("Too large resource version: {}, current: {}", asked, current), 1);
  status.details->causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  return status;
}

Status deleted(const GroupResource& resource, std::string_view name, std::string_view uid) {
  Status status = about(resource, name, make(200, "", ""));
  status.success = true;
  status.details->uid = uid;
  return status;
}

Status status_of(const Error& error) {
  switch (error.code) {
    case Code::invalid:
      return bad_request(error.message);
    case Code::not_found: {
      Status status = make(404, "NotFound", error.message);
      status.details.emplace();
      return status;
    }
    case Code::already_exists:
      return make(409, "AlreadyExists", error.message);
    case Code::conflict:
      return make(409, "Conflict", error.message);
    case Code::gone:
      return expired(error.message);
    case Code::forbidden:
      return make(403, "Forbidden", error.message);
    case Code::unauthorized:
      return unauthorized();
    case Code::exhausted:
      return too_many_requests(error.message, 1);
    case Code::unavailable:
      return retry_after(service_unavailable(error.message), 1);
    case Code::timeout:
    case Code::cancelled:
      return timeout(error.message);
    case Code::unsupported:
      return make(405, "MethodNotAllowed", error.message);
    case Code::corrupt:
    case Code::io:
    case Code::internal:
      return internal_error(error.message);
  }
  return internal_error(error.message);
}

namespace {

Code code_of(const Status& status) {
  switch (status.code) {
    case 400:
    case 422:
      return Code::invalid;
    case 401:
      return Code::unauthorized;
    case 403:
      return Code::forbidden;
    case 404:
      return Code::not_found;
    case 405:
    case 406:
    case 415:
      return Code::unsupported;
    case 408:
    case 504:
      return Code::timeout;
    case 409:
      return status.reason == "AlreadyExists" ? Code::already_exists : Code::conflict;
    case 410:
      return Code::gone;
    case 413:
    case 429:
      return Code::exhausted;
    case 503:
      return Code::unavailable;
    default:  // ServerTimeout: not carried out, and worth another attempt
      return status.reason == "ServerTimeout" ? Code::unavailable : Code::internal;
  }
}

}  // namespace

Error error_of(const Status& status) { return {code_of(status), status.message}; }

}  // namespace fairlead::apimachinery
