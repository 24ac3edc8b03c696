// EtcdClient: gRPC calls to the members of one etcd cluster over the project's own HTTP/2 client.
//
// Calls go to one member, all on one connection, until that member fails; then to the next. Watches
// have a connection of their own per member, so that a large list never delays an event. Used by
// EtcdStore and its parts, and by features that keep records of their own in etcd.
//
// Before anything goes over a new connection, EtcdHistory examines whose history is behind it. A
// call that is made for one life of it (EtcdEpoch::life) is not sent to another: it fails with
// gone.
//
// The rule about writes: a write is tried again only if the attempt before surely was not carried
// out. When that is not known, the caller is told `timeout` and decides.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/store/etcd/history.h"
#include "api/store/etcd/options.h"
#include "foundation/base/result.h"
#include "foundation/http/client.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"
#include "foundation/runtime/single_flight.h"
#include "foundation/wire/etcd.h"
#include "foundation/wire/grpc.h"

namespace fairlead::store {

// A request of foundation/wire/etcd.h behind its gRPC prefix, as the calls below take it.
template <class Message>
std::string framed_request(const Message& message) {
  std::string framed;
  wire::begin_grpc_message(framed);
  wire::etcd::encode(framed, message);
  wire::end_grpc_message(framed, 0);
  return framed;
}

// One more look at the sockets, and a turn for whoever it woke. A call costs etcd and us as much as
// many of the requests that can share it: those that have arrived already should go along.
Task<Result<>> let_others_join(runtime::Runtime& runtime);

// The messages of one server stream.
class EtcdStream {
 public:
  explicit EtcdStream(std::unique_ptr<http::ClientStream> stream);
  // The next message, valid until the next call. Fails with what the stream ended with; an end
  // without an error is a failure too (unavailable).
  Task<Result<std::string_view>> next();
  // A message that has already arrived, without waiting.
  Result<std::optional<std::string_view>> next_arrived() { return reader_.next(); }

 private:
  Error ending() const;
  std::unique_ptr<http::ClientStream> stream_;
  std::optional<http::ResponseHead> head_;
  wire::GrpcMessageReader reader_;
};

class EtcdClient {
 public:
  EtcdClient(runtime::Runtime& runtime, const EtcdOptions& options);
  ~EtcdClient();

  // One call that changes nothing: tried on one member after the other until the time is up.
  // `framed` is the request behind its gRPC prefix; the response comes without. Life 0: any.
  Task<Result<std::string>> read(std::string_view path, std::string framed, std::uint64_t life = 0);
  // One call that may change something. Fails with timeout when it is not known whether it did.
  Task<Result<std::string>> write(std::string_view path, std::string framed,
                                  std::uint64_t life = 0);

  // Opens a stream at that member (modulo their number) and returns once the request was sent.
  Task<Result<std::unique_ptr<EtcdStream>>> open_stream(std::size_t member, std::string_view path,
                                                        std::string framed, std::uint64_t life);

  // The present epoch; asks etcd if it is not known yet.
  Task<Result<EtcdEpoch>> epoch();
  EtcdHistory& history() { return history_; }
  const EtcdHistory& history() const { return history_; }
  // The history may have become another one: every connection is examined anew.
  void doubt();

  // Calls from now on use new connections: the present ones may lead nowhere.
  void renew_connections();

  std::size_t current_member() const { return current_; }
  runtime::Runtime& runtime() { return runtime_; }
  const EtcdOptions& options() const { return options_; }
  EtcdCounters& counters() { return counters_; }
  const EtcdCounters& counters() const { return counters_; }

 private:
  enum class Kind { read, write };
  struct Link;
  struct Member;
  // How far a call got.
  struct Progress {
    bool sent = false;
    bool connection_lost = false;  // before it was sent
  };

  Task<Result<std::string>> call(Kind kind, std::string_view path, std::string framed,
                                 std::uint64_t life);
  Task<Result<std::string>> attempts(Kind kind, std::string_view path, std::string framed,
                                     std::uint64_t life);
  Task<Result<EtcdHistory::Refusal>> examined(const Member& member, Link& link);
  Task<Result<EtcdHistory::Refusal>> examine(const Member& member, Link& link);
  Task<Result<EtcdAnswer>> ask_unexamined(const Member& member, Link& link, std::string_view path,
                                          std::string framed, std::uint64_t& connection);
  Task<Result<EtcdAnswer>> exchange(const Member& member, Link& link, http::Request request,
                                    std::uint64_t life, Progress& progress);
  static Task<Result<EtcdAnswer>> answer_of(std::unique_ptr<http::ClientStream> stream);
  Result<> check_life(std::uint64_t life) const;
  http::Request request_for(const Member& member, std::string_view path, std::string framed,
                            std::optional<Duration> limit) const;
  void leave(std::size_t member);

  runtime::Runtime& runtime_;
  EtcdOptions options_;
  EtcdCounters counters_;
  EtcdHistory history_;
  std::vector<std::unique_ptr<Member>> members_;
  std::size_t current_ = 0;
  runtime::SingleFlight<const Link*, EtcdHistory::Refusal> examinations_;  // use the members
};

}  // namespace fairlead::store
