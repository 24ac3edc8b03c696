// `fairlead server`, from a checked configuration to a clean exit: construct in order, run, stop in
// reverse. Only wiring.
//
//   listener → http::Server → ApiServer → ObjectWriter → Store
//                                │  reads                  │ one watch over everything
//                                └────────→ WatchCache ←───┘
//
// Runs on any Runtime: sim/scenarios/programs_test.cc runs it through weeks of virtual time.
#pragma once

#include <functional>
#include <string>

#include "foundation/command/stop_request.h"
#include "foundation/runtime/runtime.h"
#include "program/open_store.h"
#include "program/server_config.h"

namespace fairlead::program {

// What a server has from where it runs, besides the Runtime.
struct ServerSurroundings {
  // The store of the configuration. Fails with unavailable while another process has it.
  std::function<Result<OpenedStore>(metrics::Registry&)> open_store;
  // Serves from now on, there.
  std::function<void(const std::string& url, const std::string& store)> tell_ready;
  // Gives unused memory back to the system; called now and then.
  std::function<void()> give_back_memory;
};

// Serves until asked to stop, or the store fails.
//
// Asked to stop: /readyz says no, everything is still served for --shutdown-delay-seconds; then the
// listeners close, watches end, and requests under way get --drain-seconds to end.
Task<Result<>> run_server(runtime::Runtime& runtime, const ServerConfig& config,
                          ServerSurroundings surroundings, command::StopRequest& stop);

}  // namespace fairlead::program
