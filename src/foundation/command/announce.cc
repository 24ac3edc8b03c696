#include "foundation/command/announce.h"

#include <cstdio>

#include "foundation/base/log_line.h"
#include "foundation/command/exit_status.h"

namespace fairlead::command {

void announce(std::string_view program, const std::string& sentence, log::Fields fields) {
  const std::string ready = std::string(program) + " ready";
  const std::string text = log::format() == log::Format::json
                               ? log::line(log::Level::info, ready, fields)
                               : ready + sentence + "\n";
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

int report_failure(std::string_view program, const Error& error) {
  if (log::format() != log::Format::json) return report(program, error);
  log::error(std::string(program) + " ends", {{"error", error.message}});
  return exit_status_of(error);
}

}  // namespace fairlead::command
