// events.k8s.io/v1 Event: the core Event under the names that Kubernetes' newer clients write and
// read. The objects are the same ones; what the new form dropped is called deprecated there.
#include <algorithm>
#include <array>
#include <utility>

#include "api/resource/core/core_kind.h"
#include "api/resource/core/core_kinds.h"

namespace fairlead::resource {
namespace {

constexpr std::string_view kApiVersion = "events.k8s.io/v1";
constexpr std::size_t kMaxWord = 128;
constexpr std::size_t kMaxNote = 1024;

struct Renamed {
  std::string_view stored;
  std::string_view shown;
};
constexpr std::array kRenamed{
    Renamed{"involvedObject", "regarding"},
    Renamed{"message", "note"},
    Renamed{"reportingComponent", "reportingController"},
    Renamed{"source", "deprecatedSource"},
    Renamed{"firstTimestamp", "deprecatedFirstTimestamp"},
    Renamed{"lastTimestamp", "deprecatedLastTimestamp"},
    Renamed{"count", "deprecatedCount"},
};

void rename(JsonObject& object, std::string_view from, std::string_view to) {
  const auto member = object.find(from);
  if (member == object.end()) return;
  Json value = std::move(member->value());
  object.stable_erase(member);
  object[to] = std::move(value);
}

void show(Json& event) {
  JsonObject* members = event.if_object();
  if (!members) return;
  (*members)["apiVersion"] = kApiVersion;
  for (const Renamed& name : kRenamed) rename(*members, name.stored, name.shown);
}

void keep(Json& event) {
  JsonObject* members = event.if_object();
  if (!members) return;
  (*members)["apiVersion"] = "v1";
  for (const Renamed& name : kRenamed) rename(*members, name.shown, name.stored);
}

Schema schema() {
  return core_object(
      "An Event tells what happened to an object. It is kept for a limited time.",
      {required_field("eventTime", micro_time("When it was first seen, to the microsecond.")),
       field("series",
             open_object("A run of like events.",
                         {field("count", int32("How often it was seen.")),
                          field("lastObservedTime", micro_time("When it was last seen."))})),
       field("reportingController", string("The controller that reports.")),
       field("reportingInstance", string("The instance of that controller.")),
       field("action", string("What was being done.")),
       field("reason", string("Why, as one word for machines.")),
       field("regarding", object_reference("The object it happened to.")),
       field("related", object_reference("Another object that had to do with it.")),
       field("note", string("What happened, for people.")),
       field("type", string("Normal or Warning.")),
       field("deprecatedSource",
             open_object("Who reports it, in the core form.",
                         {field("component", string("The component that reports.")),
                          field("host", string("The node it reports from."))})),
       field("deprecatedFirstTimestamp", time("When it was first seen, in the core form.")),
       field("deprecatedLastTimestamp", time("When it was last seen, in the core form.")),
       field("deprecatedCount", int32("How often it was seen, in the core form."))});
}

void check_word(const Json& event, std::string_view field, FieldErrors& errors) {
  const std::string_view text = wire::find_string(event, field);
  if (text.empty()) {
    errors.push_back(required(std::string(field), ""));
  } else if (text.size() > kMaxWord) {
    errors.push_back(invalid(std::string(field), Json(text), "can have at most 128 characters"));
  }
}

// What is made in the new form is complete in that form; what was made in the core form is shown as
// it is.
FieldErrors validate(const Json& event, const Json* old, Write) {
  FieldErrors errors;
  if (old) return errors;
  if (wire::find_string(event, "eventTime").empty()) errors.push_back(required("eventTime", ""));
  for (const std::string_view field :
       {"reportingController", "reportingInstance", "action", "reason"})
    check_word(event, field, errors);
  const std::string_view type = wire::find_string(event, "type");
  if (type != "Normal" && type != "Warning")
    errors.push_back(invalid("type", Json(type), "must be Normal or Warning"));
  if (wire::find_string(event, "note").size() > kMaxNote)
    errors.push_back(invalid("note", Json(""), "can have at most 1024 characters"));
  for (const Renamed& name : kRenamed) {
    if (!name.shown.starts_with("deprecated")) continue;
    const Json* value = wire::find(event, name.shown);
    const bool unset = !value || value->is_null() || *value == Json(0) ||
                       (value->is_object() && value->get_object().empty());
    if (!unset) errors.push_back(invalid(std::string(name.shown), *value, "needs to be unset"));
  }
  return errors;
}

}  // namespace

Kind event_view_kind() {
  const Kind stored = event_kind();
  Kind kind = core_kind("events.k8s.io", "Event", "events", "event");
  kind.short_names = stored.short_names;
  kind.create_on_update = stored.create_on_update;
  kind.time_to_live = stored.time_to_live;
  kind.schema = schema();
  kind.validate = validate;
  kind.view = View{.of = stored.api_version(), .show = show, .keep = keep};
  for (const std::string& path : stored.selectable) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    std::string shown = path;
    for (const Renamed& name : kRenamed)
      if (path.substr(0, dot) == name.stored) shown = std::string(name.shown) + path.substr(dot);
    if (shown.starts_with("deprecated")) continue;
    kind.selectable.push_back(shown);
    kind.view->paths.emplace_back(std::move(shown), path);
  }
  kind.columns = stored.columns;
  for (Column& column : kind.columns)
    column.cell = [cell = column.cell](const Json& shown, Moment now) {
      Json event = shown;
      keep(event);
      return cell(event, now);
    };
  return kind;
}

}  // namespace fairlead::resource
