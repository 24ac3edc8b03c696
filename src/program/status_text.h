// The agent's status for people: scalars as a line each, lists of objects as tables. Pure; knows no
// feature, so that each shows what it has under its own names.
#pragma once

#include <string>

#include "foundation/wire/json.h"

namespace fairlead::program {

std::string status_text(const Json& status);

}  // namespace fairlead::program
