#include "features/networks/ipam/address_controller.h"

#include <algorithm>
#include <utility>

#include "api/control/loop.h"
#include "features/networks/ipam/address_metrics.h"
#include "features/networks/ipam/assignment_objects.h"
#include "features/networks/ipam/assignment_writes.h"
#include "features/networks/ipam/happenings.h"

namespace fairlead::ipam {

using apiserver::Answer;
using apiserver::Change;
using apiserver::WriteItem;

namespace {

constexpr int kWorkers = 6;  // their commits share trips to the store
// With two addresses each and the status, still within one transaction.
constexpr std::size_t kBatch = 40;
constexpr runtime::BackOff::Limits kRetries{.first = 100ms, .longest = 30s};
constexpr char kSubnetMark = '*';  // in no object's name

}  // namespace

AddressController::AddressController(runtime::Runtime& runtime, NetworkState& networks,
                                     apiserver::ObjectWriter& writer,
                                     control::EventRecorder& events, metrics::Registry& metrics,
                                     std::optional<control::WorkQueueMetrics> queue_metrics)
    : runtime_(runtime),
      networks_(networks),
      writer_(writer),
      events_(events),
      metrics_(std::make_unique<AddressMetrics>(metrics)),
      queue_(runtime, queue_metrics, kRetries) {
  networks.listen(
      {.attachment = [this](auto* before, auto* after) { notice_attachment(before, after); },
       .subnet = [this](auto* before, auto* after) { notice_subnet(before, after); },
       .lock = [this](auto* before, auto* after) { notice_lock(before, after); },
       .reset = [this] { enqueue_all(); }});
}

AddressController::~AddressController() = default;

void AddressController::notice_attachment(const AttachmentFacts* before,
                                          const AttachmentFacts* after) {
  if (!after) {
    no_longer_waits(before->subnet_key(), before->key());
    wake_one(before->subnet_key());  // it may have been about to take a freed address
    return;
  }
  // What comes with its addresses got them, and their locks, in the transaction that made it.
  if (!before && after->vni != 0) return;
  const bool same = before && before->uid == after->uid && before->ipv4 == after->ipv4 &&
                    before->ipv6 == after->ipv6 && before->vni == after->vni;
  if (!same) queue_.add(after->key());
}

void AddressController::notice_subnet(const SubnetFacts* before, const SubnetFacts* after) {
  if (const auto happening = happening_of(before, after)) events_.record(*happening);
  const SubnetFacts& known = after ? *after : *before;
  const bool matters = !before || !after || before->uid != after->uid ||
                       before->validated != after->validated || before->errors != after->errors;
  if (!matters) return;
  for (const std::string& key : networks_.index().attachments_of_subnet(known.key()))
    queue_.add(key);
  // Those of other namespaces are not judged by the transaction that removed it, and of others it
  // may have had room for only some.
  if (!after) look_at_waiting_subnets(known.vni);
  // What it was refused for may be gone since: locks are not compared in the transaction that
  // creates a Subnet, and whoever saw the last one go did not know of this one yet.
  if (after && !after->validated) queue_.add(kSubnetMark + after->key());
}

void AddressController::look_at_waiting_subnets(Vni vni) {
  for (const SubnetFacts& subnet : networks_.index().subnets_of(vni))
    if (!subnet.validated) queue_.add(kSubnetMark + subnet.key());
}

void AddressController::notice_lock(const LockFacts* before, const LockFacts* after) {
  if (after) {
    const bool released = !after->awaits.empty() && (!before || before->awaits.empty());
    if (released) wake_claimants(*after);
    return;
  }
  wake(before->vni, before->ip);
  // With the last lock of its namespace a virtual network is free for another one.
  if (!networks_.ledger().holds_addresses(before->vni, before->namespace_name))
    look_at_waiting_subnets(before->vni);
  // If its attachment still is there, it needs its lock back.
  const std::string owner = before->namespace_name + "/" + before->owner_name;
  if (const AttachmentFacts* attachment = networks_.index().attachment(owner);
      attachment && attachment->uid == before->owner)
    queue_.add(owner);
}

// Who wants that very address can say from now on that it is about to be free.
void AddressController::wake_claimants(const LockFacts& released) {
  const auto wanting = waiting_for_.find({released.vni, released.ip});
  if (wanting == waiting_for_.end()) return;
  for (const std::string& key : wanting->second) queue_.add(key);
}

void AddressController::wake(Vni vni, const Ip& freed) {
  if (auto wanting = waiting_for_.extract({vni, freed}))
    for (const std::string& key : wanting.mapped()) queue_.add(key);
  for (const SubnetFacts& subnet : networks_.index().subnets_of(vni)) {
    const auto& block = subnet.block(freed.is_v4());
    if (block && block->contains(freed)) wake_one(subnet.key());
  }
}

// One address, one attachment that waits. Called whenever one may have become free or whoever was
// woken may not have taken it; so nobody waits while there is room.
void AddressController::wake_one(const std::string& subnet_key) {
  const auto waiting = waiting_.find(subnet_key);
  if (waiting == waiting_.end()) return;
  std::deque<std::string>& keys = waiting->second;
  while (!keys.empty() && !networks_.index().attachment(keys.front())) keys.pop_front();
  const SubnetFacts* subnet = networks_.index().subnet(subnet_key);
  if (!keys.empty() && subnet && has_room(*subnet)) {
    queue_.add(keys.front());
    woken_[subnet_key].insert(std::move(keys.front()));
    keys.pop_front();
  }
  if (keys.empty()) waiting_.erase(waiting);
}

void AddressController::no_longer_waits(const std::string& subnet_key,
                                        const std::string& attachment_key) {
  const auto woken = woken_.find(subnet_key);
  if (woken == woken_.end()) return;
  woken->second.erase(attachment_key);
  if (woken->second.empty()) woken_.erase(woken);
}

bool AddressController::anybody_waits(const std::string& subnet_key) const {
  return waiting_.contains(subnet_key) || woken_.contains(subnet_key);
}

bool AddressController::has_room(const SubnetFacts& subnet) const {
  for (const bool v4 : {true, false}) {
    const auto& block = subnet.block(v4);
    if (block && !networks_.pool().has_free(subnet.vni, *block)) return false;
  }
  return true;
}

void AddressController::enqueue_all() {
  waiting_.clear();
  woken_.clear();
  waiting_for_.clear();
  for (const auto& [key, object] : networks_.cache().of(networks_.attachments()).objects())
    queue_.add(key);
  for (const auto& [key, object] : networks_.cache().of(networks_.subnets()).objects())
    if (!networks_.index().subnet(key)->validated) queue_.add(kSubnetMark + key);
}

std::size_t AddressController::waiting() const {
  std::size_t count = 0;
  for (const auto& [subnet, keys] : waiting_) count += keys.size();
  return count;
}

Task<void> AddressController::run() {
  const auto work = [this](control::Batch<std::string>& keys) { return handle(keys); };
  co_await control::run_batches(runtime_, queue_,
                                {.name = "ipam", .workers = kWorkers, .batch = kBatch}, work);
}

Assignment AddressController::assign(const AttachmentFacts& attachment) {
  Assignment assignment =
      decide(networks_.records(), attachment, networks_.is_known(attachment.node),
             [this] { return runtime_.random(); });
  for (const auto* part : {&assignment.ipv4, &assignment.ipv6})
    if (*part && (*part)->fresh) networks_.reserve(assignment.vni, (*part)->ip);
  return assignment;
}

void AddressController::give_back(const Assignment& assignment) {
  for (const auto* part : {&assignment.ipv4, &assignment.ipv6})
    if (*part && (*part)->fresh) networks_.give_back(assignment.vni, (*part)->ip);
}

std::shared_ptr<Assignment> AddressController::assign(const std::string& key) {
  const AttachmentFacts* attachment = networks_.index().attachment(key);
  return attachment ? std::make_shared<Assignment>(assign(*attachment)) : nullptr;
}

// Nothing to write: what the attachment has is what it should have.
bool AddressController::holds(const Assignment& assignment) const {
  const AttachmentFacts* attachment = networks_.index().attachment(assignment.attachment);
  return assignment.vni != 0 && attachment->vni == assignment.vni &&
         attachment->ipv4 == text_of(assignment.ipv4) &&
         attachment->ipv6 == text_of(assignment.ipv6) && !assignment.needs_locks() &&
         assignment.unused_locks.empty() && assignment.idle_locks.empty();
}

// All in one transaction; if that is refused, each by itself, so that one bad case holds up nobody.
Task<void> AddressController::handle(control::Batch<std::string>& keys) {
  Batch batch;
  for (const std::string& key : keys.keys()) {
    if (key.front() == kSubnetMark) {
      const Result<> looked = co_await look_again_at_subnet(key.substr(1));
      finish(keys, key, looked);
    } else if (auto assignment = assign(key); assignment && !holds(*assignment)) {
      batch.push_back(std::move(assignment));
    } else {
      if (assignment) {
        no_longer_waits(assignment->subnet, key);
        wake_one(assignment->subnet);  // it does not take the address that it was woken for
      }
      finish(keys, key, {});
    }
  }
  if (batch.empty()) co_return;
  const Result<> outcome = co_await commit(batch);
  for (const auto& assignment : batch) settle(*assignment, outcome.has_value());
  const bool together = outcome || batch.size() == 1;
  for (const auto& assignment : batch) {
    Result<> own = outcome;
    if (!together) own = co_await commit_alone(assignment->attachment);
    finish(keys, assignment->attachment, own);
  }
}

void AddressController::finish(control::Batch<std::string>& keys, const std::string& key,
                               const Result<>& outcome) {
  if (!outcome) metrics_->failures.add();
  keys.finish(key, outcome);
}

Task<Result<>> AddressController::commit_alone(std::string key) {
  const auto assignment = assign(key);
  if (!assignment) co_return Result<>{};
  const Result<> outcome = co_await commit(Batch(1, assignment));
  settle(*assignment, outcome.has_value());
  co_return outcome;
}

Task<Result<>> AddressController::commit(Batch batch) {
  std::vector<WriteItem> items;
  for (const auto& assignment : batch)
    for (WriteItem& item : writes_for(networks_, runtime_, assignment))
      items.push_back(std::move(item));
  const Instant began = runtime_.now();
  const auto written = co_await writer_.write_all(std::move(items));
  metrics_->commit_seconds.observe(std::chrono::duration<double>(runtime_.now() - began).count());
  if (!written) co_return fail(written.error());
  co_return Result<>{};
}

void AddressController::settle(const Assignment& assignment, bool written) {
  if (!written) {
    give_back(assignment);
    wake_one(assignment.subnet);
    return;
  }
  no_longer_waits(assignment.subnet, assignment.attachment);
  if (const auto happening = happening_of(assignment)) events_.record(*happening);
  if (assignment.exhausted || !assignment.wanted.empty()) wait_for_address(assignment);
  wake_one(assignment.subnet);
  const bool fresh =
      (assignment.ipv4 && assignment.ipv4->fresh) || (assignment.ipv6 && assignment.ipv6->fresh);
  if (!fresh) return;
  metrics_->assigned(assignment.spec_written, assignment.subnet_written, assignment.contended,
                     runtime_.wall_now());
}

void AddressController::wait_for_address(const Assignment& assignment) {
  const AttachmentFacts* attachment = networks_.index().attachment(assignment.attachment);
  if (!attachment) return;
  const SubnetFacts* subnet = networks_.index().subnet(assignment.subnet);
  for (const Ip& ip : assignment.wanted) {
    // Freed while we wrote that it is taken: nobody would tell us again.
    if (subnet && !networks_.ledger().lock_at(subnet->vni, ip))
      return queue_.add(assignment.attachment);
    waiting_for_[{subnet ? subnet->vni : 0, ip}].insert(assignment.attachment);
  }
  if (!assignment.exhausted) return;
  metrics_->exhausted.add();
  auto& waiting = waiting_[assignment.subnet];
  if (std::ranges::find(waiting, assignment.attachment) == waiting.end())
    waiting.push_back(assignment.attachment);
}

// Any write by the server itself makes SubnetInterlock judge one that waits.
Task<Result<>> AddressController::look_again_at_subnet(std::string key) {
  const SubnetFacts* subnet = networks_.index().subnet(key);
  if (!subnet || subnet->validated) co_return Result<>{};
  std::vector<SubnetFacts> others = networks_.index().subnets_of(subnet->vni);
  std::erase_if(others, [&key](const SubnetFacts& other) { return other.key() == key; });
  const std::vector<std::string> errors =
      conflicts(*subnet, others, networks_.ledger().namespaces_holding(subnet->vni));
  if (!errors.empty() && errors == subnet->errors) co_return Result<>{};
  WriteItem item{
      .kind = &networks_.subnets(), .namespace_name = subnet->namespace_name, .name = subnet->name};
  item.plan = [](const Json* live) -> Answer<Change> {
    if (!live) return Change{.kind = Change::Kind::none};
    return Change{.kind = Change::Kind::put, .object = wire::copy_beside(*live)};
  };
  FL_CO_CHECKED(co_await writer_.write(std::move(item)));
  co_return Result<>{};
}

}  // namespace fairlead::ipam
