// StoredEvents: writes the Events of the server's own controllers, through ObjectWriter.
#pragma once

#include "api/apiserver/object_writer.h"
#include "api/control/event_recorder.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::controllers {

class StoredEvents final : public control::EventSink {
 public:
  StoredEvents(runtime::Runtime& runtime, const resource::Kind& events,
               apiserver::ObjectWriter& writer)
      : runtime_(runtime), events_(events), writer_(writer) {}
  Task<Result<>> write(control::EventWrite event) override;

 private:
  runtime::Runtime& runtime_;
  const resource::Kind& events_;
  apiserver::ObjectWriter& writer_;
};

// The Event `live` with its count raised and its last time updated. Pure.
Json counted_up(Json live, const control::EventWrite& event);

}  // namespace fairlead::controllers
