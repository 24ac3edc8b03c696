// metadata: what every API object carries, as Kubernetes has it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/resource/schema/describe.h"

namespace fairlead::resource {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  std::optional<bool> controller;
  std::optional<bool> block_owner_deletion;

  template <class V>
  static void describe(V& v) {
    v.field("apiVersion", &OwnerReference::api_version)
        .required()
        .description("API version of the owner.");
    v.field("kind", &OwnerReference::kind).required().description("Kind of the owner.");
    v.field("name", &OwnerReference::name).required().description("Name of the owner.");
    v.field("uid", &OwnerReference::uid)
        .required()
        .description("UID of the owner: a new object of the same name is not the owner.");
    v.field("controller", &OwnerReference::controller)
        .description("True for the one owner that manages this object.");
    v.field("blockOwnerDeletion", &OwnerReference::block_owner_deletion)
        .description(
            "When the owner is deleted in the foreground, it stays until this object is gone.");
  }
  bool operator==(const OwnerReference&) const = default;
};

struct ObjectMeta {
  std::string name;
  std::string generate_name;
  std::string namespace_;
  std::string self_link;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  std::optional<Time> creation_timestamp;
  std::optional<Time> deletion_timestamp;
  std::optional<std::int64_t> deletion_grace_period_seconds;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::vector<OwnerReference> owner_references;
  std::vector<std::string> finalizers;
  Json managed_fields;  // carried along as it is, so that an update does not lose it

  template <class V>
  static void describe(V& v) {
    v.field("name", &ObjectMeta::name)
        .description("Name of the object, unique among its kind within a namespace. Immutable.");
    v.field("generateName", &ObjectMeta::generate_name)
        .description("Prefix from which the server makes a unique name when name is empty.");
    v.field("namespace", &ObjectMeta::namespace_)
        .description("Namespace of the object; empty for cluster-wide kinds. Immutable.");
    v.field("selfLink", &ObjectMeta::self_link).description("Deprecated; not filled.");
    v.field("uid", &ObjectMeta::uid)
        .description("Identity of this object in time and space, given by the server.");
    v.field("resourceVersion", &ObjectMeta::resource_version)
        .description(
            "Opaque version of this state of the object; an update that carries it succeeds only "
            "if "
            "nothing changed since.");
    v.field("generation", &ObjectMeta::generation)
        .description("Counts the changes of the desired state.");
    v.field("creationTimestamp", &ObjectMeta::creation_timestamp)
        .description("When the server made the object.");
    v.field("deletionTimestamp", &ObjectMeta::deletion_timestamp)
        .description(
            "When deletion was asked for. The object goes away once its finalizers are gone.");
    v.field("deletionGracePeriodSeconds", &ObjectMeta::deletion_grace_period_seconds)
        .description("Seconds granted for a graceful end; set together with deletionTimestamp.");
    v.field("labels", &ObjectMeta::labels)
        .description("Keys and values to organise and select objects by.");
    v.field("annotations", &ObjectMeta::annotations)
        .description("Keys and values that tools attach; not for selecting. At most 256 KiB.");
    v.field("ownerReferences", &ObjectMeta::owner_references)
        .keyed_by({"uid"})
        .patch_merge("uid")
        .description("Objects this one depends on; when all are gone, it is collected.");
    v.field("finalizers", &ObjectMeta::finalizers)
        .set_of_scalars()
        .patch_merge()
        .description("Names of those who must act before the object may go away.");
    v.field("managedFields", &ObjectMeta::managed_fields)
        .description("Which manager set which fields; kept by the server for server-side apply.");
  }
};

// The schema of `metadata`, with the shape of managedFields spelt out.
Schema object_meta_schema();

}  // namespace fairlead::resource
