#include "program/config_keeper.h"

#include <utility>

#include "foundation/base/log.h"
#include "foundation/runtime/timed_wait.h"

namespace fairlead::program {
namespace {

constexpr Duration kLookAgain = 2s;

}  // namespace

ConfigKeeper::ConfigKeeper(runtime::Runtime& runtime, AgentFlags flags)
    : runtime_(runtime), flags_(std::move(flags)) {
  if (flags_.config.empty()) return;
  if (Result<std::string> text = runtime_.files().read(flags_.config)) text_ = std::move(*text);
}

void ConfigKeeper::ask() {
  asked_ = true;
  asked_signal_.notify();
}

Task<void> ConfigKeeper::keep(agent::NodeAgent& agent) {
  for (;;) {
    runtime::TimedWait wait(runtime_, asked_signal_, runtime_.now() + kLookAgain);
    const Result<> woken = co_await wait;
    if (!woken && woken.error().code == Code::cancelled) co_return;
    const bool asked = std::exchange(asked_, false);
    if (flags_.config.empty()) {
      if (asked) log::info("nothing to read again: the agent was started without --config");
      continue;
    }
    Result<std::string> text = runtime_.files().read(flags_.config);
    if (!text) {  // it may be in the middle of being replaced
      if (asked) log::error("configuration not read again", {{"error", text.error().to_string()}});
      continue;
    }
    if (!asked && *text == text_) continue;
    text_ = std::move(*text);
    read_again(agent);
  }
}

void ConfigKeeper::read_again(agent::NodeAgent& agent) {
  const Result<AgentConfig> config = read_config(flags_, runtime_.files(), own_environment());
  if (!config) {
    log::error("configuration refused: what runs stays as it is",
               {{"error", config.error().message}});
    return;
  }
  agent.follow(config->plan.features);
}

}  // namespace fairlead::program
