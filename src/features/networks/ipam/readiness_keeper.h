// ReadinessKeeper: brings the condition Ready of attachments up to date when something about their
// node changed: its agent fell silent or is back, its Node and with it its NodeReport was deleted.
//
// It runs in every server and follows reports and attachments. What an attachment says of its agent
// and what its NodeReport says are compared at every change of either, so that one which a server
// wrote on an old view is found as well. All attachments of such nodes are then looked at in one
// pass and written in transactions of forty, one after the other: a thousand nodes that fall silent
// at once must not keep others waiting.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "api/apiserver/object_writer.h"
#include "features/networks/ipam/network_state.h"
#include "features/networks/ipam/readiness.h"
#include "foundation/runtime/channel.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::ipam {

class ReadinessKeeper {
 public:
  ReadinessKeeper(runtime::Runtime& runtime, const NetworkState& networks,
                  apiserver::ObjectWriter& writer);

  // Until cancelled.
  Task<void> run();

 private:
  void notice_report(const watchcache::Event& event);
  void notice_attachment(const watchcache::Object& attachment);
  void rebuild();
  void look_at(const std::string& node);
  std::vector<std::string> attachments_on(const std::set<std::string>& nodes) const;
  Task<apiserver::Answer<>> mend(std::vector<std::string> keys);
  apiserver::WriteItem item_for(const std::string& key) const;
  Task<bool> sweep();

  runtime::Runtime& runtime_;
  const NetworkState& networks_;
  apiserver::ObjectWriter& writer_;
  std::size_t node_field_ = 0;  // places in kind.selectable
  std::size_t vni_field_ = 0;
  std::set<std::string> nodes_;  // whose attachments are to be looked at
  runtime::Signal changed_;
};

}  // namespace fairlead::ipam
