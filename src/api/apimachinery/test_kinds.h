// Kinds and values for the tests of this folder.
#pragma once

#include <string>
#include <string_view>

#include "api/resource/kind.h"
#include "api/resource/metadata.h"
#include "api/resource/schema/schema_builder.h"
#include "foundation/base/check.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

inline Json json(std::string_view text) {
  auto parsed = wire::parse_json(text);
  CHECK(parsed.has_value());
  return std::move(parsed->value);
}

inline std::string text(const Json& value) { return wire::encode_json(value); }

// A custom kind with every sort of field that merging treats differently.
inline resource::Kind widget_kind() {
  using namespace resource;  // NOLINT: the builders read as a description
  const Schema port =
      object("", {field("port", int32("")), field("protocol", string("").defaults_to("TCP")),
                  field("name", string(""))});
  Kind kind;
  kind.group = "demo.example.com";
  kind.version = "v1";
  kind.kind = "Widget";
  kind.plural = "widgets";
  kind.singular = "widget";
  kind.short_names = {"wd"};
  kind.has_status = true;
  kind.selectable = {"spec.color", "spec.size"};
  kind.schema = object(
      "Widget is a thing.",
      {field("apiVersion", string("")), field("kind", string("")),
       field("metadata", object_meta_schema()),
       field("spec", object("What it should be.",
                            {required_field("size", int64("How large.")),
                             field("color", string("")), field("tags", string_list("").as_set()),
                             field("ports", list(port, "").keyed_by({"port", "protocol"})),
                             field("steps", string_list("")), field("data", map_of(string(""), "")),
                             field("box", object("", {field("w", int32("")), field("h", int32(""))})
                                              .as_atomic())})),
       field("status", object("What it is.", {field("phase", string(""))}))});
  kind.columns = {
      {"Name", "string", "name", "The name.", 0,
       [](const Json& object, Moment) { return Json(wire::find_string(object, "metadata.name")); }},
      {"Size", "integer", "", "How large.", 0,
       [](const Json& object, Moment) {
         const Json* size = wire::find(object, "spec.size");
         return size ? *size : Json(nullptr);
       }},
  };
  return kind;
}

// A built-in kind, for strategic merge.
inline resource::Kind gadget_kind() {
  using namespace resource;  // NOLINT
  const Schema part = object(
      "", {field("name", string("")), field("image", string("")), field("args", string_list(""))});
  Kind kind;
  kind.version = "v1";
  kind.kind = "Gadget";
  kind.plural = "gadgets";
  kind.singular = "gadget";
  kind.strategic_merge = true;
  kind.schema = object(
      "", {field("apiVersion", string("")), field("kind", string("")),
           field("metadata", object_meta_schema()),
           field("spec",
                 object("", {field("parts", list(part, "").keyed_by({"name"}).patch_merge("name")),
                             field("names", string_list("").as_set().patch_merge()),
                             field("list", string_list("")),
                             field("rollout",
                                   object("", {field("type", string("")), field("a", string("")),
                                               field("b", string(""))}))}))});
  return kind;
}

}  // namespace fairlead::apimachinery
