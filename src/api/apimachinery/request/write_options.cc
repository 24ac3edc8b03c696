#include "api/apimachinery/request/write_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/apimachinery/request/option_values.h"

namespace fairlead::apimachinery {
namespace {

using resource::FieldErrors;

constexpr std::size_t kMaxManagerBytes = 128;

bool is_printable(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte != 0x7f;
}

void check_manager(std::string_view manager, FieldErrors& errors) {
  if (manager.size() > kMaxManagerBytes) {
    errors.push_back(resource::too_long("fieldManager", kMaxManagerBytes));
  }
  for (std::size_t i = 0; i < manager.size(); ++i) {
    if (is_printable(manager[i])) continue;
    errors.push_back(resource::invalid("fieldManager", Json(manager),
                                       fmt::format("invalid character U+{:04X} (at position {})",
                                                   static_cast<unsigned char>(manager[i]), i)));
  }
}

// "All" is the only value there is; given at all, it means yes.
bool check_dry_run(const std::vector<std::string>& values, FieldErrors& errors) {
  for (const std::string& value : values) {
    if (value == "All") continue;
    JsonArray shown(values.begin(), values.end());
    errors.push_back(resource::not_supported("dryRun", std::move(shown), {"All"}));
    break;
  }
  return !values.empty();
}

FieldValidation check_validation(std::string_view text, FieldErrors& errors) {
  if (text == "Ignore") return FieldValidation::ignore;
  if (text == "Strict") return FieldValidation::strict;
  if (!text.empty() && text != "Warn") {
    errors.push_back(
        resource::not_supported("fieldValidation", Json(text), {"", "Ignore", "Strict", "Warn"}));
  }
  return FieldValidation::warn;
}

std::string_view options_kind(WriteVerb verb) {
  switch (verb) {
    case WriteVerb::create:
      return "CreateOptions";
    case WriteVerb::update:
      return "UpdateOptions";
    case WriteVerb::patch:
    case WriteVerb::apply:
      break;
  }
  return "PatchOptions";
}

std::vector<std::string> strings(const std::vector<std::string_view>& views) {
  std::vector<std::string> out;
  for (const std::string_view view : views) {
    if (!view.empty()) out.emplace_back(view);
  }
  return out;
}

// What DeleteOptions say before it is checked, from either source.
struct RawDeleteOptions {
  std::vector<std::string> dry_run;
  std::optional<std::string> policy;
  std::optional<bool> orphan;
  std::optional<std::int64_t> grace_seconds;
  std::string uid;
  std::string resource_version;
};

Result<RawDeleteOptions> raw_from_query(const Query& query) {
  RawDeleteOptions raw;
  raw.dry_run = strings(query.all("dryRun"));
  if (const auto policy = query.get_or_empty("propagationPolicy"); !policy.empty()) {
    raw.policy = policy;
  }
  FL_TRY(raw.orphan, bool_option(query, "orphanDependents"));
  FL_TRY(raw.grace_seconds, integer_option(query, "gracePeriodSeconds"));
  return raw;
}

std::unexpected<Error> wrong_type(std::string_view field, std::string_view wanted) {
  return fail(Code::invalid, fmt::format("DeleteOptions.{} must be {}", field, wanted));
}

// Reads the members of a body one by one; null and absent are the same.
class BodyReader {
 public:
  explicit BodyReader(const JsonObject& object) : object_(object) {}

  const Json* member(std::string_view name) const {
    const Json* value = object_.if_contains(name);
    return value && !value->is_null() ? value : nullptr;
  }
  Result<std::optional<std::string>> text(std::string_view name) const {
    const Json* value = member(name);
    if (!value) return std::optional<std::string>();
    if (!value->is_string()) return wrong_type(name, "a string");
    return std::optional<std::string>(std::string(value->get_string()));
  }
  Result<std::optional<bool>> boolean(std::string_view name) const {
    const Json* value = member(name);
    if (!value) return std::optional<bool>();
    if (!value->is_bool()) return wrong_type(name, "a boolean");
    return std::optional<bool>(value->get_bool());
  }
  Result<std::optional<std::int64_t>> integer(std::string_view name) const {
    const Json* value = member(name);
    if (!value) return std::optional<std::int64_t>();
    if (!value->is_int64()) return wrong_type(name, "an integer");
    return std::optional<std::int64_t>(value->get_int64());
  }
  Result<std::vector<std::string>> texts(std::string_view name) const {
    std::vector<std::string> out;
    const Json* value = member(name);
    if (!value) return out;
    if (!value->is_array()) return wrong_type(name, "a list");
    for (const Json& item : value->get_array()) {
      if (!item.is_string()) return wrong_type(name, "a list of strings");
      out.emplace_back(item.get_string());
    }
    return out;
  }

