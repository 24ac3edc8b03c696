// What the long-running programs say besides their log: that they are ready, and why they end. A
// sentence for people, or, with --log-format json, a line like every other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "foundation/base/log.h"
#include "foundation/base/result.h"

namespace fairlead::command {

// On standard output, at once; and to the service manager (sd_notify), if there is one.
void announce(std::string_view program, const std::string& sentence,
              const std::vector<log::LogField>& fields);

// To the service manager, if there is one: it ends, by its own will.
void announce_stop(const std::string& why);

// On standard error; returns the exit status.
int report_failure(std::string_view program, const Error& error);

}  // namespace fairlead::command
