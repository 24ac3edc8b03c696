// process_*: what the kernel says about this process, read at scrape time.
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "foundation/base/metrics.h"

namespace fairlead::metrics {
namespace {

std::string first_bytes_of(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The n-th field of /proc/self/stat as proc(5) counts them, n > 2. The command name may hold spaces
// and brackets, so counting starts after its last bracket.
double stat_field(int n) {
  const std::string text = first_bytes_of("/proc/self/stat");
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string::npos) return 0;
  std::istringstream rest(text.substr(bracket + 1));
  std::string field;
  for (int i = 3; i <= n && rest >> field; ++i) {
  }
  return std::strtod(field.c_str(), nullptr);
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double open_files() {
  DIR* directory = ::opendir("/proc/self/fd");
  if (!directory) return 0;
  int count = -1;  // the one opendir itself uses
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] != '.') ++count;
  }
  ::closedir(directory);
  return std::max(count, 0);
}

double max_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

double resident_bytes() { return stat_field(24) * static_cast<double>(::sysconf(_SC_PAGESIZE)); }

double start_seconds() {
  const std::string text = first_bytes_of("/proc/stat");
  const std::size_t at = text.find("btime ");
  if (at == std::string::npos) return 0;
  const double boot = std::strtod(text.c_str() + at + 6, nullptr);
  return boot + stat_field(22) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

void register_process_metrics(Registry& registry) {
  registry.counter_of("process_cpu_seconds_total",
                      "Total user and system CPU time spent in seconds.", cpu_seconds);
  registry.gauge_of("process_resident_memory_bytes", "Resident memory size in bytes.",
                    resident_bytes);
  registry.gauge_of("process_virtual_memory_bytes", "Virtual memory size in bytes.",
                    [] { return stat_field(23); });
  registry.gauge_of("process_open_fds", "Number of open file descriptors.", open_files);
  registry.gauge_of("process_max_fds", "Maximum number of open file descriptors.", max_files);
  registry.gauge_of("process_threads", "Number of threads.", [] { return stat_field(20); });
  const double started = start_seconds();
  registry.gauge_of("process_start_time_seconds",
                    "Start time of the process since unix epoch in seconds.",
                    [started] { return started; });
}

}  // namespace fairlead::metrics
