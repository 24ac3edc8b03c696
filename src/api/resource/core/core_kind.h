// What the kinds of Kubernetes' own API have in common; for use by their descriptions only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/resource/columns.h"
#include "api/resource/kind.h"
#include "api/resource/name_rules.h"
#include "api/resource/schema/schema_builder.h"

namespace fairlead::resource {

// A kind that is patched strategically and updated without a resourceVersion, as most core kinds
// are.
Kind core_kind(std::string group, std::string kind, std::string plural, std::string singular);

// Gives the member `name` of `object` the value it has in `old`, or removes it when it had none.
void keep_old_member(Json& object, const Json* old, std::string_view name);

bool flag_at(const Json& object, std::string_view path);
std::optional<std::int64_t> integer_at(const Json& object, std::string_view path);
// "8080", or the port's name.
std::string port_text(const Json* port);

// Adds an error unless `port` is within 1..65535.
void check_port_number(const std::string& field, const Json* port, FieldErrors& errors);
// The rule for data of ConfigMaps and Secrets once `immutable` is set.
void check_immutable_data(const Json& object, const Json& old,
                          const std::vector<std::string>& members, FieldErrors& errors);

inline constexpr std::size_t kMaxDataBytes = 1 << 20;

}  // namespace fairlead::resource
