#include "program/agent_program.h"

#include "foundation/runtime/scope.h"
#include "program/build_info.h"

namespace fairlead::program {

// /metrics, /healthz, /readyz and /unreachable, in plain text.
class AgentProgram::Pages final : public http::Handler {
 public:
  explicit Pages(AgentProgram& program) : program_(program) {}

  Task<void> serve(http::Exchange& exchange) override {
    const std::string path =
        exchange.request().target.substr(0, exchange.request().target.find('?'));
    http::Response response;
    response.headers.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    std::string body;
    if (exchange.request().method != "GET" && exchange.request().method != "HEAD") {
      response.status = 405;
      body = "only GET\n";
    } else if (path == "/metrics") {
      body = program_.metrics_.expose();
    } else if (path == "/healthz") {
      body = "ok\n";
    } else if (path == "/readyz") {
      const std::string& refusal = program_.agent_->refusal();
      const bool ready = program_.agent_->ready() && refusal.empty();
      response.status = ready ? 200 : 503;
      body = ready              ? "ok\n"
             : !refusal.empty() ? "the API does not know this node: " + refusal + "\n"
                                : "what concerns this node is not known completely yet\n";
    } else if (path == "/unreachable") {
      for (const std::string& line : program_.agent_->unreachable()) body += line + "\n";
    } else {
      response.status = 404;
      body = "/metrics, /healthz, /readyz, /unreachable\n";
    }
    response.body.push_back(Bytes(std::move(body)));
    (void)co_await exchange.respond(std::move(response));
  }

 private:
  AgentProgram& program_;
};

Result<std::unique_ptr<AgentProgram>> AgentProgram::open(runtime::Runtime& runtime,
                                                         runtime::Processes& processes,
                                                         fabric::Fabric& fabric,
                                                         AgentConfig config) {
  std::unique_ptr<AgentProgram> program(new AgentProgram(runtime));
  metrics::register_process_metrics(program->metrics_);
  register_build_info(program->metrics_);
  program->agent_metrics_ = std::make_unique<agent::AgentMetrics>(program->metrics_);
  program->metrics_.gauges("fairlead_agent_info", "1, with what this agent is.", {"node", "fabric"})
      .with({config.agent.node, std::string(fabric.name())})
      .set(1);
  FL_TRY(program->client_,
         client::RestClient::open(
             runtime, std::move(config.api),
             {.user_agent = "fairlead-agent", .endpoints = std::move(config.further_servers)}));
  program->agent_ =
      std::make_unique<agent::Agent>(agent::Agent::Parts{.runtime = runtime,
                                                         .client = *program->client_,
                                                         .fabric = fabric,
                                                         .processes = processes,
                                                         .metrics = *program->agent_metrics_},
                                     std::move(config.agent));
  const agent::Agent& agent = *program->agent_;
  program->metrics_.gauge_of("fairlead_agent_ready",
                             "1 once everything relevant is known and carried.",
                             [&agent] { return agent.ready() ? 1.0 : 0.0; });
  program->metrics_.gauge_of(
      "fairlead_agent_unreachable_attachments",
      "Attachments of others behind hosts of another address family; /unreachable names them.",
      [&agent] { return static_cast<double>(agent.view().out_of_reach().size()); });
  program->metrics_.gauge_of("fairlead_agent_watches", "Watches that this agent keeps on the API.",
                             [&agent] { return static_cast<double>(agent.informers().count()); });
  program->metrics_.gauge_of("fairlead_agent_watches_failing",
                             "Those that do not get through at present.",
                             [&agent] { return static_cast<double>(agent.failing_watches()); });
  if (config.metrics_listen) {
    program->pages_ = std::make_unique<Pages>(*program);
    program->server_ = std::make_unique<http::Server>(
        runtime, *program->pages_, http::Limits{.body_bytes = 1 << 10, .connections = 64});
    FL_TRY(program->listener_, runtime.listen(*config.metrics_listen, nullptr));
    program->metrics_address_ = program->listener_->local();
  }
  return program;
}

AgentProgram::AgentProgram(runtime::Runtime& runtime) : runtime_(runtime) {}
AgentProgram::~AgentProgram() = default;

std::optional<runtime::Endpoint> AgentProgram::metrics_address() const { return metrics_address_; }

Task<void> AgentProgram::run() {
  runtime::Scope serving(runtime_);
  if (listener_) serving.spawn(server_->serve(std::move(listener_)));
  co_await agent_->run();
  if (server_) co_await server_->stop(Duration::zero());
  co_await serving.close();
  client_->close();
}

}  // namespace fairlead::program
