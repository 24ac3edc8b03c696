// create, update, patch, delete and deletecollection: bodies and options in, ObjectWriter, answers
// out.
#pragma once

#include "apiserver/object_writer.h"
#include "apiserver/request.h"
#include "runtime/runtime.h"
#include "watchcache/watch_cache.h"

namespace fairlead::apiserver {

class Writes {
 public:
  Writes(runtime::Runtime& runtime, watchcache::WatchCache& cache, ObjectWriter& writer)
      : runtime_(runtime), cache_(cache), writer_(writer) {}

  Task<Result<>> create(Request& request);
  Task<Result<>> update(Request& request);
  Task<Result<>> patch(Request& request);
  Task<Result<>> remove(Request& request);
  Task<Result<>> remove_collection(Request& request);

 private:
  Answer<WriteContext> context_of(const Request& request, apimachinery::WriteVerb verb) const;
  WriteItem item_of(const Request& request) const;

  runtime::Runtime& runtime_;
  watchcache::WatchCache& cache_;
  ObjectWriter& writer_;
};

}  // namespace fairlead::apiserver
