#include "api/control/event_recorder.h"

#include <algorithm>

#include "foundation/base/log.h"
#include "foundation/runtime/back_off.h"

namespace fairlead::control {
namespace {

constexpr runtime::BackOff::Limits kRetries{.first = 1s, .longest = 60s};

Task<Result<>> notified(runtime::Signal& signal) { co_return co_await signal.wait(); }

}  // namespace

EventMetrics::EventMetrics(metrics::Registry& registry)
    : written(registry.counter("fairlead_events_written_total", "Events made or counted up.")),
      failed(registry.counter("fairlead_events_failed_total", "Events that could not be written.")),
      dropped(registry.counter("fairlead_events_dropped_total",
                               "Events that were not told because too many waited.")) {}

EventRecorder::EventRecorder(runtime::Runtime& runtime, EventSink* sink, EventSource source,
                             EventLimits limits, EventMetrics& metrics)
    : runtime_(runtime), sink_(sink), correlator_(std::move(source), limits), metrics_(metrics) {}

void EventRecorder::record(const Happening& happening) {
  if (!sink_) return;
  const std::uint64_t dropped = correlator_.dropped();
  if (correlator_.observe(happening, runtime_.now(), runtime_.wall_now())) changed_.notify();
  metrics_.dropped.add(correlator_.dropped() - dropped);
}

Task<void> EventRecorder::run() {
  runtime::BackOff back_off(kRetries);
  while (sink_) {
    std::optional<EventWrite> event = correlator_.next(runtime_.now());
    if (!event) {
      const std::optional<Instant> due = correlator_.due();
      Task<Result<>> news = notified(changed_);
      Result<> woken;
      if (due) {
        const Duration patience = std::max(*due - runtime_.now(), Duration(1ms));
        woken = co_await runtime::with_timeout(runtime_, patience, std::move(news));
      } else {
        woken = co_await news;
      }
      if (!woken && woken.error().code == Code::cancelled) co_return;
      continue;
    }
    const Result<> written = co_await sink_->write(std::move(*event));
    if (written) {
      metrics_.written.add();
      back_off.reset();
      continue;
    }
    if (written.error().code == Code::cancelled) co_return;
    metrics_.failed.add();
    log::debug("an event could not be told", {{"error", written.error().to_string()}});
    if (!co_await back_off.pause(runtime_)) co_return;
  }
}

}  // namespace fairlead::control
