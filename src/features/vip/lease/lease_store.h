// LeaseStore: what the election of virtual IPs asks of a shared store (docs/design/022): a few
// records, each replaced only by whoever knows its version. Implementations: EtcdLeases,
// KubernetesLeases.
//
// Promises of an implementation
//   1. list() shows all records as of one moment, and every put() that was confirmed to anybody
//      before it was called.
//   2. put() replaces a record only if its version is the given one. A version is never used again
//      for another content of the record.
//   3. A put() that fails with conflict was not made. One that fails otherwise may have been made,
//      and may still be made later.
#pragma once

#include <string>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/runtime/task.h"
#include "foundation/runtime/time.h"

namespace fairlead::vip {

struct StoredRecord {
  std::string name;
  std::string value;
  std::string version;
};

// A record to be written.
struct RecordPut {
  std::string name;
  std::string value;
  std::string version;  // that it replaces; empty: there must be none
  // For people who look at the store:
  std::string holder;
  Duration lease{};
};

class LeaseStore {
 public:
  virtual ~LeaseStore() = default;
  virtual Task<Result<std::vector<StoredRecord>>> list() = 0;
  // The version as which it was stored.
  virtual Task<Result<std::string>> put(RecordPut put) = 0;
};

}  // namespace fairlead::vip
