// AgentBoard: how agents in other processes tell a load what they have come to.
//
// One piece of memory that the load makes before it forks. The load writes when each attachment was
// due; each process writes only its own Share. Nobody waits for anybody: the load looks at the
// shares now and then, and reads their histograms once nothing changes any more.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "foundation/base/result.h"
#include "foundation/runtime/time.h"
#include "tools/bench/histogram.h"

namespace fairlead::bench {

// Attachments made while the networks fill up, and those made once they are full.
enum class Part : std::size_t { warm_up, cruise };
inline constexpr std::size_t kParts = 2;

class AgentBoard {
 public:
  struct Share {
    std::atomic<std::uint64_t> joined{0};
    std::atomic<std::uint64_t> ready{0};
    std::atomic<std::uint64_t> stations{0};  // that the agents' fabrics carry, in all
    std::atomic<bool> failed{false};
    std::array<char, 400> failure{};     // why; written before `failed`
    std::array<Histogram, kParts> seen;  // due to carried, of remote attachments, by each agent
  };

  static Result<AgentBoard> make(std::size_t attachments, std::size_t processes);
  AgentBoard(AgentBoard&& other) noexcept;
  AgentBoard& operator=(AgentBoard&&) = delete;
  ~AgentBoard();

  // ---- the load
  // REQUIRES: before the first attachment. `run` is what every attachment's name begins with.
  void begin(std::string_view run, std::uint64_t warm_up);
  void set_due(std::uint64_t attachment, Instant due);

  std::span<const Share> shares() const { return {shares_, processes_}; }
  std::uint64_t joined() const;
  std::uint64_t ready() const;
  std::uint64_t stations() const;
  Histogram seen(Part part) const;
  // What the first process that gave up said; empty: all is well.
  std::string failure() const;

  // ---- an agent's process
  Share& share(std::size_t process) { return shares_[process]; }
  // An agent carries a remote attachment of this name for the first time.
  void carried(std::size_t process, std::string_view name, Instant now);
  void fail(std::size_t process, std::string_view why);

 private:
  struct Head {
    std::array<char, 32> run{};
    std::atomic<std::uint64_t> run_length{0};
    std::atomic<std::uint64_t> warm_up{0};
  };
  AgentBoard() = default;

  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  Head* head_ = nullptr;
  Share* shares_ = nullptr;
  std::atomic<std::int64_t>* due_ = nullptr;  // of the boot clock; 0: not yet
  std::size_t processes_ = 0;
  std::size_t attachments_ = 0;
};

}  // namespace fairlead::bench
