#include "tools/bench/agent_board.h"

#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "foundation/base/check.h"

namespace fairlead::bench {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

template <class Field>
std::uint64_t sum(std::span<const AgentBoard::Share> shares, Field field) {
  std::uint64_t total = 0;
  for (const AgentBoard::Share& share : shares) total += (share.*field).load();
  return total;
}

}  // namespace

Result<AgentBoard> AgentBoard::make(std::size_t attachments, std::size_t processes) {
  const std::size_t shares_at = aligned(sizeof(Head));
  const std::size_t due_at = shares_at + aligned(sizeof(Share)) * processes;
  AgentBoard board;
  board.bytes_ = due_at + sizeof(std::atomic<std::int64_t>) * attachments;
  void* memory =
      ::mmap(nullptr, board.bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return fairlead::fail(Code::io, std::string("memory for agents: ") + std::strerror(errno));
  board.memory_ = memory;
  auto* bytes = static_cast<std::byte*>(memory);
  board.head_ = new (bytes) Head;
  board.shares_ = reinterpret_cast<Share*>(bytes + shares_at);
  std::uninitialized_value_construct_n(board.shares_, processes);
  board.due_ = reinterpret_cast<std::atomic<std::int64_t>*>(bytes + due_at);
  board.processes_ = processes;
  board.attachments_ = attachments;
  return board;
}

AgentBoard::AgentBoard(AgentBoard&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      bytes_(other.bytes_),
      head_(other.head_),
      shares_(other.shares_),
      due_(other.due_),
      processes_(other.processes_),
      attachments_(other.attachments_) {}

AgentBoard::~AgentBoard() {
  if (memory_) ::munmap(memory_, bytes_);
}

void AgentBoard::begin(std::string_view run, std::uint64_t warm_up) {
  CHECK(run.size() <= head_->run.size());
  std::ranges::copy(run, head_->run.begin());
  head_->warm_up = warm_up;
  head_->run_length = run.size();
}

void AgentBoard::set_due(std::uint64_t attachment, Instant due) {
  due_[attachment] = due.time_since_epoch().count();
}

std::uint64_t AgentBoard::joined() const { return sum(shares(), &Share::joined); }
std::uint64_t AgentBoard::ready() const { return sum(shares(), &Share::ready); }
std::uint64_t AgentBoard::stations() const { return sum(shares(), &Share::stations); }

Histogram AgentBoard::seen(Part part) const {
  Histogram all;
  for (const Share& share : shares()) all.merge(share.seen[static_cast<std::size_t>(part)]);
  return all;
}

std::string AgentBoard::failure() const {
  for (const Share& share : shares())
    if (share.failed) return share.failure.data();
  return {};
}

void AgentBoard::carried(std::size_t process, std::string_view name, Instant now) {
  const std::string_view run(head_->run.data(), head_->run_length);
  if (run.empty() || !name.starts_with(run) || name.size() <= run.size() + 1) return;
  std::uint64_t number = attachments_;
  std::from_chars(name.data() + run.size() + 1, name.data() + name.size(), number);
  if (number >= attachments_) return;
  const std::int64_t due = due_[number];
  if (due == 0) return;
  const Part part = number < head_->warm_up ? Part::warm_up : Part::cruise;
  shares_[process].seen[static_cast<std::size_t>(part)].add(now - Instant(Duration(due)));
}

void AgentBoard::fail(std::size_t process, std::string_view why) {
  Share& share = shares_[process];
  if (share.failed) return;
  const std::size_t length = std::min(why.size(), share.failure.size() - 1);
  std::copy_n(why.begin(), length, share.failure.begin());
  share.failed = true;
}

}  // namespace fairlead::bench
