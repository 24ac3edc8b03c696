#include "api/controllers/stored_events.h"

namespace fairlead::controllers {

using apiserver::Answer;
using apiserver::Change;

Json counted_up(Json live, const control::EventWrite& event) {
  JsonObject& members = live.get_object();
  const Json* count = members.if_contains("count");
  members["count"] = (count && count->is_int64() ? count->get_int64() : 0) + event.times;
  for (const std::string_view name : {"lastTimestamp", "message"})
    members[name] = wire::find_string(event.event, name);
  return live;
}

Task<Result<>> StoredEvents::write(control::EventWrite event) {
  const apiserver::WriteContext context{
      .kind = &events_,
      .namespace_name = event.namespace_name(),
      .name = event.name(),
      .options = {.field_manager = std::string(wire::find_string(event.event, "source.component"))},
      .now = runtime_.wall_now(),
      .random = [this] { return runtime_.random(); }};
  apiserver::WriteItem item{
      .kind = &events_, .namespace_name = context.namespace_name, .name = context.name};
  item.plan = [&](const Json* live) -> Answer<Change> {
    if (!live) return apiserver::plan_create(context, event.event);
    if (event.once) return Change{.kind = Change::Kind::none};
    return apiserver::plan_update(context, live, counted_up(wire::copy_beside(*live), event));
  };
  FL_CO_CHECKED(co_await writer_.write(std::move(item)));
  co_return Result<>{};
}

}  // namespace fairlead::controllers
