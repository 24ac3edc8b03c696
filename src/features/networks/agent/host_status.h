// The part of an attachment's status that its node writes: what it should say, and the smallest
// patch that makes it say so. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "features/networks/agent/attachment.h"
#include "foundation/wire/json.h"

namespace fairlead::agent {

// A merge patch for the status subresource; nothing when all is said already. It names the uid, so
// that it fails on a new object of the same name.
std::optional<Json> plan_status_patch(const std::string& uid, const HostStatus& known,
                                      const HostStatus& wanted);

// What a status says that it did not say before.
struct StatusNews {
  bool interface = false;  // where the attachment is made
  bool hook = false;       // how postCreateExec ended
  bool errors = false;     // that something is wrong, also if it said so before
};
StatusNews news_of(const HostStatus& known, const HostStatus& wanted);

}  // namespace fairlead::agent
