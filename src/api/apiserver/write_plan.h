// From a request and the live object to the object that will be stored: the pure half of every
// write.
//
// Each plan_ function is one verb. They run the same stages in the same order (decode, server-owned
// metadata, defaults, the kind's prepare, validation, managed fields) and end in a Change, which
// ObjectWriter commits. Called again with a newer live object when a commit conflicts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/apimachinery/request/accept.h"
#include "api/apimachinery/request/write_options.h"
#include "api/apimachinery/status.h"
#include "api/identity/user.h"
#include "api/resource/kind.h"
#include "foundation/wire/json.h"

namespace fairlead::apiserver {

using apimachinery::Answer;
using apimachinery::Status;

struct WriteContext {
  const resource::Kind* kind = nullptr;
  std::string namespace_name;  // from the path
  std::string name;            // from the path; empty on create
  std::string subresource;     // "", "status" or "finalize"
  apimachinery::WriteOptions options;
  // False: the write is not recorded in managedFields (see is_tracked).
  bool tracked = true;
  resource::Moment now;
  std::function<std::uint64_t()> random;
};

// Whether this write is recorded in managedFields. They exist to detect conflicts between writers;
// what a node writes of kinds that it writes often (resource::NodeAccess) has no other writer.
bool is_tracked(const identity::User& user, const resource::Kind& kind);

// What a plan decided.
struct Change {
  enum class Kind { none, put, erase };
  Kind kind = Kind::none;
  Json object;  // put: what to store; none and erase: what to answer with, if not the live one
  bool creates = false;  // put of an object that does not exist yet
};

// A decoded request body, with the warnings about it.
struct Body {
  Json value;
  std::vector<std::string> duplicates;
};

// 400 for text that is neither JSON nor YAML; an empty body is null.
Answer<Body> decode_body(std::string_view content, apimachinery::Format format);

// Refuses or warns about duplicate and unknown fields, as options.validation says; unknown fields
// that the kind does not keep are removed. Warnings are added to `warnings`.
Answer<> check_strictness(const WriteContext& context, Json& object,
                          const std::vector<std::string>& duplicates,
                          std::vector<std::string>& warnings);

Answer<Change> plan_create(const WriteContext& context, Json object);

// For objects that the server itself creates, without validation: sets what every new object has
// (uid, creationTimestamp, generation, and what its kind adds).
void complete_new(const resource::Kind& kind, Json& object, resource::Moment now,
                  const std::function<std::uint64_t()>& random);

// `live` null: the object is missing (404, or a create where the kind allows it).
Answer<Change> plan_update(const WriteContext& context, const Json* live, Json object);

struct Patch {
  apimachinery::PatchType type = apimachinery::PatchType::merge_patch;
  Json value;
};
Answer<Change> plan_patch(const WriteContext& context, const Json* live, const Patch& patch,
                          std::vector<std::string>& warnings);

Answer<Change> plan_delete(const resource::Kind& kind, const Json& live,
                           const apimachinery::DeleteOptions& options, resource::Moment now);

// Whether finalizers are left (metadata.finalizers, and spec.finalizers of a Namespace). An object
// without any may be erased.
bool has_finalizers(const Json& object);

}  // namespace fairlead::apiserver
