// Bird: a BIRD 2 that the agent runs: its configuration, its process, and what it says of its
// sessions.
//
//   follow(plan) → bird.conf → checked by `bird -p` → started, or `birdc configure`
//   process: under the agent, which it does not outlive; started again with a back-off
//   sessions(): asked for every second
//
// When the agent ends, by kill -9 too, BIRD is killed, its TCP sessions end, and the routers
// withdraw what it announced at once. On one loop.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "features/vip/routes/bird_config.h"
#include "features/vip/routes/bird_status.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/processes.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::vip {

class Bird {
 public:
  struct Session {
    Ip neighbor;
    bool established = false;
    std::string state;        // as BIRD has it
    std::optional<bool> bfd;  // nothing: the session is not watched by it
    bool operator==(const Session&) const = default;
  };

  // Its files are in the folder `state`. `processes` may be null: then it cannot run. `changed` is
  // called when sessions() or problem() are others.
  Bird(runtime::Runtime& runtime, runtime::Processes* processes, std::string state,
       std::function<void()> changed);

  // Goes on by this plan; nothing: BIRD ends.
  void follow(std::optional<BirdPlan> plan);

  // Until cancelled; BIRD has ended then.
  Task<void> run();

  bool running() const { return running_; }
  // Why it does not do what it was told last; empty: it does.
  const std::string& problem() const { return problem_; }
  const std::vector<Session>& sessions() const { return sessions_; }
  std::uint64_t starts() const { return starts_; }

 private:
  struct Accepted {
    BirdPlan plan;
    std::string text;
  };
  Task<void> keep_config();
  Task<void> keep_process();
  Task<void> watch();
  Task<Result<>> check(const BirdPlan& plan, const std::string& text);
  Task<Result<std::string>> ask(std::vector<std::string> words);
  Task<Result<>> tell_running();
  Task<Result<>> write(std::string to, std::string text);
  void accept(const BirdPlan& plan, const std::string& text);
  void believe_no_session();
  void log_errors(std::string_view text);
  void set_problem(std::string problem);
  void set_sessions(std::vector<Session> sessions);
  std::string path(const char* name) const { return state_ + "/" + name; }

  runtime::Runtime& runtime_;
  runtime::Processes* processes_;
  std::string state_;
  std::function<void()> changed_;
  std::optional<BirdPlan> wanted_;
  bool to_follow_ = false;
  std::optional<Accepted> accepted_;  // that bird -p has found good
  std::string birdc_;                 // beside the program of the plan that was accepted last
  bool running_ = false;
  std::string problem_;
  std::string partial_;  // a line of its log whose end has not come
  std::vector<Session> sessions_;
  std::uint64_t starts_ = 0;
  runtime::Signal followed_, accepted_changed_;
};

}  // namespace fairlead::vip
