// The options of create, update, patch and delete requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/apimachinery/request/accept.h"
#include "api/apimachinery/request/query.h"
#include "api/apimachinery/status.h"
#include "foundation/wire/json.h"

namespace fairlead::apimachinery {

enum class FieldValidation { ignore, warn, strict };

struct WriteOptions {
  bool dry_run = false;
  std::string field_manager;  // never empty after parsing: falls back to the User-Agent
  FieldValidation validation = FieldValidation::warn;
  bool force = false;  // apply only
};

enum class WriteVerb { create, update, patch, apply };

// 422 on CreateOptions, UpdateOptions or PatchOptions, as the verb says.
Answer<WriteOptions> parse_write_options(const Query& query, WriteVerb verb,
                                         std::string_view user_agent);

// "kubectl/v1.32.4 (linux/amd64) …" → "kubectl"; unprintable characters dropped, 128 bytes at most.
std::string manager_of_user_agent(std::string_view user_agent);

enum class Propagation { unset, orphan, background, foreground };

struct DeleteOptions {
  bool dry_run = false;
  Propagation propagation = Propagation::unset;
  std::optional<std::int64_t> grace_seconds;
  std::string uid;               // precondition; empty: none
  std::string resource_version;  // precondition; empty: none
};

// `body` is the decoded body, null when there was none; then the query counts. 400 for a body that
// is not DeleteOptions, 422 for values that are wrong or contradict each other.
Answer<DeleteOptions> parse_delete_options(const Query& query, const Json& body);

}  // namespace fairlead::apimachinery
