#include "api/apiserver/write_plan.h"

#include <algorithm>
#include <utility>

#include "api/apimachinery/apply/managed_fields.h"
#include "api/apimachinery/apply/server_side_apply.h"
#include "api/apimachinery/generate_name.h"
#include "api/apimachinery/kube_protobuf.h"
#include "api/apimachinery/patch/json_patch.h"
#include "api/apimachinery/patch/merge_patch.h"
#include "api/apimachinery/patch/strategic_merge.h"
#include "api/apimachinery/request/strict_decoding.h"
#include "api/resource/schema/validation.h"
#include "foundation/base/ids.h"
#include "foundation/base/time_text.h"
#include "foundation/wire/yaml.h"

namespace fairlead::apiserver {
namespace {

using apimachinery::FieldValidation;
using apimachinery::group_resource;
using apimachinery::refuse;
using resource::FieldError;
using resource::FieldErrors;
using resource::Kind;
using resource::Write;

// Set by the server; what a client sends in these is replaced by what the live object has.
constexpr std::string_view kServerOwned[] = {"uid",        "creationTimestamp",
                                             "generation", "deletionTimestamp",
                                             "selfLink",   "deletionGracePeriodSeconds"};

JsonObject& metadata_of(Json& object) {
  return wire::member_object(object.get_object(), "metadata");
}

std::string name_of(const Json& object) {
  return std::string(wire::find_string(object, "metadata.name"));
}

// Kinds whose spec is counted. Kubernetes' own core kinds keep no generation.
bool counts_generation(const Kind& kind) {
  return kind.schema.find("spec") != nullptr && !kind.strategic_merge;
}

apimachinery::Writer writer_of(const WriteContext& context) {
  return {.manager = context.options.field_manager,
          .subresource = context.subresource == "status" ? "status" : "",
          .now = rfc3339(context.now)};
}

Answer<> check_type(const WriteContext& context, Json& object) {
  const Kind& kind = *context.kind;
  if (!object.is_object())
    return refuse(apimachinery::bad_request("the body of the request must be an object"));
  JsonObject& members = object.get_object();
  const auto expect = [&](std::string_view member, const std::string& wanted) -> Answer<> {
    Json& value = members[member];
    if (value.is_null() || (value.is_string() && value.get_string().empty())) value = wanted;
    if (!value.is_string() || value.get_string() != wanted)
      return refuse(apimachinery::bad_request(
          "the " + std::string(member) + " in the data (" + wire::encode_json(value) +
          ") does not match the expected " + std::string(member) + " (" + wanted + ")"));
    return {};
  };
  if (auto ok = expect("apiVersion", kind.api_version()); !ok) return ok;
  if (auto ok = expect("kind", kind.kind); !ok) return ok;
  Json& metadata = members["metadata"];
  if (metadata.is_null()) metadata = JsonObject{};
  if (!metadata.is_object())
    return refuse(apimachinery::invalid(
        kind, "",
        {FieldError{FieldError::Type::invalid, "metadata", metadata, "must be an object"}}));
  return {};
}

Answer<> take_namespace(const WriteContext& context, Json& object) {
  JsonObject& metadata = metadata_of(object);
  if (!context.kind->namespaced) {
    metadata.erase("namespace");
    return {};
  }
  const std::string_view given = wire::find_string(object, "metadata.namespace");
  if (!given.empty() && given != context.namespace_name)
    return refuse(apimachinery::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request"));
  metadata["namespace"] = context.namespace_name;
  return {};
}

// Empty lists and maps in metadata mean the same as none, and are kept as none.
void drop_empty_metadata(Json& object) {
  JsonObject& metadata = metadata_of(object);
  for (const std::string_view name : {"finalizers", "ownerReferences", "labels", "annotations"}) {
    const Json* value = metadata.if_contains(name);
    if (value && (value->is_null() || (value->is_array() && value->get_array().empty()) ||
                  (value->is_object() && value->get_object().empty())))
      metadata.erase(name);
  }
}

// `prepare` and every check. `live` null on create.
Answer<> finish(const WriteContext& context, Json& object, const Json* live, Write write) {
  const Kind& kind = *context.kind;
  drop_empty_metadata(object);
  resource::apply_defaults(kind.schema, object);
  FieldErrors errors = resource::check_metadata(kind, object);
  if (live)
    std::ranges::move(resource::check_metadata_update(kind, object, *live),
                      std::back_inserter(errors));
  if (errors.empty()) {
    if (kind.prepare) kind.prepare(object, live, write, context.now);
    errors = resource::check_schema(kind.schema, object, live);
  }
  if (errors.empty() && kind.validate) errors = kind.validate(object, live, write);
  if (!errors.empty()) return refuse(apimachinery::invalid(kind, name_of(object), errors));
  return {};
}

// A request to a view becomes one to what is stored: the same, with the object in that form.
WriteContext stored_context(const WriteContext& context) {
  WriteContext stored = context;
  stored.kind = &context.kind->storage();
  return stored;
}

// What the view itself wants of a new object. The rest is checked in the stored form.
Answer<> check_view(const Kind& kind, const Json& object) {
  FieldErrors errors = resource::check_schema(kind.schema, object, nullptr);
  if (errors.empty() && kind.validate) errors = kind.validate(object, nullptr, Write::create);
  if (!errors.empty()) return refuse(apimachinery::invalid(kind, name_of(object), errors));
  return {};
}

void give_identity(const Kind& kind, JsonObject& metadata, resource::Moment now,
                   const std::function<std::uint64_t()>& random) {
  metadata["uid"] = random_uuid(random);
  metadata["creationTimestamp"] = rfc3339(now);
  if (counts_generation(kind)) metadata["generation"] = 1;
}

}  // namespace

bool is_tracked(const identity::User& user, const Kind& kind) {
  return !kind.node.written_often || identity::node_of(user).empty();
}

namespace {

// `track`: managedFields are yet to be made; server-side apply brings them along.
Answer<Change> plan_create_tracked(const WriteContext& context, Json object, bool track) {
  const Kind& kind = *context.kind;
  if (kind.view) {
    if (auto ok = check_view(kind, object); !ok) return refuse(ok.error());
    kind.view->keep(object);
    return plan_create_tracked(stored_context(context), std::move(object), track);
  }
  if (auto ok = take_namespace(context, object); !ok) return refuse(ok.error());
  JsonObject& metadata = metadata_of(object);
  if (!wire::find_string(object, "metadata.resourceVersion").empty())
    return refuse(
        apimachinery::bad_request("resourceVersion should not be set on objects to be created"));
  metadata.erase("resourceVersion");
  for (const std::string_view field : kServerOwned) metadata.erase(field);

  const std::string_view base = wire::find_string(object, "metadata.generateName");
  if (wire::find_string(object, "metadata.name").empty() && !base.empty())
    metadata["name"] = apimachinery::generate_name(base, context.random());
  give_identity(kind, metadata, context.now, context.random);
  if (auto ok = finish(context, object, nullptr, Write::create); !ok) return refuse(ok.error());
  if (track) {
    if (context.tracked) {
      apimachinery::track_create(kind, object, writer_of(context));
    } else {
      metadata.erase("managedFields");
    }
  }
  return Change{.kind = Change::Kind::put, .object = std::move(object), .creates = true};
}

Answer<> check_identity(const WriteContext& context, const Json& live, Json& object) {
  const Kind& kind = *context.kind;
  const std::string_view name = wire::find_string(object, "metadata.name");
  if (name.empty()) {
    metadata_of(object)["name"] = context.name;
  } else if (name != context.name) {
    return refuse(apimachinery::bad_request("the name of the object (" + std::string(name) +
                                            ") does not match the name on the URL (" +
                                            context.name + ")"));
  }
  const std::string_view uid = wire::find_string(object, "metadata.uid");
  const std::string_view live_uid = wire::find_string(live, "metadata.uid");
  if (!uid.empty() && uid != live_uid)
    return refuse(apimachinery::uid_mismatch(group_resource(kind), context.name, uid, live_uid));

  const std::string_view version = wire::find_string(object, "metadata.resourceVersion");
  if (version.empty() || version == "0") {
    if (!kind.unconditional_update && context.subresource.empty())
      return refuse(
          apimachinery::invalid(kind, context.name,
                                {FieldError{FieldError::Type::invalid, "metadata.resourceVersion",
                                            Json(0), "must be specified for an update"}}));
  } else if (version != wire::find_string(live, "metadata.resourceVersion")) {
    return refuse(apimachinery::modified(group_resource(kind), context.name));
  }
  return {};
}

// Gives the member the value it has in `from`; none, if it is not there.
void restore_member(JsonObject& to, const JsonObject& from, std::string_view name) {
  const Json* value = from.if_contains(name);
  if (!value) {
    to.erase(name);
  } else if (Json& member = to[name]; member != *value) {
    member = *value;
  }
}

// Gives every member of `to` outside `kept` the value it has in `from`.
void restore_members(JsonObject& to, const JsonObject& from,
                     std::initializer_list<std::string_view> kept) {
  const auto keep = [&](std::string_view name) {
    return std::ranges::find(kept, name) != kept.end();
  };
  std::vector<std::string> gone;
  for (const auto& [name, value] : to)
    if (!keep(name) && !from.contains(name)) gone.emplace_back(name);
  for (const std::string& name : gone) to.erase(name);
  for (const auto& [name, value] : from) {
    if (keep(name)) continue;
    Json& member = to[name];
    if (member != value) member = value;
  }
}

// What this endpoint may not write comes from the live object.
void restrict_to_endpoint(const WriteContext& context, const Json& live, Json& object) {
  const JsonObject& old = live.get_object();
  JsonObject& members = object.get_object();
  JsonObject& metadata = metadata_of(object);
  for (const std::string_view field : kServerOwned) {
    const Json* value = wire::find(live, "metadata");
    const Json* kept = value ? value->get_object().if_contains(field) : nullptr;
    if (kept) {
      metadata[field] = *kept;
    } else {
      metadata.erase(field);
    }
  }
  if (context.subresource == "status") {
    restore_members(members, old, {"status", "metadata"});
    restore_members(metadata, old.at("metadata").get_object(), {"managedFields"});
  } else if (context.subresource == "finalize") {
    restore_members(members, old, {"spec", "metadata"});
  } else if (context.kind->has_status) {
    restore_member(members, old, "status");
  }
}

bool spec_differs(const Json& live, const Json& object) {
  const auto same_elsewhere = [](const JsonObject& a, const JsonObject& b) {
    return std::ranges::all_of(a, [&](const auto& member) {
      if (member.key() == "metadata" || member.key() == "status" ||
          member.key() == "extendedMetadata")  // the server's own stamps
        return true;
      const Json* other = b.if_contains(member.key());
      return other && *other == member.value();
    });
  };
  return !same_elsewhere(live.get_object(), object.get_object()) ||
         !same_elsewhere(object.get_object(), live.get_object());
}

bool has_entries(const Json& object, std::string_view path) {
  const Json* list = wire::find(object, path);
  return list && list->is_array() && !list->get_array().empty();
}

bool has_spec_finalizers(const Json& object) {
  return wire::find_string(object, "kind") == "Namespace" && has_entries(object, "spec.finalizers");
}

void raise_generation(const Json& live, Json& object) {
  const Json* generation = wire::find(live, "metadata.generation");
  metadata_of(object)["generation"] =
      (generation && generation->is_int64() ? generation->get_int64() : 0) + 1;
}

Answer<Change> plan_replacement(const WriteContext& context, const Json& live, Json object,
                                bool track) {
  const Kind& kind = *context.kind;
  if (auto ok = check_type(context, object); !ok) return refuse(ok.error());
  if (kind.view) {
    kind.view->keep(object);
    return plan_replacement(stored_context(context), live, std::move(object), track);
  }
  if (auto ok = take_namespace(context, object); !ok) return refuse(ok.error());
  if (auto ok = check_identity(context, live, object); !ok) return refuse(ok.error());
  restrict_to_endpoint(context, live, object);

  const Write write = context.subresource == "status"     ? Write::update_status
                      : context.subresource == "finalize" ? Write::finalize
                                                          : Write::update;
  if (auto ok = finish(context, object, &live, write); !ok) return refuse(ok.error());
  if (counts_generation(kind) && spec_differs(live, object)) raise_generation(live, object);
  if (track) {
    if (context.tracked) {
      apimachinery::track_update(kind, live, object, writer_of(context));
    } else {
      restore_member(metadata_of(object), live.at("metadata").get_object(), "managedFields");
    }
  }

  metadata_of(object)["resourceVersion"] =
      std::string(wire::find_string(live, "metadata.resourceVersion"));
  if (!wire::find_string(live, "metadata.deletionTimestamp").empty() && !has_finalizers(object))
    return Change{.kind = Change::Kind::erase, .object = std::move(object)};
  if (apimachinery::same_but_for_managed_times(live, object))
    return Change{.kind = Change::Kind::none};
  return Change{.kind = Change::Kind::put, .object = std::move(object)};
}

}  // namespace

bool has_finalizers(const Json& object) {
  return has_entries(object, "metadata.finalizers") || has_spec_finalizers(object);
}

Answer<Body> decode_body(std::string_view content, apimachinery::Format format) {
  if (content.empty()) return Body{};
  if (format == apimachinery::Format::protobuf) {
    Result<Json> decoded = apimachinery::decode_kube_protobuf(content);
    if (!decoded) return refuse(apimachinery::bad_request(decoded.error().message));
    return Body{std::move(*decoded), {}};
  }
  auto parsed =
      format == apimachinery::Format::yaml ? wire::parse_yaml(content) : wire::parse_json(content);
  if (!parsed)
    return refuse(apimachinery::bad_request(
        "the object provided is unrecognized (must be a valid object): " + parsed.error().message));
  return Body{std::move(parsed->value), std::move(parsed->duplicates)};
}

Answer<> check_strictness(const WriteContext& context, Json& object,
                          const std::vector<std::string>& duplicates,
                          std::vector<std::string>& warnings) {
  if (!object.is_object()) return {};  // said by the verb itself
  const std::vector<std::string> unknown =
      resource::unknown_fields(context.kind->schema, object, true);
  if (context.options.validation == FieldValidation::ignore) return {};
  std::vector<std::string> problems = apimachinery::decoding_problems(duplicates, unknown);
  if (problems.empty()) return {};
  if (context.options.validation == FieldValidation::strict) {
    // Values of a wrong type are refused in any case: who corrects one should see the other, too.
    for (const FieldError& error : resource::check_schema(context.kind->schema, object, nullptr))
      if (error.type == FieldError::Type::type_invalid) problems.push_back(error.to_string());
    return refuse(apimachinery::strict_decoding_error(*context.kind, problems));
  }
  std::ranges::move(problems, std::back_inserter(warnings));
  return {};
}

Answer<Change> plan_create(const WriteContext& context, Json object) {
  if (auto ok = check_type(context, object); !ok) return refuse(ok.error());
  return plan_create_tracked(context, std::move(object), true);
}

void complete_new(const Kind& kind, Json& object, resource::Moment now,
                  const std::function<std::uint64_t()>& random) {
  give_identity(kind, metadata_of(object), now, random);
  if (kind.prepare) kind.prepare(object, nullptr, Write::create, now);
}

Answer<Change> plan_update(const WriteContext& context, const Json* live, Json object) {
  if (live) return plan_replacement(context, *live, std::move(object), true);
  if (!context.kind->create_on_update || !context.subresource.empty())
    return refuse(apimachinery::not_found(group_resource(*context.kind), context.name));
  if (auto ok = check_type(context, object); !ok) return refuse(ok.error());
  const std::string name = name_of(object);
  if (!name.empty() && name != context.name)
    return refuse(apimachinery::bad_request("the name of the object (" + name +
                                            ") does not match the name on the URL (" +
                                            context.name + ")"));
  metadata_of(object)["name"] = context.name;
  return plan_create_tracked(context, std::move(object), true);
}

namespace {

Answer<Change> plan_apply(const WriteContext& context, const Json* live, const Patch& patch,
                          std::vector<std::string>& warnings) {
  const Kind& kind = *context.kind;
  if (kind.view) {
    Patch kept = patch;
    if (auto ok = check_type(context, kept.value); !ok) return refuse(ok.error());
    kind.view->keep(kept.value);
    return plan_patch(stored_context(context), live, kept, warnings);
  }
  Answer<Json> applied = apimachinery::server_side_apply(
      kind, live, patch.value, {.writer = writer_of(context), .force = context.options.force});
  if (!applied) return refuse(applied.error());
  if (live) return plan_replacement(context, *live, std::move(*applied), false);
  if (!context.subresource.empty())
    return refuse(apimachinery::not_found(group_resource(kind), context.name));
  return plan_create_tracked(context, std::move(*applied), false);
}

}  // namespace

Answer<Change> plan_patch(const WriteContext& context, const Json* live, const Patch& patch,
                          std::vector<std::string>& warnings) {
  using apimachinery::PatchType;
  const Kind& kind = *context.kind;
  if (patch.type == PatchType::apply) return plan_apply(context, live, patch, warnings);
  if (!live) return refuse(apimachinery::not_found(group_resource(kind), context.name));

  Json result = kind.view ? kind.shown(*live) : wire::copy_beside(*live);
  if (patch.type == PatchType::merge_patch) {
    if (!patch.value.is_object())
      return refuse(apimachinery::bad_request("a merge patch must be an object"));
    apimachinery::apply_merge_patch(result, patch.value);
  } else {
    Answer<Json> patched =
        patch.type == PatchType::json_patch
            ? apimachinery::apply_json_patch(result, patch.value)
            : apimachinery::apply_strategic_merge(kind.schema, result, patch.value);
    if (!patched) return refuse(patched.error());
    result = std::move(*patched);
  }
  if (auto ok = check_strictness(context, result, {}, warnings); !ok) return refuse(ok.error());
  if (!result.is_object() || !wire::find(result, "metadata"))
    return refuse(apimachinery::patch_failed("the patch removes the object's metadata"));
  return plan_replacement(context, *live, std::move(result), true);
}

namespace {

// The finalizers an object has once its deletion was asked for with that propagation.
JsonArray finalizers_after_delete(const Json& live, apimachinery::Propagation propagation) {
  using apimachinery::Propagation;
  constexpr std::string_view kOrphan = "orphan", kForeground = "foregroundDeletion";
  JsonArray finalizers;
  if (const Json* list = wire::find(live, "metadata.finalizers"); list && list->is_array())
    for (const Json& entry : list->get_array())
      if (propagation == Propagation::unset ||
          (entry != Json(kOrphan) && entry != Json(kForeground)))
        finalizers.push_back(entry);
  if (propagation == Propagation::orphan) finalizers.emplace_back(kOrphan);
  if (propagation == Propagation::foreground) finalizers.emplace_back(kForeground);
  return finalizers;
}

}  // namespace

Answer<Change> plan_delete(const Kind& kind, const Json& live,
                           const apimachinery::DeleteOptions& options, resource::Moment now) {
  const std::string name = name_of(live);
  const std::string_view uid = wire::find_string(live, "metadata.uid");
  const std::string_view version = wire::find_string(live, "metadata.resourceVersion");
  if (!options.uid.empty() && options.uid != uid)
    return refuse(apimachinery::uid_mismatch(group_resource(kind), name, options.uid, uid));
  if (!options.resource_version.empty() && options.resource_version != version)
    return refuse(apimachinery::conflict(
        group_resource(kind), name,
        "the ResourceVersion in the precondition (" + options.resource_version +
            ") does not match the ResourceVersion in record (" + std::string(version) +
            "). The object might have been modified"));

  JsonArray finalizers = finalizers_after_delete(live, options.propagation);
  if (finalizers.empty() && !has_spec_finalizers(live)) return Change{.kind = Change::Kind::erase};

  Json object = wire::copy_beside(live);
  JsonObject& metadata = metadata_of(object);
  if (finalizers.empty()) {
    metadata.erase("finalizers");
  } else {
    metadata["finalizers"] = std::move(finalizers);
  }
  if (wire::find_string(live, "metadata.deletionTimestamp").empty()) {
    metadata["deletionTimestamp"] = rfc3339(now);
    metadata["deletionGracePeriodSeconds"] = 0;
    if (counts_generation(kind)) raise_generation(live, object);
    if (kind.kind == "Namespace")
      wire::member_object(object.get_object(), "status")["phase"] = "Terminating";
  }
  if (object == live) return Change{.kind = Change::Kind::none};
  return Change{.kind = Change::Kind::put, .object = std::move(object)};
}

}  // namespace fairlead::apiserver
