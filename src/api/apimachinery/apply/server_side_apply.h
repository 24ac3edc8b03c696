// Server-side apply: an applied configuration, the live object, and who owns what → the new object.
#pragma once

#include "api/apimachinery/apply/managed_fields.h"
#include "api/apimachinery/status.h"
#include "api/resource/kind.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

struct ApplyOptions {
  Writer writer;
  bool force = false;
};

// `live` is null when the object does not exist yet. `config` is the decoded body.
//
// 400 for a configuration of another type or with managedFields; 409 with one FieldManagerConflict
// cause per field that another manager owns and this one would change, unless forced; 400 when a
// list repeats a key. The result still goes through defaults, prepare and validation; when it
// equals `live` (same_but_for_managed_times), nothing is to be written.
Answer<Json> server_side_apply(const resource::Kind& kind, const Json* live, const Json& config,
                               const ApplyOptions& options);

}  // namespace fairlead::apimachinery
