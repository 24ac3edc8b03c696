// What the long-running programs say besides their log: that they are ready, and why they end. A
// sentence for people, or, with --log-format json, a line like every other.
#pragma once

#include <string>
#include <string_view>

#include "foundation/base/log.h"
#include "foundation/base/result.h"

namespace fairlead::command {

// On standard output, at once.
void announce(std::string_view program, const std::string& sentence, log::Fields fields);

// On standard error; returns the exit status.
int report_failure(std::string_view program, const Error& error);

}  // namespace fairlead::command
