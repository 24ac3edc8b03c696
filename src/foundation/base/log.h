// Structured log lines: a level, a fixed message, and fields. The message never contains data, so
// that lines can be counted and searched; data goes into fields.
//
//   log::info("server ready", {{"address", address}, {"store", "sqlite"}});
//
// One line per call on standard error, as logfmt or JSON. Safe from any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace fairlead::log {

enum class Level { debug, info, warning, error };
enum class Format { text, json };

struct FieldValue {
  std::string text;
  bool quoted = true;
  FieldValue(std::string_view value) : text(value) {}    // NOLINT(google-explicit-constructor)
  FieldValue(const std::string& value) : text(value) {}  // NOLINT
  FieldValue(const char* value) : text(value) {}         // NOLINT
  FieldValue(bool value) : text(value ? "true" : "false"), quoted(false) {}  // NOLINT
  template <std::integral T>
  FieldValue(T value) : text(std::to_string(value)), quoted(false) {}  // NOLINT
  template <std::floating_point T>
  FieldValue(T value) : text(std::to_string(value)), quoted(false) {}  // NOLINT
};

struct LogField {
  std::string_view name;
  FieldValue value;
};
using Fields = std::initializer_list<LogField>;

void set_level(Level level);
void set_format(Format format);
bool enabled(Level level);

void write(Level level, std::string_view message, Fields fields);
inline void debug(std::string_view message, Fields fields = {}) {
  if (enabled(Level::debug)) write(Level::debug, message, fields);
}
inline void info(std::string_view message, Fields fields = {}) {
  write(Level::info, message, fields);
}
inline void warning(std::string_view message, Fields fields = {}) {
  write(Level::warning, message, fields);
}
inline void error(std::string_view message, Fields fields = {}) {
  write(Level::error, message, fields);
}

}  // namespace fairlead::log
