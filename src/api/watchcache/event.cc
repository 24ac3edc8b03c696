#include "api/watchcache/event.h"

namespace fairlead::watchcache {
namespace {

ObjectRef at_place(const Object& object, store::Place place) {
  auto copy = std::make_shared<Object>(object);
  copy->json = with_version(object, place);
  copy->version_length = static_cast<std::uint32_t>(std::to_string(place.number()).size());
  copy->place = place;
  return copy;
}

}  // namespace

std::string_view event_type_name(EventType type) {
  switch (type) {
    case EventType::added:
      return "ADDED";
    case EventType::modified:
      return "MODIFIED";
    case EventType::deleted:
      return "DELETED";
  }
  return "";
}

const ObjectRef& Event::shown(EventType type) const {
  if (type != EventType::deleted) return after_;
  if (!tombstone_) tombstone_ = at_place(*before_, place_);
  return tombstone_;
}

const Bytes& Event::frame(EventType type) const {
  Bytes& frame = frames_[static_cast<std::size_t>(type)];
  if (frame.empty()) {
    // Only the text of what is gone is needed; the object itself (shown()) would be kept.
    const std::string gone =
        type == EventType::deleted ? with_version(*before_, place_) : std::string();
    const std::string& json = type == EventType::deleted ? gone : after_->json;
    std::string text;
    text.reserve(json.size() + 40);
    text.append("{\"type\":\"").append(event_type_name(type)).append("\",\"object\":");
    text.append(json).append("}\n");
    frame = Bytes(std::move(text));
  }
  return frame;
}

std::size_t Event::bytes() const {
  constexpr std::size_t kOwn = 256;
  return kOwn + (before_ ? before_->json.size() : 0) + (after_ ? after_->json.size() : 0);
}

}  // namespace fairlead::watchcache
