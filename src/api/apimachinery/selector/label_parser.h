// The grammar of label selectors; only selector.cc uses it.
#pragma once

#include <string_view>
#include <vector>

#include "api/apimachinery/selector/selector.h"
#include "foundation/base/result.h"

namespace fairlead::apimachinery {

Result<std::vector<LabelSelector::Requirement>> parse_label_requirements(std::string_view text);

}  // namespace fairlead::apimachinery
