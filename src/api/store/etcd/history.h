// EtcdHistory: detects that etcd was restored. EtcdClient lets it examine every connection before
// anything else goes over it: a restore starts new etcd processes, so the history can change only
// together with the connection.
//
// When it has, the server begins a new epoch (EtcdEpoch) by a transaction on the record that etcd
// keeps of it. Of several servers that find out at once one succeeds, and all go by its record.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "api/store/etcd/epoch.h"
#include "api/store/etcd/keys.h"
#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"
#include "foundation/wire/etcd.h"
#include "foundation/wire/grpc.h"

namespace fairlead::store {

// How a call to etcd ended that got an answer.
struct EtcdAnswer {
  wire::GrpcStatus status;
  std::string message;
};

class EtcdHistory {
 public:
  // One call over the connection that is examined.
  using Call = std::function<Task<Result<EtcdAnswer>>(std::string_view path, std::string framed)>;
  // How etcd refused to be examined, if it did.
  using Refusal = std::optional<wire::GrpcStatus>;

  // `seen`: the newest revision that is known to have been handed out before this process began.
  EtcdHistory(runtime::Runtime& runtime, std::string root, Revision seen);

  // Afterwards epoch() is that of the etcd behind the connection.
  Task<Result<Refusal>> examine(Call call);

  const EtcdEpoch& epoch() const { return epoch_; }
  // A revision of the store, of the present epoch, was handed out.
  void saw(Revision shown) { memory_.seen = std::max(memory_.seen, shown); }
  Revision seen() const { return memory_.seen; }
  std::uint64_t restores() const { return restores_; }
  // Called when another epoch than before is in force.
  void on_change(std::function<void()> callback) { changed_ = std::move(callback); }

 private:
  struct Look;
  Task<Result<Refusal>> look(const Call& call, Look& into);
  Task<Result<Refusal>> begin(const Call& call, const Look& seen, EpochRecord record,
                              bool& succeeded);
  void adopt(const EpochRecord& record, Revision began, std::int64_t slack);

  runtime::Runtime& runtime_;
  EtcdKeys keys_;
  EtcdEpoch epoch_;
  EtcdMemory memory_;
  std::uint64_t restores_ = 0;
  std::function<void()> changed_;
};

}  // namespace fairlead::store
