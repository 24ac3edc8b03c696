#include "api/controllers/server_events.h"

#include <utility>

namespace fairlead::controllers {

ServerEvents::ServerEvents(runtime::Runtime& runtime, const resource::Catalog& catalog,
                           apiserver::ObjectWriter& writer, metrics::Registry& metrics,
                           control::EventSink* host)
    : runtime_(runtime), sink_(host), metrics_(metrics) {
  const resource::Kind* kind = catalog.find("", "v1", "events");
  if (kind) sink_ = &own_.emplace(runtime, *kind, writer);
}

std::unique_ptr<control::EventRecorder> ServerEvents::recorder(std::string component) {
  return std::make_unique<control::EventRecorder>(
      runtime_, sink_, control::EventSource{.component = std::move(component)},
      control::EventLimits{}, metrics_);
}

}  // namespace fairlead::controllers
