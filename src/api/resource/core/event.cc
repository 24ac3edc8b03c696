// Event: something that happened to an object, told to people. Kept for an hour.
#include <algorithm>

#include "api/resource/core/core_kind.h"
#include "api/resource/core/core_kinds.h"

namespace fairlead::resource {
namespace {

std::string lower(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  });
  return lowered;
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

std::string_view first_time(const Json& object) {
  const std::string_view first = wire::find_string(object, "firstTimestamp");
  return first.empty() ? wire::find_string(object, "eventTime") : first;
}

std::string_view last_time(const Json& object) {
  const std::string_view series = wire::find_string(object, "series.lastObservedTime");
  if (!series.empty()) return series;
  const std::string_view last = wire::find_string(object, "lastTimestamp");
  return last.empty() ? first_time(object) : last;
}

std::string object_text(const Json& object) {
  const std::string kind = lower(wire::find_string(object, "involvedObject.kind"));
  const std::string_view name = wire::find_string(object, "involvedObject.name");
  return name.empty() ? kind : kind + "/" + std::string(name);
}

std::string source_text(const Json& object) {
  std::string text(wire::find_string(object, "source.component"));
  if (text.empty()) text = wire::find_string(object, "reportingComponent");
  std::string_view host = wire::find_string(object, "source.host");
  if (host.empty()) host = wire::find_string(object, "reportingInstance");
  return host.empty() ? text : text + ", " + std::string(host);
}

std::int64_t count(const Json& object) {
  if (const auto series = integer_at(object, "series.count")) return *series;
  return std::max<std::int64_t>(integer_at(object, "count").value_or(1), 1);
}

Schema schema() {
  return core_object(
      "An Event tells what happened to an object. It is kept for a limited time.",
      {required_field("involvedObject", object_reference("The object it happened to.")),
       field("reason", string("Why, as one word for machines.")),
       field("message", string("What happened, for people.")),
       field("source", open_object("Who reports it.",
                                   {field("component", string("The component that reports.")),
                                    field("host", string("The node it reports from."))})),
       field("firstTimestamp", time("When it was first seen.")),
       field("lastTimestamp", time("When it was last seen.")),
       field("count", int32("How often it was seen.")), field("type", string("Normal or Warning.")),
       field("eventTime", micro_time("When it was first seen, to the microsecond.")),
       field("series",
             open_object("A run of like events.",
                         {field("count", int32("How often it was seen.")),
                          field("lastObservedTime", micro_time("When it was last seen."))})),
       field("action", string("What was being done.")),
       field("related", object_reference("Another object that had to do with it.")),
       field("reportingComponent", string("The controller that reports.")),
       field("reportingInstance", string("The instance of that controller."))});
}

// Events about cluster-wide objects live in the namespace default.
FieldErrors validate(const Json& object, const Json*, Write) {
  FieldErrors errors;
  const std::string_view space = wire::find_string(object, "metadata.namespace");
  const std::string_view involved = wire::find_string(object, "involvedObject.namespace");
  const bool fits =
      involved.empty() ? space == "default" || space == "kube-system" : involved == space;
  if (!fits) {
    errors.push_back(
        invalid("involvedObject.namespace", Json(involved), "does not match event.namespace"));
  }
  return errors;
}

}  // namespace

Kind event_kind() {
  Kind kind = core_kind("", "Event", "events", "event");
  kind.short_names = {"ev"};
  kind.create_on_update = true;
  kind.time_to_live = std::chrono::hours(1);
  kind.schema = schema();
  kind.selectable = {"involvedObject.kind",
                     "involvedObject.namespace",
                     "involvedObject.name",
                     "involvedObject.uid",
                     "involvedObject.apiVersion",
                     "involvedObject.resourceVersion",
                     "involvedObject.fieldPath",
                     "reason",
                     "reportingComponent",
                     "source",
                     "type"};
  Column name = name_column();
  name.priority = 1;
  kind.columns = {
      column(
          "Last Seen", "string", "Time since it was last seen.",
          [](const Json& object, Moment now) { return Json(human_age(last_time(object), now)); }),
      column("Type", "string", "Normal or Warning.", text_at("type")),
      column("Reason", "string", "Why, as one word.", text_at("reason")),
      column("Object", "string", "The object it happened to.",
             [](const Json& object, Moment) { return Json(object_text(object)); }),
      wide_column("Subobject", "string", "The part of the object it happened to.",
                  text_at("involvedObject.fieldPath")),
      wide_column("Source", "string", "Who reports it.",
                  [](const Json& object, Moment) { return Json(source_text(object)); }),
      column("Message", "string", "What happened.",
             [](const Json& object, Moment) {
               return Json(trimmed(wire::find_string(object, "message")));
             }),
      wide_column(
          "First Seen", "string", "Time since it was first seen.",
          [](const Json& object, Moment now) { return Json(human_age(first_time(object), now)); }),
      wide_column("Count", "string", "How often it was seen.",
                  [](const Json& object, Moment) { return Json(count(object)); }),
      name,
  };
  kind.validate = validate;
  return kind;
}

}  // namespace fairlead::resource
