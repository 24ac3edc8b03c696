// What etcd's errors mean. etcd tells several of them apart by their text only; the texts have been
// the same since 3.0 and are part of its API (rpctypes).
#include <string_view>

#include "foundation/wire/etcd.h"

namespace fairlead::wire::etcd {
namespace {

bool says(const GrpcStatus& status, std::string_view words) {
  return status.message.find(words) != std::string::npos;
}

Failure refused(Code code, const GrpcStatus& status) {
  return {Error{code, status.message}, true, false};
}
Failure refused_here(const GrpcStatus& status) {
  return {Error{Code::unavailable, status.message}, true, true};
}
// The member took the request and lost sight of it.
Failure lost(Code code, const GrpcStatus& status) {
  return {Error{code, status.message}, false, true};
}

// The request was turned away at the door. Every other way of being unavailable (a leader that
// changed, a proposal that timed out, a server that stopped) may come after the proposal was made.
bool unavailable_at_the_door(const GrpcStatus& status) {
  return says(status, "no leader") || says(status, "not supported for learner") ||
         says(status, "not capable");
}

}  // namespace

Failure classify_failure(const GrpcStatus& status) {
  switch (status.code) {
    case GrpcCode::ok:
      return {Error{Code::internal, "no failure"}, false, false};
    case GrpcCode::cancelled:
    case GrpcCode::aborted:
      return lost(Code::unavailable, status);
    case GrpcCode::unknown:
      // raft refuses a proposal while it has no leader; etcd passes that on without a code.
      if (says(status, "proposal dropped")) return refused_here(status);
      return lost(Code::internal, status);
    case GrpcCode::invalid_argument:
      return refused(Code::invalid, status);
    case GrpcCode::deadline_exceeded:
      return lost(Code::timeout, status);
    case GrpcCode::not_found:
      return refused(Code::not_found, status);
    case GrpcCode::already_exists:
      return refused(Code::already_exists, status);
    case GrpcCode::permission_denied:
      return refused(Code::forbidden, status);
    case GrpcCode::resource_exhausted:
      return refused(Code::exhausted, status);
    case GrpcCode::failed_precondition:
      return refused(Code::invalid, status);
    case GrpcCode::out_of_range:
      return refused(says(status, "compacted") ? Code::gone : Code::invalid, status);
    case GrpcCode::unimplemented:
      return refused(Code::unsupported, status);
    case GrpcCode::internal:
      return lost(Code::internal, status);
    case GrpcCode::unavailable:
      if (unavailable_at_the_door(status)) return refused_here(status);
      return lost(Code::unavailable, status);
    case GrpcCode::data_loss:
      return lost(Code::corrupt, status);
    case GrpcCode::unauthenticated:
      return refused(Code::unauthorized, status);
  }
  return lost(Code::internal, status);
}

}  // namespace fairlead::wire::etcd
