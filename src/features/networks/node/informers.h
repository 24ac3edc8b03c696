// Informers: the watches of an agent, one for the node's own attachments and one for each virtual
// network that is relevant, all on the client's one connection.
//
// A network's informer shows the node's own attachments, too. That costs little and makes its
// stream the complete, ordered history of the network, which the reported versions rely on
// (applied_versions.h). For the same reason every first list is consistent: an attachment that the
// node has reported as dropped must not come back from the cache of a server that is behind.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/client/reflector.h"
#include "features/networks/node/network_view.h"
#include "foundation/runtime/scope.h"

namespace fairlead::networks {

// Receives what the informers see. Called on the loop; may start and stop informers.
class AttachmentEvents {
 public:
  virtual ~AttachmentEvents() = default;
  virtual void replaced(const Source& source, std::vector<Attachment> all,
                        std::uint64_t version) = 0;
  virtual void put(const Source& source, Attachment attachment) = 0;
  // The object's last state, with the version of its deletion.
  virtual void erased(const Source& source, Attachment last) = 0;
  // A bookmark: there are no further changes up to that version.
  virtual void reached(const Source& source, std::uint64_t version) = 0;
};

class Informers {
 public:
  Informers(runtime::Runtime& runtime, client::RestClient& client, std::string node, Ip host,
            AttachmentEvents& events);
  ~Informers();

  void start(const Source& source);
  // Afterwards nothing more comes from it.
  void stop(const Network& network);

  bool running(const Network& network) const { return networks_.contains(network); }
  std::vector<Network> networks() const;
  // True once each informer has delivered its first list.
  bool all_synced() const;
  // How many informers there are, and how many of them fail to reach the API at present.
  std::size_t count() const;
  std::size_t failing() const;
  Instant started(const Network& network) const;
  WallTime wall_started(const Network& network) const;

  Task<void> close();

 private:
  class Watch;
  Task<void> end(std::unique_ptr<Watch> watch);

  runtime::Runtime& runtime_;
  client::RestClient& client_;
  std::string node_;
  Ip host_;
  AttachmentEvents& events_;
  std::unique_ptr<Watch> local_;
  std::map<Network, std::unique_ptr<Watch>> networks_;
  runtime::Scope ending_;
};

}  // namespace fairlead::networks
