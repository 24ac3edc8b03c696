// ServerEvents: where the server's own components write their Events: to this server's store or,
// where Events are the host cluster's, through `host`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/apiserver/object_writer.h"
#include "api/control/event_recorder.h"
#include "api/controllers/stored_events.h"
#include "api/resource/catalog.h"

namespace fairlead::controllers {

class ServerEvents {
 public:
  // `host` is used if `catalog` has no Events; null: then none are written. All outlive this.
  ServerEvents(runtime::Runtime& runtime, const resource::Catalog& catalog,
               apiserver::ObjectWriter& writer, metrics::Registry& metrics,
               control::EventSink* host = nullptr);

  // A recorder for the component of that name, which the component runs. This outlives it.
  std::unique_ptr<control::EventRecorder> recorder(std::string component);

 private:
  runtime::Runtime& runtime_;
  std::optional<StoredEvents> own_;
  control::EventSink* sink_;
  control::EventMetrics metrics_;
};

}  // namespace fairlead::controllers
