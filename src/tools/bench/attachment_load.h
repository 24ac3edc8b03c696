// `fairlead bench attachments`: virtual networks whose attachments come and go, and how long each
// takes from the create to its address, its interface, its being carried by other hosts, its test.
//
// Addresses, interfaces and tests are seen through a watch. What other hosts carry is told by the
// agents themselves, if they are the load's own (AgentBoard).
//
// The load goes through warm-up (the networks fill), cruise (one goes, one comes) and cool-down; at
// the end of each it waits until everything is there, and until the agents are in step.
//
// A delete whose attachment is not there yet waits for it beside the others, and counts from when
// it could be sent: what the load waits for by itself is not the server's latency.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "foundation/http/client.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"
#include "tools/bench/attachment_events.h"
#include "tools/bench/attachment_figures.h"
#include "tools/bench/attachment_objects.h"
#include "tools/bench/connection.h"
#include "tools/bench/driver_metrics.h"
#include "tools/bench/metrics_page.h"
#include "tools/bench/network_plan.h"
#include "tools/bench/process_times.h"

namespace fairlead::bench {

class AttachmentLoad {
 public:
  // REQUIRES: settings went through check_settings; `target` and `board` outlive the load. Without
  // a board agents are somebody else's.
  AttachmentLoad(runtime::Runtime& runtime, const Target& target, AttachmentSettings settings,
                 std::string run, AgentBoard* board = nullptr);

  // Serves /metrics there while measuring. Fails, naming the flag, if that cannot be.
  Result<runtime::Endpoint> serve_metrics(const runtime::Endpoint& at);

  Task<Result<>> prepare();
  Task<Result<>> measure();
  Task<Result<>> clean_up();
  void stop() { stop("interrupted"); }

  std::string text() const { return figures_.text(); }
  Json json() const { return figures_.json(); }
  // What was not as it should be, although the run came to its end.
  std::vector<std::string> problems() const { return figures_.errors(); }

 private:
  Json attachment_object(const Step& step);
  Task<Result<std::vector<std::string>>> list_nodes();
  Task<Result<>> make_subnets();
  Task<Result<std::string>> list_version();
  Task<void> follow(std::string version);
  Task<Result<>> follow_stream(std::string version);
  void stop(const std::string& why);
  void stop_on_failure();
  Task<void> run_phase(const Phase& phase);
  Task<void> pause();
  Task<void> work(std::size_t worker, std::size_t end);
  bool may_go(std::size_t index) const;
  Task<Result<>> wait_to_go(std::size_t index);
  Task<void> go_later(std::size_t index);
  Task<void> carry_out(Connection& connection, const Step& step, Instant due);
  Task<void> show_progress();
  Task<void> wait_for_stages();
  Task<void> wait_for_departures();
  Task<void> wait_for_agents(PhaseFigures& phase);
  std::uint64_t expected_stations() const;
  ProcessFigures server_figures();
  void note_server(PhaseFigures& phase, const ProcessFigures& before, Instant since);
  Result<> write_files() const;
  Task<Result<>> remove_attachments();

  runtime::Runtime& runtime_;
  const Target& target_;
  AttachmentSettings settings_;
  std::string run_;
  AgentBoard* board_;
  AttachmentObjects objects_;
  std::string subnets_path_, attachments_path_;
  std::unique_ptr<Connection> control_;
  std::vector<std::unique_ptr<Connection>> workers_;
  std::vector<std::unique_ptr<Connection>> spares_;  // for steps that had to wait
  std::unique_ptr<http::Client> watcher_;

  std::vector<PlannedNetwork> networks_;
  std::vector<Step> steps_;
  std::vector<Phase> phases_;
  std::vector<Duration> times_;  // of the phase's steps
  Instant start_{};              // of the phase
  std::size_t phase_begin_ = 0;
  std::size_t next_step_ = 0;
  runtime::Scope* waiting_ = nullptr;  // the phase's steps that wait
  std::set<std::size_t> held_;         // those steps
  AttachmentFigures figures_;
  DriverMetrics metrics_;
  AttachmentEvents events_;
  std::unique_ptr<MetricsPage> page_;
  bool watching_ = false;
  bool made_namespace_ = false;
  bool stopped_ = false;
  runtime::Signal changed_;
};

}  // namespace fairlead::bench
