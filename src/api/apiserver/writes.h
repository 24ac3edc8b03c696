// create, update, patch, delete and deletecollection: decodes bodies and options, has ObjectWriter
// commit, and answers.
#pragma once

#include "api/apiserver/access.h"
#include "api/apiserver/object_writer.h"
#include "api/apiserver/request.h"
#include "api/watchcache/watch_cache.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::apiserver {

class Writes {
 public:
  Writes(runtime::Runtime& runtime, watchcache::WatchCache& cache, ObjectWriter& writer,
         Access& access)
      : runtime_(runtime), cache_(cache), writer_(writer), access_(access) {}

  Task<Result<>> create(Request& request);
  Task<Result<>> update(Request& request);
  Task<Result<>> patch(Request& request);
  Task<Result<>> remove(Request& request);
  Task<Result<>> remove_collection(Request& request);

 private:
  Answer<WriteContext> context_of(const Request& request, apimachinery::WriteVerb verb) const;
  WriteItem item_of(const Request& request) const;
  // For writes that create a missing object (apply, some updates): whether this one may. True when
  // the object is missing and the user may create it, false when it exists; a refusal when it is
  // missing and the user may not create it.
  Task<Answer<bool>> may_create(const Request& request);

  runtime::Runtime& runtime_;
  watchcache::WatchCache& cache_;
  ObjectWriter& writer_;
  Access& access_;
};

}  // namespace fairlead::apiserver
