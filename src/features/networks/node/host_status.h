// The part of an attachment's status that its node writes, and the smallest patch that updates it.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "features/networks/node/attachment.h"
#include "foundation/wire/json.h"

namespace fairlead::networks {

// A merge patch of the status subresource; nullopt when there is nothing to change. It contains the
// uid, so that it fails on a new object of the same name.
std::optional<Json> plan_status_patch(const std::string& uid, const HostStatus& known,
                                      const HostStatus& wanted);

// What is new in a status.
struct StatusNews {
  bool interface = false;  // the interface exists
  bool hook = false;       // postCreateExec has ended
  bool errors = false;     // there are errors, even if they were there before
};
StatusNews news_of(const HostStatus& known, const HostStatus& wanted);

}  // namespace fairlead::networks
