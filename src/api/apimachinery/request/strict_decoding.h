// What is said about duplicate and unknown fields of a request body, and how warnings travel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/apimachinery/status.h"

namespace fairlead::apimachinery {

// `duplicate field "spec.size"`, `unknown field "spec.bogus"`: one line per problem, duplicates
// first, at most 100.
std::vector<std::string> decoding_problems(const std::vector<std::string>& duplicates,
                                           const std::vector<std::string>& unknown);

// 400 `strict decoding error: …, …`. REQUIRES: there are problems.
Status strict_decoding_error(const std::vector<std::string>& problems);
// The same with what was being read in front, as creates and updates of a body say it:
// `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: …`.
Status strict_decoding_error(const resource::Kind& kind, const std::vector<std::string>& problems);

// Values for Warning headers: `299 - "text"`, deduplicated; when they add up to more than 4096
// characters each is cut to 256, and what still does not fit is dropped.
std::vector<std::string> warning_headers(const std::vector<std::string>& texts);

}  // namespace fairlead::apimachinery
