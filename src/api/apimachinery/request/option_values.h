// Reading typed values out of a query; shared by list_options.cc and write_options.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/apimachinery/request/query.h"
#include "foundation/base/result.h"

namespace fairlead::apimachinery {

// Absent and empty are nullopt. As in Kubernetes, "0" and "false" are false and every other value
// is true.
Result<std::optional<bool>> bool_option(const Query& query, std::string_view name);
// Fails with invalid on what is not a decimal number.
Result<std::optional<std::int64_t>> integer_option(const Query& query, std::string_view name);

// A resourceVersion; nullopt for anything that is not decimal digits.
std::optional<std::uint64_t> decimal_revision(std::string_view text);
std::string invalid_revision_text(std::string_view text);

}  // namespace fairlead::apimachinery
