// ToldEvents: what an admission has to say of a write, recorded once the write is committed.
#pragma once

#include <utility>
#include <vector>

#include "api/apiserver/object_writer.h"
#include "api/control/event_recorder.h"

namespace fairlead::controllers {

class ToldEvents final : public apiserver::Admission::Hold {
 public:
  ToldEvents(control::EventRecorder& events, std::vector<control::Happening> happenings)
      : events_(events), happenings_(std::move(happenings)) {}
  void committed() override {
    for (const control::Happening& happening : happenings_) events_.record(happening);
  }

 private:
  control::EventRecorder& events_;
  std::vector<control::Happening> happenings_;
};

}  // namespace fairlead::controllers
