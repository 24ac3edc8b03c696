#include "features/vip/command/vip_command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "features/vip/command/vip_tune.h"
#include "features/vip/config/vip_texts.h"
#include "features/vip/control/messages.h"
#include "features/vip/fence/kernel_fence.h"
#include "features/vip/guard/engine_process.h"
#include "features/vip/guard/guard_process.h"
#include "foundation/command/exit_status.h"
#include "foundation/command/log_flags.h"
#include "foundation/runtime/epoll_runtime.h"
#include "node/agent/admin_client.h"
#include "node/agent/explanation.h"

namespace fairlead::vip {
namespace {

constexpr const char* kCommand = "fairlead vip";

// ---- texts to begin with

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return command::kDone;
}

void add_sample(CLI::App& vip, int& exit_status) {
  CLI::App* sample =
      vip.add_subcommand("sample", "Prints a configuration file for the agent, with comments.");
  sample->footer("Examples:\n  fairlead vip sample");
  sample->callback([&exit_status] { exit_status = print(vip_sample()); });
}

void add_manifest(CLI::App& vip, int& exit_status) {
  CLI::App* manifest = vip.add_subcommand(
      "manifest", "Prints a static Pod that runs the agent on a control plane node of kubeadm.");
  auto options = std::make_shared<ManifestOptions>();
  manifest->add_option("--image", options->image, "The agent's image")->capture_default_str();
  manifest->add_option("--config", options->config, "The agent's file on the node")
      ->capture_default_str();
  manifest->add_option("--state", options->state, "Folder on the node for term, vote and members")
      ->capture_default_str();
  manifest->footer(
      "Examples:\n  fairlead vip manifest --image registry.example/net/fairlead:latest");
  manifest->callback([options, &exit_status] {
    const Result<std::string> text = vip_manifest(*options);
    exit_status = text ? print(*text) : command::report("fairlead vip manifest", text.error());
  });
}

// ---- what an agent is asked

struct AskFlags {
  std::string admin_socket;
  bool json = false;
  WishOrder wish;
};

void add_socket_flag(CLI::App& command, AskFlags& flags) {
  command.add_option("--admin-socket", flags.admin_socket,
                     "Socket of the agent to ask; default: the one in /run/fairlead");
}

Result<std::string> ask(const AskFlags& flags, const std::string& path,
                        std::optional<std::string> body) {
  runtime::EpollRuntime runtime({.blocking_threads = 1});
  FL_TRY(const std::string socket, agent::choose_admin_socket(runtime.files(), flags.admin_socket));
  return runtime.run_until_complete(agent::ask_agent(runtime, socket, path, std::move(body)));
}

int make_wish(const AskFlags& flags, const std::string& done) {
  const Result<std::string> answer =
      ask(flags, "/vip/wish", wire::encode_json(resource::encode(flags.wish)));
  if (!answer) return command::report(kCommand, answer.error());
  std::printf("%s\n", done.c_str());
  return command::kDone;
}

std::string history_line(const Passage& passage) {
  std::string line = passage.at + "  " + passage.vip + "  " + passage.what + "  epoch " +
                     std::to_string(passage.epoch);
  if (passage.what == "held")
    line += "  elected in " + std::to_string(passage.elect) + " us, announced in " +
            std::to_string(passage.announce) + " us";
  if (passage.what == "reached")
    line += "  by the first packet " + std::to_string(passage.reach) + " us after the announcement";
  return agent::printable(line);
}

int show_history(const AskFlags& flags) {
  const Result<std::string> text = ask(flags, "/vip/history", std::nullopt);
  if (!text) return command::report(kCommand, text.error());
  const Result<wire::ParsedJson> all = wire::parse_json(*text, {.max_bytes = kMostControlBytes});
  if (!all || !all->value.is_array())
    return command::report(kCommand, {Code::corrupt, "the agent's answer is no list"});
  if (flags.json) {
    std::printf("%s\n", wire::encode_json_pretty(all->value).c_str());
    return command::kDone;
  }
  for (const Json& one : all->value.get_array())
    if (const Result<Passage> passage = resource::decode<Passage>(one))
      std::printf("%s\n", history_line(*passage).c_str());
  return command::kDone;
}

void add_move(CLI::App& vip, int& exit_status) {
  CLI::App* command =
      vip.add_subcommand("move", "Moves a virtual IP to another node, without losing packets.");
  auto flags = std::make_shared<AskFlags>();
  flags->wish.kind = "move";
  command->add_option("ADDRESS", flags->wish.vip, "The virtual IP")->required();
  command->add_option("--to", flags->wish.node, "Node that is to hold it")->required();
  add_socket_flag(*command, *flags);
  command->footer("Examples:\n  fairlead vip move 10.0.0.75 --to b");
  command->callback([flags, &exit_status] {
    exit_status = make_wish(*flags, flags->wish.vip + " goes to " + flags->wish.node);
  });
}

void add_member(CLI::App& vip, int& exit_status) {
  CLI::App* member =
      vip.add_subcommand("member", "Adds or removes a member of the election, one at a time.");
  member->require_subcommand(1);
  member->footer(
      "Examples:\n"
      "  fairlead vip member add d 10.0.0.4:10000\n"
      "  fairlead vip member remove d");
  auto adding = std::make_shared<AskFlags>();
  adding->wish.kind = "addMember";
  CLI::App* add = member->add_subcommand(
      "add", "Adds a member. Start its agent first: a change counts when a majority has it.");
  add->add_option("NAME", adding->wish.node, "Its node's name")->required();
  add->add_option("ADDRESS", adding->wish.address, "host:port of its election socket")->required();
  add_socket_flag(*add, *adding);
  add->footer("Examples:\n  fairlead vip member add d 10.0.0.4:10000");
  add->callback([adding, &exit_status] {
    exit_status = make_wish(*adding, adding->wish.node + " is a member");
  });
  auto removing = std::make_shared<AskFlags>();
  removing->wish.kind = "removeMember";
  CLI::App* remove = member->add_subcommand(
      "remove", "Removes a member: what it holds goes to others, and its disk counts no more.");
  remove->add_option("NAME", removing->wish.node, "Its node's name")->required();
  add_socket_flag(*remove, *removing);
  remove->footer("Examples:\n  fairlead vip member remove d");
  remove->callback([removing, &exit_status] {
    exit_status = make_wish(*removing, removing->wish.node + " is no member any more");
  });
}

void add_history(CLI::App& vip, int& exit_status) {
  CLI::App* command = vip.add_subcommand(
      "history", "Shows which virtual IPs this node took, gave up and lost, and when.");
  auto flags = std::make_shared<AskFlags>();
  add_socket_flag(*command, *flags);
  command->add_flag("--json", flags->json, "For programs: a list");
  command->footer("Examples:\n  fairlead vip history --json");
  command->callback([flags, &exit_status] { exit_status = show_history(*flags); });
}

// ---- the fence, without an agent

int show_fence() {
  const Result<std::unique_ptr<KernelFence>> fence = KernelFence::look({});
  if (!fence) return command::report(kCommand, fence.error());
  std::printf("%s\n", (*fence)->description().c_str());
  const Result<std::vector<FencedVip>> all = (*fence)->list();
  if (!all) return command::report(kCommand, all.error());
  runtime::EpollRuntime runtime({.blocking_threads = 1});
  const Instant now = runtime.now();
  for (const FencedVip& one : *all) {
    const bool open = now < one.deadline;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(one.deadline - now);
    std::printf("%s  %s  %s\n", one.vip.to_string().c_str(),
                one.interface.empty() ? "(interface is gone)" : one.interface.c_str(),
                open ? ("open for " + std::to_string(left.count()) + " ms").c_str() : "closed");
  }
  return command::kDone;
}

int clear_fence() {
  if (Result<> gone = KernelFence::dismantle({}); !gone)
    return command::report(kCommand, gone.error());
  std::printf("the fence of this network namespace is removed\n");
  return command::kDone;
}

void add_fence(CLI::App& vip, int& exit_status) {
  CLI::App* command = vip.add_subcommand(
      "fence", "Shows the kernel's fence of this network namespace, or removes it.");
  auto clear = std::make_shared<bool>(false);
  command->add_flag("--clear", *clear,
                    "Remove it. First stop the agent and remove the addresses: without the fence "
                    "this host answers for every address it has");
  command->footer("Examples:\n  fairlead vip fence\n  fairlead vip fence --clear");
  command->callback([clear, &exit_status] { exit_status = *clear ? clear_fence() : show_fence(); });
}

// ---- the processes

constexpr const char* kStateHelp = "Folder for what the election must not forget";

struct ProcessFlags {
  EngineProcessOptions engine;
  command::LogFlags log;
};

void add_guard(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand("vip-guard", "Parent of the engine of virtual IPs.");
  command->group("");
  auto flags = std::make_shared<ProcessFlags>();
  command->add_option("--state", flags->engine.state, kStateHelp)->required();
  command::add_log_flags(*command, flags->log);
  command->footer("Examples:\n  fairlead vip-guard --state /var/lib/fairlead-vip");
  command->callback([flags, &exit_status] {
    command::set_up_log(flags->log);
    exit_status =
        run_guard({.state = flags->engine.state,
                   .engine = {"/proc/self/exe", "vip-engine", "--state", flags->engine.state,
                              "--log-format", flags->log.format, "--log-level", flags->log.level}});
  });
}

void add_engine(CLI::App& app, int& exit_status) {
  CLI::App* command = app.add_subcommand("vip-engine", "Elects, fences and announces virtual IPs.");
  command->group("");
  auto flags = std::make_shared<ProcessFlags>();
  command->add_option("--state", flags->engine.state, kStateHelp)->required();
  command->add_option("--note-fd", flags->engine.note_fd, "Where the guard reads what it is to do");
  command->add_option("--guard", flags->engine.guard, "Process that this one ends with");
  command::add_log_flags(*command, flags->log);
  command->footer("Examples:\n  fairlead vip-engine --state /var/lib/fairlead-vip");
  command->callback([flags, &exit_status] {
    command::set_up_log(flags->log);
    exit_status = run_engine(flags->engine);
  });
}

}  // namespace

void add_vip_commands(CLI::App& app, int& exit_status) {
  CLI::App* vip = app.add_subcommand(
      "vip", "Virtual IPs: files to begin with, moves, members, history, times, the fence.");
  vip->require_subcommand(1);
  vip->footer(
      "Examples:\n"
      "  fairlead vip sample\n"
      "  fairlead vip move 10.0.0.75 --to b\n"
      "  fairlead vip history --json");
  add_sample(*vip, exit_status);
  add_manifest(*vip, exit_status);
  add_move(*vip, exit_status);
  add_member(*vip, exit_status);
  add_history(*vip, exit_status);
  add_tune(*vip, exit_status);
  add_fence(*vip, exit_status);
  add_guard(app, exit_status);
  add_engine(app, exit_status);
}

}  // namespace fairlead::vip
