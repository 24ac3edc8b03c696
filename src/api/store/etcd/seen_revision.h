// The newest revision that a server on etcd has handed out, kept in its folder (DIR/etcd-revision).
//
// It lies outside etcd, so that also an etcd whose files were put back to an earlier state, raft
// log and all, is recognised when a server starts (EtcdOptions::seen). A few seconds may be
// missing.
#pragma once

#include <functional>
#include <string>

#include "api/store/store.h"
#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::store {

class SeenRevision {
 public:
  SeenRevision(runtime::Runtime& runtime, const std::string& folder)
      : runtime_(runtime), path_(folder + "/etcd-revision") {}

  // What was kept last, 0 if nothing was. Fails if the file is not one of ours.
  Result<Revision> read();
  // Writes it now and then, if it has changed, until cancelled.
  Task<void> keep(std::function<Revision()> seen);
  Task<Result<>> write(Revision seen);

 private:
  runtime::Runtime& runtime_;
  std::string path_;
  Revision kept_ = 0;
};

}  // namespace fairlead::store
