#include "foundation/command/log_flags.h"

#include <CLI/CLI.hpp>
#include <map>

#include "foundation/base/log.h"

namespace fairlead::command {
namespace {

const std::map<std::string, log::Format> kFormats{{"text", log::Format::text},
                                                  {"json", log::Format::json}};
const std::map<std::string, log::Level> kLevels{{"debug", log::Level::debug},
                                                {"info", log::Level::info},
                                                {"warning", log::Level::warning},
                                                {"error", log::Level::error}};

}  // namespace

void add_log_flags(CLI::App& command, LogFlags& flags) {
  command.add_option("--log-format", flags.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command.add_option("--log-level", flags.level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
}

void set_up_log(const LogFlags& flags) {
  log::set_format(kFormats.at(flags.format));
  log::set_level(kLevels.at(flags.level));
}

}  // namespace fairlead::command
