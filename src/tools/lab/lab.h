// Lab: carries out tools/lab/lab_plan.h. Brings the lab up and down, tells how it is, kills and
// starts its processes. Runs as root. Which lab it is, is in the settings: what was asked for when
// it was brought up is kept in its folder for the commands that come later.
#pragma once

#include <string>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/runtime/epoll_processes.h"
#include "foundation/runtime/epoll_runtime.h"
#include "tools/lab/lab_plan.h"

namespace fairlead::lab {

class Lab {
 public:
  Lab(runtime::EpollRuntime& runtime, LabSettings settings);

  Task<Result<>> up();
  Task<Result<>> down();

  // What a host's death looks like from outside: silence, and nobody to clean up.
  Task<Result<>> fail_host(std::string host);
  Task<Result<>> heal_host(std::string host);

  // One process, by the name that status() shows: SIGKILL; started again.
  Task<Result<>> kill_one(std::string name);
  Task<Result<>> start_one(std::string name);

  // "host-2" or "2".
  Result<std::uint32_t> find_host(const std::string& text);

  // Prints a line for each process. Fails if one of them does not run.
  Result<> status();

 private:
  Task<Result<>> make();
  Task<Result<>> end_processes(std::string netns);
  Result<> start_servers();
  Task<Result<>> make_host(std::uint32_t host);
  Task<Result<>> make_ovs(std::uint32_t host);
  Result<Daemon> find_daemon(const std::string& name);
  Result<> start(const Daemon& daemon);
  Task<Result<std::string>> output_of(Arguments command);
  Task<Result<>> run(Arguments command);

  runtime::EpollRuntime& runtime_;
  runtime::EpollProcesses processes_;
  LabSettings settings_;
};

}  // namespace fairlead::lab
