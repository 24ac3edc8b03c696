// `fairlead server`, from a checked configuration to a clean exit: construct in order, run, stop in
// reverse. Only wiring.
//
//   listener → http::Server → ApiServer → ObjectWriter → Store
//                                │  reads                  │ one watch over everything
//                                └────────→ WatchCache ←───┘
#pragma once

#include "program/server_config.h"
#include "runtime/epoll_runtime.h"

namespace fairlead::program {

// Serves until SIGTERM or SIGINT, then drains. Prints one line on standard output when ready.
Task<Result<>> run_server(runtime::EpollRuntime& runtime, const ServerConfig& config);

}  // namespace fairlead::program
