#include "foundation/command/announce.h"

#include <cstdio>

#include "foundation/base/log_line.h"
#include "foundation/command/exit_status.h"
#include "foundation/runtime/service_manager.h"

namespace fairlead::command {
namespace {

// Whoever waits for it would otherwise not learn why it waits.
void warn_of(const Result<>& told) {
  if (!told) log::warning("service manager not told", {{"error", told.error().message}});
}

}  // namespace

void announce(std::string_view program, const std::string& sentence,
              const std::vector<log::LogField>& fields) {
  const std::string ready = std::string(program) + " ready";
  const std::string text = log::format() == log::Format::json
                               ? log::line(log::Level::info, ready, fields)
                               : ready + sentence + "\n";
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  warn_of(runtime::ServiceManager::from_environment().ready("ready" + sentence));
}

void announce_stop(const std::string& why) {
  warn_of(runtime::ServiceManager::from_environment().stopping("stopping: " + why));
}

int report_failure(std::string_view program, const Error& error) {
  if (log::format() != log::Format::json) return report(program, error);
  log::error(std::string(program) + " ends", {{"error", error.message}});
  return exit_status_of(error);
}

}  // namespace fairlead::command
