// AddressController: assigns addresses to NetworkAttachments that could not get them at creation
// (AddressInterlock), and repairs assignments when Subnets come and go or locks are lost.
//
// Observes the NetworkState, decides (assignment.h), and writes many assignments in one transaction
// (assignment_writes.h): for each the new IPLocks and the attachment's status with addresses, MAC
// and lock UIDs, on condition that its Subnet is unchanged. So an address in a status is always
// locked, a lock always has an owner, and any number of controllers may run at once: if another one
// commits first, this one's transaction conflicts and is decided anew.
//
// Attachments whose subnet is full, or whose fixed address is taken, wait in order of arrival and
// are decided again as soon as an address is freed.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/apiserver/object_writer.h"
#include "api/control/event_recorder.h"
#include "api/control/loop.h"
#include "features/networks/ipam/assignment.h"
#include "features/networks/ipam/network_state.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::ipam {

struct AddressMetrics;

class AddressController {
 public:
  AddressController(runtime::Runtime& runtime, NetworkState& networks,
                    apiserver::ObjectWriter& writer, control::EventRecorder& events,
                    metrics::Registry& metrics,
                    std::optional<control::WorkQueueMetrics> queue_metrics = {});
  ~AddressController();

  // Until cancelled.
  Task<void> run();

  // How many attachments wait because their subnet is full.
  std::size_t waiting() const;
  // Whether attachments wait for an address of that subnet, or were woken and have not taken it
  // yet.
  bool anybody_waits(const std::string& subnet_key) const;

  // Decides, and reserves the addresses it picked, so that the next decision sees them taken.
  // settle() must follow once it is known whether the assignment was written.
  Assignment assign(const AttachmentFacts& attachment);
  // After the write of an assignment: records its Event, or returns the addresses it had reserved.
  void settle(const Assignment& assignment, bool written);

 private:
  using Batch = std::vector<std::shared_ptr<Assignment>>;

  void notice_attachment(const AttachmentFacts* before, const AttachmentFacts* after);
  void notice_subnet(const SubnetFacts* before, const SubnetFacts* after);
  void notice_lock(const LockFacts* before, const LockFacts* after);
  void enqueue_all();
  void wake(Vni vni, const Ip& freed);
  void wake_one(const std::string& subnet_key);
  void wake_claimants(const LockFacts& released);
  void look_at_waiting_subnets(Vni vni);
  void no_longer_waits(const std::string& subnet_key, const std::string& attachment_key);
  bool has_room(const SubnetFacts& subnet) const;

  Task<void> handle(control::Batch<std::string>& keys);
  void finish(control::Batch<std::string>& keys, const std::string& key, const Result<>& outcome);
  std::shared_ptr<Assignment> assign(const std::string& key);  // null: it is gone
  void give_back(const Assignment& assignment);
  bool holds(const Assignment& assignment) const;
  Task<Result<>> commit(Batch batch);
  Task<Result<>> commit_alone(std::string key);
  Task<Result<>> look_again_at_subnet(std::string key);
  void wait_for_address(const Assignment& assignment);

  runtime::Runtime& runtime_;
  NetworkState& networks_;
  apiserver::ObjectWriter& writer_;
  control::EventRecorder& events_;
  std::unique_ptr<AddressMetrics> metrics_;
  control::WorkQueue<std::string> queue_;  // attachments; subnets behind kSubnetMark
  std::map<std::string, std::deque<std::string>> waiting_;           // by subnet, in order
  std::map<std::string, std::set<std::string>> woken_;               // by subnet; out of waiting_
  std::map<std::pair<Vni, Ip>, std::set<std::string>> waiting_for_;  // by the address wanted
};

}  // namespace fairlead::ipam
