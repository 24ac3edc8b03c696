#include "tools/bench/process_times.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace fairlead::bench {
namespace {

// proc(5) counts from 1; these are the fields after the name, which is field 2.
constexpr std::size_t kUserTime = 14 - 3;
constexpr std::size_t kSystemTime = 15 - 3;
constexpr std::size_t kResidentPages = 24 - 3;

}  // namespace

Result<ProcessFigures> parse_process_stat(std::string_view text, long ticks, long page) {
  // The name may contain anything, also spaces and brackets.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return fail(Code::corrupt, "no process name");
  text.remove_prefix(name_end + 1);
  std::vector<std::string_view> fields;
  while (!text.empty()) {
    const std::size_t begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
  const auto number = [&](std::size_t index) -> Result<std::uint64_t> {
    std::uint64_t value = 0;
    if (index >= fields.size() ||
        std::from_chars(fields[index].data(), fields[index].data() + fields[index].size(), value)
                .ec != std::errc{}) {
      return fail(Code::corrupt, "a field of /proc/PID/stat is missing");
    }
    return value;
  };
  FL_TRY(const std::uint64_t user, number(kUserTime));
  FL_TRY(const std::uint64_t system, number(kSystemTime));
  FL_TRY(const std::uint64_t pages, number(kResidentPages));
  const double seconds = static_cast<double>(user + system) / static_cast<double>(ticks);
  return ProcessFigures{
      .cpu = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)),
      .resident = pages * static_cast<std::uint64_t>(page)};
}

Result<ProcessFigures> observe_process(runtime::Files& files, int pid) {
  FL_TRY(const std::string text, files.read("/proc/" + std::to_string(pid) + "/stat"));
  return parse_process_stat(text, ::sysconf(_SC_CLK_TCK), ::sysconf(_SC_PAGESIZE));
}

}  // namespace fairlead::bench
