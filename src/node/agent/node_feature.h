// NodeFeature: one capability that `fairlead agent` runs on its node (virtual networks; virtual IPs
// and load balancers will be others). The agent (node_agent.h) owns what all features share, and
// hands it to each in a NodeContext.
//
// The contract
//   name       one word, the same in configuration, logs and metrics.
//   fields     (FeatureType) its part of the agent's file: one or several top-level fields, with
//              types, defaults and descriptions.
//   adopt      (FeatureType) what else may say what its fields say: environment variables, another
//              form of its part of the file.
//   plan       (FeatureType) checks its part by rules that a schema cannot say, and names each
//              field that breaks one. Pure.
//   check      (FeaturePlan) for `fairlead agent --check`: looks, without changing anything, at
//   what
//              its host must have for it.
//   make       (FeaturePlan) from its checked configuration. Registers its metrics in
//              context.metrics and its pages in context.pages; changes nothing on the host.
//   run        until cancelled; if it ends by itself, the agent ends with an error. A failure of
//   the world (API, switch, peers) is not an end: it is
//              retried, and told by readiness(), metrics and log.
//   readiness  may be asked at any time from the loop. A feature that is not ready says why in one
//              sentence for people. It calls context.readiness_changed whenever the answer may be
//              another.
//   status     what `fairlead status` is to show of it, with its own names.
//   why        answers a question about one object from what this node knows, at once and without
//              asking anybody else (explanation.h); kinds() names the kinds it can be asked about.
//   stop       is the cancellation of run(). What a feature made for others (interfaces, addresses)
//              stays as it is unless its own header says otherwise: the next agent adopts it.
//   follow     (FeaturePlan) a running feature goes on by a changed file, which was checked as a
//              whole. Null: the file counts when the agent is started again.
//
// A feature with needs_api is run only where the agent has credentials for an API; context.api is
// then set. One without it must do with a null context.api. Everything runs on the Runtime's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/client/rest_client.h"
#include "api/resource/schema/field_error.h"
#include "api/resource/schema/schema.h"
#include "foundation/base/ip.h"
#include "foundation/base/log.h"
#include "foundation/base/metrics.h"
#include "foundation/runtime/processes.h"
#include "foundation/runtime/runtime.h"
#include "foundation/wire/json.h"
#include "node/agent/checklist.h"
#include "node/agent/explanation.h"
#include "node/agent/heartbeat.h"
#include "node/agent/pages.h"

namespace fairlead::agent {

struct Readiness {
  bool ready = false;
  std::string reason;  // why not
};

struct Summary {
  std::string sentence;               // "fabric vxlan, 3 attachments here"
  std::vector<log::LogField> fields;  // the same, field by field
};

// What there is where the agent has an API.
struct ApiSide {
  client::RestClient& client;
  Heartbeat& heartbeat;
};

// What the agent gives to a feature. All of it outlives the feature.
struct NodeContext {
  runtime::Runtime& runtime;
  std::string node;
  metrics::Registry& metrics;
  Pages& pages;        // for whoever may reach --metrics-listen
  Pages& admin_pages;  // for root, on the admin socket
  ApiSide* api = nullptr;
  runtime::Processes* processes = nullptr;  // null: no programs can be run here
  std::function<void()> readiness_changed;
  // Gives unused memory back at once: before and after what needs much.
  std::function<void()> make_room;
  // A burst of work is over; unused memory is given back when what follows it has ended, too.
  std::function<void()> work_ended;
};

class NodeFeature {
 public:
  virtual ~NodeFeature() = default;

  virtual std::string_view name() const = 0;
  virtual Task<void> run() = 0;
  virtual Readiness readiness() const = 0;
  // What it does at present, in words and for the log; said when the agent is ready.
  virtual Summary summary() const { return {}; }

  // For `fairlead status`: members that are added to the agent's own; names as in the file.
  virtual JsonObject status() const { return {}; }

  // The kinds that why() can be asked about, as in `fairlead why KIND NAME`.
  virtual std::vector<std::string_view> kinds() const { return {}; }
  // REQUIRES: `kind` is one of kinds(). Fails with not_found if this node knows nothing of it, and
  // with invalid if `object` cannot be the name of one.
  virtual Result<Explanation> why(std::string_view kind, std::string_view object) const {
    (void)kind;
    return fail(Code::not_found, "nothing is known of " + std::string(object));
  }
};

// A feature that is configured and not made yet.
struct FeaturePlan {
  std::string name;
  bool needs_api = true;
  std::optional<Ip> host{};  // this node's address, if it was told one: the Node's InternalIP
  std::function<Result<std::unique_ptr<NodeFeature>>(const NodeContext&)> make;
  std::function<void(runtime::Files&, Checklist&)> check = nullptr;
  // `feature` is one that a plan of this name has made. Fails with what needs a new start.
  std::function<Result<>(NodeFeature& feature)> follow = nullptr;
};

// A flag of `fairlead agent` for one field of the file. Its help, default and values are the
// field's.
struct FlagType {
  std::string flag;     // "--host-ip"
  std::string path;     // "networks.host"
  std::string group{};  // heading in --help; empty: with the agent's own
};

// Environment variables.
using Environment = std::map<std::string, std::string, std::less<>>;
class ConfigFile;

// A feature that this program has. The list of them is in program/features.cc.
struct FeatureType {
  std::string name;
  std::vector<resource::Field> fields;
  std::vector<FlagType> flags{};
  bool without_file = false;  // it is configured, with its defaults, where there is no file
  // Called before the file is checked: what the environment says, and other forms of the feature's
  // part of the file, are brought into the form of `fields`. Null: there is nothing of that kind.
  std::function<Result<>(ConfigFile& file, const Environment& environment)> adopt = nullptr;
  // REQUIRES: `config`, the whole file, fits the schema, has defaults filled in and at least one of
  // the fields. What is wrong is added to the errors; the plan is then of no use.
  std::function<FeaturePlan(const Json& config, resource::FieldErrors& errors)> plan;
};

}  // namespace fairlead::agent
