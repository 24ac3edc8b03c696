#include "program/announce.h"

#include <cstdio>

#include "base/log_line.h"

namespace fairlead::program {

void set_up_log(const std::string& format, const std::string& level) {
  log::set_format(format == "json" ? log::Format::json : log::Format::text);
  log::set_level(level == "debug"     ? log::Level::debug
                 : level == "warning" ? log::Level::warning
                 : level == "error"   ? log::Level::error
                                      : log::Level::info);
}

void announce(std::string_view program, const std::string& sentence, log::Fields fields) {
  const std::string ready = std::string(program) + " ready";
  const std::string text = log::format() == log::Format::json
                               ? log::line(log::Level::info, ready, fields)
                               : ready + sentence + "\n";
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

int report_failure(std::string_view program, const Error& error) {
  if (log::format() == log::Format::json) {
    log::error(std::string(program) + " ends", {{"error", error.message}});
  } else {
    std::fprintf(stderr, "%s: %s\n", std::string(program).c_str(), error.message.c_str());
  }
  return 1;
}

}  // namespace fairlead::program
