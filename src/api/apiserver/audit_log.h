// The audit log: one audit.k8s.io/v1 Event per answered request, as a JSON line. Off unless a sink
// is given. It never holds tokens. It holds bodies only at level Request and above, never of
// Secrets, never of anonymous users, and none over kMaxAuditBody. The URI and user agent of
// anonymous requests are shortened.
#pragma once

#include <functional>
#include <string>

#include "api/apiserver/request.h"
#include "foundation/runtime/time.h"

namespace fairlead::apiserver {

// A longer body is left out; the record says so.
inline constexpr std::size_t kMaxAuditBody = 64 << 10;

enum class AuditLevel { none, metadata, request };

class AuditLog {
 public:
  using Sink = std::function<void(std::string line)>;
  AuditLog() = default;
  AuditLog(AuditLevel level, Sink sink) : level_(level), sink_(std::move(sink)) {}

  bool enabled() const { return level_ != AuditLevel::none && sink_; }
  // `body` is the request's body; empty when there was none or it must not be logged.
  void record(const Request& request, std::string_view body, WallTime received, WallTime answered);
  bool wants_body(const Request& request) const;

 private:
  AuditLevel level_ = AuditLevel::none;
  Sink sink_;
};

}  // namespace fairlead::apiserver