 private:
  const JsonObject& object_;
};

Result<RawDeleteOptions> raw_from_body(const Json& body) {
  const JsonObject* object = body.if_object();
  if (!object) {
    return fail(Code::invalid, "decoded object cannot be converted to DeleteOptions");
  }
  const BodyReader reader(*object);
  FL_TRY(const auto kind, reader.text("kind"));
  if (kind && *kind != "DeleteOptions") {
    return fail(Code::invalid, "decoded object cannot be converted to DeleteOptions");
  }
  RawDeleteOptions raw;
  FL_TRY(raw.dry_run, reader.texts("dryRun"));
  FL_TRY(raw.policy, reader.text("propagationPolicy"));
  FL_TRY(raw.orphan, reader.boolean("orphanDependents"));
  FL_TRY(raw.grace_seconds, reader.integer("gracePeriodSeconds"));
  if (const Json* preconditions = reader.member("preconditions")) {
    if (!preconditions->is_object()) return wrong_type("preconditions", "an object");
    const BodyReader inner(preconditions->get_object());
    FL_TRY(const auto uid, inner.text("uid"));
    FL_TRY(const auto version, inner.text("resourceVersion"));
    raw.uid = uid.value_or("");
    raw.resource_version = version.value_or("");
  }
  return raw;
}

Propagation check_policy(const RawDeleteOptions& raw, FieldErrors& errors) {
  if (raw.orphan && raw.policy) {
    errors.push_back(
        resource::invalid("propagationPolicy", Json(*raw.policy),
                          "orphanDependents and deletionPropagation cannot be both set"));
  }
  if (raw.policy) {
    if (*raw.policy == "Orphan") return Propagation::orphan;
    if (*raw.policy == "Background") return Propagation::background;
    if (*raw.policy == "Foreground") return Propagation::foreground;
    errors.push_back(resource::not_supported("propagationPolicy", Json(*raw.policy),
                                             {"Background", "Foreground", "Orphan", "nil"}));
  }
  if (!raw.orphan) return Propagation::unset;
  return *raw.orphan ? Propagation::orphan : Propagation::background;
}

}  // namespace

std::string manager_of_user_agent(std::string_view user_agent) {
  std::string manager;
  for (const char c : user_agent.substr(0, user_agent.find('/'))) {
    if (is_printable(c) && manager.size() < kMaxManagerBytes) manager += c;
  }
  return manager.empty() ? "unknown" : manager;
}

Answer<WriteOptions> parse_write_options(const Query& query, WriteVerb verb,
                                         std::string_view user_agent) {
  FieldErrors errors;
  WriteOptions options;
  const std::string_view manager = query.get_or_empty("fieldManager");
  const auto force = bool_option(query, "force");
  if (verb == WriteVerb::apply && manager.empty()) {
    errors.push_back(resource::required("fieldManager", "is required for apply patch"));
  }
  if (verb == WriteVerb::patch && force && force->has_value()) {
    errors.push_back(resource::forbidden("force", "may not be specified for non-apply patch"));
  }
  check_manager(manager, errors);
  options.dry_run = check_dry_run(strings(query.all("dryRun")), errors);
  options.validation = check_validation(query.get_or_empty("fieldValidation"), errors);
  if (!errors.empty()) return refuse(invalid("meta.k8s.io", options_kind(verb), "", errors));
  options.field_manager = manager.empty() ? manager_of_user_agent(user_agent) : manager;
  options.force = force && force->value_or(false);
  return options;
}

Answer<DeleteOptions> parse_delete_options(const Query& query, const Json& body) {
  auto raw = body.is_null() ? raw_from_query(query) : raw_from_body(body);
  if (!raw) return refuse(bad_request(raw.error().message));
  FieldErrors errors;
  DeleteOptions options;
  options.propagation = check_policy(*raw, errors);
  options.dry_run = check_dry_run(raw->dry_run, errors);
  if (!errors.empty()) return refuse(invalid("meta.k8s.io", "DeleteOptions", "", errors));
  options.grace_seconds = raw->grace_seconds;
  // A negative period is what old clients send for "now, but gracefully".
  if (options.grace_seconds && *options.grace_seconds < 0) options.grace_seconds = 1;
  options.uid = std::move(raw->uid);
  options.resource_version = std::move(raw->resource_version);
  return options;
}

}  // namespace fairlead::apimachinery
