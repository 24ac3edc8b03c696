#include "api/store/etcd/commits.h"

#include <algorithm>
#include <utility>

#include "api/store/transaction.h"

namespace fairlead::store {

struct EtcdCommits::Pending {
  Transaction transaction;
  std::uint64_t life = 0;
  std::size_t bytes = 0;
  Instant deadline{};  // for getting under way
  bool ended = false;
  Result<Committed> outcome = fail(Code::internal, "transaction without outcome");
  runtime::Signal finished;

  void end(Result<Committed> how) {
    outcome = std::move(how);
    ended = true;
    finished.notify();
  }
};

namespace {

Error outlived() { return {Code::conflict, "etcd was restored after this was decided"}; }

}  // namespace

EtcdCommits::EtcdCommits(EtcdClient& client, const EtcdKeys& keys)
    : client_(client), keys_(keys), scope_(client.runtime()) {}

EtcdCommits::~EtcdCommits() = default;

Task<Result<Committed>> EtcdCommits::commit(Transaction transaction, std::uint64_t life) {
  auto pending = std::make_shared<Pending>();
  pending->bytes = size_of(transaction);
  pending->transaction = std::move(transaction);
  pending->life = life;
  pending->deadline = client_.runtime().now() + client_.options().call_time;
  if (queue_bytes_ + pending->bytes > kQueueBytes)
    co_return fail(Code::exhausted, "too many writes are waiting for etcd");
  queue_bytes_ += pending->bytes;
  queue_.push_back(pending);
  const struct Waiting {  // also when this frame is destroyed while it waits
    ~Waiting() { commits.take_back(pending); }
    EtcdCommits& commits;
    const std::shared_ptr<Pending>& pending;
  } waiting{*this, pending};
  send();
  while (!pending->ended) {
    FL_CO_CHECKED(co_await pending->finished.wait());
  }
  co_return std::move(pending->outcome);
}

void EtcdCommits::take_back(const std::shared_ptr<Pending>& pending) {
  if (pending->ended) return;
  const auto place = std::ranges::find(queue_, pending);
  if (place == queue_.end()) return;
  queue_bytes_ -= pending->bytes;
  queue_.erase(place);
}

void EtcdCommits::send() {
  if (queue_.empty() || under_way_ == kUnderWay) return;
  ++under_way_;
  scope_.spawn(carry_out());
}

void EtcdCommits::refuse_overdue() {
  while (!queue_.empty() && queue_.front()->deadline <= client_.runtime().now()) {
    const std::shared_ptr<Pending> late = std::move(queue_.front());
    queue_.pop_front();
    queue_bytes_ -= late->bytes;
    late->end(fail(Code::unavailable, "etcd: earlier writes took too long"));
  }
}

// What was decided on a history that is no more.
void EtcdCommits::refuse_outlived() {
  const std::uint64_t life = client_.history().epoch().life;
  std::erase_if(queue_, [&](const std::shared_ptr<Pending>& pending) {
    if (pending->life == life) return false;
    queue_bytes_ -= pending->bytes;
    pending->end(fail(outlived()));
    return true;
  });
}

// Takes from the queue, in order, whatever may go together with its first.
EtcdCommits::Group EtcdCommits::take_group(EtcdGroup& group) {
  Group taken;
  std::deque<std::shared_ptr<Pending>> left;
  while (!queue_.empty() && group.size() < EtcdGroup::kMaxTransactions) {
    std::shared_ptr<Pending> next = std::move(queue_.front());
    queue_.pop_front();
    if (group.add(next->transaction)) {
      queue_bytes_ -= next->bytes;
      taken.push_back(std::move(next));
    } else {
      left.push_back(std::move(next));
    }
  }
  queue_.insert(queue_.begin(), std::make_move_iterator(left.begin()),
                std::make_move_iterator(left.end()));
  return taken;
}

// Together, unless that failed a moment ago; then each by itself.
Task<Result<EtcdGroup::Outcomes>> EtcdCommits::ask(const EtcdGroup& group, std::uint64_t life) {
  using Form = EtcdGroup::Form;
  const bool hopeful = group.may_go_together() && (group.size() == 1 || cautious_ == 0);
  for (Form form = hopeful ? Form::together : Form::each;; form = Form::each) {
    Result<std::string> answer =
        co_await client_.write(wire::etcd::kTxnPath, group.request(form), life);
    if (!answer && answer.error().code == Code::gone) answer = fail(outlived());
    FL_CO_TRY(const std::string text, std::move(answer));
    FL_CO_TRY(std::optional<EtcdGroup::Outcomes> outcomes, group.outcomes(form, text));
    if (form == Form::each && cautious_ > 0) --cautious_;
    if (outcomes) co_return std::move(*outcomes);
    cautious_ = kCautious;
  }
}

Task<void> EtcdCommits::carry_out() {
  for (;;) {
    // Two looks: the answers to the group before bring the next requests of those who wait.
    for (int look = 0; look < 2; ++look) {
      if (!co_await let_others_join(client_.runtime())) break;
    }
    refuse_overdue();
    refuse_outlived();
    EtcdGroup group(keys_);
    const Group taken = take_group(group);
    if (taken.empty()) break;
    EtcdCounters& counters = client_.counters();
    ++counters.groups;
    counters.transactions += taken.size();
    Result<EtcdGroup::Outcomes> outcomes = co_await ask(group, taken.front()->life);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      Result<Committed> outcome = outcomes ? std::move((*outcomes)[i]) : fail(outcomes.error());
      if (!outcome && outcome.error().code == Code::conflict) ++counters.conflicts;
      taken[i]->end(std::move(outcome));
    }
  }
  --under_way_;
}

}  // namespace fairlead::store
