#include "api/delegation/host_nodes.h"

#include <algorithm>
#include <utility>

#include "api/control/loop.h"
#include "foundation/base/log.h"
#include "foundation/runtime/scope.h"

namespace fairlead::delegation {
namespace {

const client::ResourceName kNodes{"", "v1", "nodes", false};

std::string name_of(const Json& object) {
  return std::string(wire::find_string(object, "metadata.name"));
}

}  // namespace

HostNodes::HostNodes(runtime::Runtime& runtime, client::RestClient& host)
    : runtime_(runtime),
      host_(host),
      missing_(runtime),
      reflector_(
          runtime, host,
          {.resource = kNodes, .namespace_name = {}, .label_selector = {}, .field_selector = {}},
          *this) {}

void HostNodes::serve(Known known, Forget forget) {
  known_ = std::move(known);
  forget_ = std::move(forget);
}

Task<void> HostNodes::run() {
  runtime::Scope scope(runtime_);
  scope.spawn(reflector_.run());
  const auto work = [this](std::string name) { return forget_if_gone(std::move(name)); };
  scope.spawn(control::run_workers(runtime_, missing_, {.name = "host-nodes"}, work));
  co_await scope.join();
}

void HostNodes::replace(std::vector<Json> objects, const std::string&) {
  names_.clear();
  for (const Json& object : objects) names_.insert(name_of(object));
  const std::vector<std::string> known = known_();
  const auto is_here = [this](const std::string& name) { return names_.contains(name); };
  if (!known.empty() && std::ranges::none_of(known, is_here)) {
    log::warning("the host cluster has none of the nodes that report here: all reports stay",
                 {{"reports", known.size()}});
    return;
  }
  for (const std::string& name : known)
    if (!is_here(name)) missing_.add(name);
}

void HostNodes::put(const Json& object) { names_.insert(name_of(object)); }

void HostNodes::erase(const Json& last_state) {
  const std::string name = name_of(last_state);
  names_.erase(name);
  missing_.add(name);
}

Task<Result<>> HostNodes::forget_if_gone(std::string name) {
  Task<Result<Json>> asking = host_.get(kNodes, "", name);
  const Result<Json> found = co_await asking;
  if (found) co_return Result<>{};
  if (found.error().code != Code::not_found) co_return fail(found.error());
  Task<Result<>> forgetting = forget_(name);
  co_return co_await forgetting;
}

}  // namespace fairlead::delegation
