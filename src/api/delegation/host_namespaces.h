// HostNamespaces: creates only in namespaces that the host cluster has and is not deleting.
//
// Behind an aggregator namespaces live in the host cluster, and nobody in front of this server
// looks whether the one in a request's path exists. A copy kept current by a watch answers; before
// it makes a request fail, the host is asked for that namespace itself, so that an object may
// follow its new namespace at once. (docs/design/005-aggregated.md: what this cannot exclude.)
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/apiserver/object_writer.h"
#include "api/client/reflector.h"
#include "api/client/rest_client.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::delegation {

class HostNamespaces final : public apiserver::Admission, private client::ObjectSink {
 public:
  HostNamespaces(runtime::Runtime& runtime, client::RestClient& host);

  // Follows the host's namespaces until cancelled.
  Task<void> run() { return reflector_.run(); }

  apiserver::Answer<> admit(const Proposal& proposal, store::Transaction& transaction) override;
  // Fails with unavailable when the host does not say whether a namespace exists.
  Task<Result<bool>> catch_up(const std::vector<apiserver::WriteItem>& items) override;

 private:
  enum class Phase { active, terminating };
  void replace(std::vector<Json> objects, const std::string& version) override;
  void put(const Json& object) override;
  void erase(const Json& last_state) override;
  std::optional<Phase> phase_of(std::string_view name) const;
  Task<Result<>> look_up(std::string name);

  client::RestClient& host_;
  std::map<std::string, Phase, std::less<>> phases_;
  client::Reflector reflector_;
};

}  // namespace fairlead::delegation
