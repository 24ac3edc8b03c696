#include "foundation/command/log_flags.h"

#include <CLI/CLI.hpp>
#include <span>
#include <utility>
#include <vector>

#include "foundation/base/check.h"
#include "foundation/base/log.h"

namespace fairlead::command {
namespace {

constexpr std::pair<const char*, log::Format> kFormats[] = {
    {"text", log::Format::text},
    {"json", log::Format::json},
};
constexpr std::pair<const char*, log::Level> kLevels[] = {
    {"debug", log::Level::debug},
    {"info", log::Level::info},
    {"warning", log::Level::warning},
    {"error", log::Level::error},
};

template <class T>
std::vector<std::string> names_of(std::span<const std::pair<const char*, T>> choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.emplace_back(name);
  return names;
}

template <class T>
T chosen(std::span<const std::pair<const char*, T>> choices, const std::string& wanted) {
  for (const auto& [name, value] : choices)
    if (wanted == name) return value;
  check_failed("a format or level of the log that does not exist", __FILE__, __LINE__);
}

}  // namespace

void add_log_flags(CLI::App& command, LogFlags& flags) {
  command.add_option("--log-format", flags.format, "text or json")
      ->check(CLI::IsMember(names_of<log::Format>(kFormats)))
      ->capture_default_str();
  command.add_option("--log-level", flags.level, "debug, info, warning or error")
      ->check(CLI::IsMember(names_of<log::Level>(kLevels)))
      ->capture_default_str();
}

void set_up_log(const LogFlags& flags) {
  log::set_format(chosen<log::Format>(kFormats, flags.format));
  log::set_level(chosen<log::Level>(kLevels, flags.level));
}

}  // namespace fairlead::command
