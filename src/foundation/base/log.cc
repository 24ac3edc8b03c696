#include "foundation/base/log_line.h"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

namespace fairlead::log {
namespace {

std::atomic<Level> current_level{Level::info};
std::atomic<Format> current_format{Format::text};

std::string_view text_name(Level level) {
  switch (level) {
    case Level::debug:
      return "DEBUG";
    case Level::info:
      return "INFO ";
    case Level::warning:
      return "WARN ";
    case Level::error:
      return "ERROR";
  }
  return "ERROR";
}

std::string_view json_name(Level level) {
  switch (level) {
    case Level::debug:
      return "debug";
    case Level::info:
      return "info";
    case Level::warning:
      return "warning";
    case Level::error:
      return "error";
  }
  return "error";
}

void append_time(std::string& line) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm utc{};
  ::gmtime_r(&now.tv_sec, &utc);
  char text[40];
  const std::size_t date = ::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  line.append(text, date);
  std::snprintf(text, sizeof text, ".%03ldZ", now.tv_nsec / 1'000'000);
  line.append(text);
}

// Control characters never reach the terminal or break a line in two, whatever a field holds.
void append_escaped(std::string& line, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line.push_back('\\');
      line.push_back(c);
    } else if (c == '\n') {
      line.append("\\n");
    } else if (c == '\t') {
      line.append("\\t");
    } else if (byte < 0x20 || byte == 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      line.append(escape);
    } else {
      line.push_back(c);
    }
  }
}

void append_quoted(std::string& line, std::string_view text) {
  line.push_back('"');
  append_escaped(line, text);
  line.push_back('"');
}

bool is_bare(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f || c == '"' || c == '=' || c == '\\') return false;
  }
  return true;
}

std::string text_line(Level level, std::string_view message, std::span<const LogField> fields) {
  std::string line;
  append_time(line);
  line.append(" ").append(text_name(level)).append(" ");
  append_escaped(line, message);
  for (const LogField& field : fields) {
    line.append(" ").append(field.name).append("=");
    if (is_bare(field.value.text)) {
      line.append(field.value.text);
    } else {
      append_quoted(line, field.value.text);
    }
  }
  line.push_back('\n');
  return line;
}

std::string json_line(Level level, std::string_view message, std::span<const LogField> fields) {
  std::string line = "{\"time\":\"";
  append_time(line);
  line.append("\",\"level\":\"").append(json_name(level)).append("\",\"message\":");
  append_quoted(line, message);
  for (const LogField& field : fields) {
    line.push_back(',');
    append_quoted(line, field.name);
    line.push_back(':');
    // Infinities and NaN are no JSON numbers.
    const bool number =
        !field.value.quoted && !field.value.text.contains('n') && !field.value.text.contains("inf");
    const bool truth = field.value.text == "true" || field.value.text == "false";
    if (!field.value.quoted && (number || truth)) {
      line.append(field.value.text);
    } else {
      append_quoted(line, field.value.text);
    }
  }
  line.append("}\n");
  return line;
}

}  // namespace

void set_level(Level level) { current_level.store(level, std::memory_order_relaxed); }
void set_format(Format format) { current_format.store(format, std::memory_order_relaxed); }
Format format() { return current_format.load(std::memory_order_relaxed); }
bool enabled(Level level) { return level >= current_level.load(std::memory_order_relaxed); }

std::string line(Level level, std::string_view message, std::span<const LogField> fields) {
  return format() == Format::json ? json_line(level, message, fields)
                                  : text_line(level, message, fields);
}

void write(Level level, std::string_view message, Fields fields) {
  if (!enabled(level)) return;
  const std::string text = line(level, message, {fields.begin(), fields.size()});
  // One write per line keeps lines of several threads and processes whole. A log that cannot be
  // written stops nothing.
  const int saved = errno;
  while (::write(STDERR_FILENO, text.data(), text.size()) < 0 && errno == EINTR) {
  }
  errno = saved;
}

}  // namespace fairlead::log
