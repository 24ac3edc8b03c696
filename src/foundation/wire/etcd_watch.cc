// Watches: what is asked and what comes back.
#include "foundation/wire/etcd_fields.h"

namespace fairlead::wire::etcd::fields {

void write(ProtoWriter& out, const WatchCreateRequest& request) {
  out.bytes(1, request.key);
  out.bytes(2, request.range_end);
  out.signed_number(3, request.start_revision);
  out.boolean(4, request.progress_notify);
  out.boolean(6, request.prev_kv);
  out.signed_number(7, request.watch_id);
  out.boolean(8, request.fragment);
}

bool read(std::string_view message, WatchCreateRequest& request) {
  ProtoReader in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        request.key = in.bytes();
        break;
      case 2:
        request.range_end = in.bytes();
        break;
      case 3:
        request.start_revision = in.signed_number();
        break;
      case 4:
        request.progress_notify = in.boolean();
        break;
      case 6:
        request.prev_kv = in.boolean();
        break;
      case 7:
        request.watch_id = in.signed_number();
        break;
      case 8:
        request.fragment = in.boolean();
        break;
      default:
        break;
    }
  }
  return in.ok();
}

void write(ProtoWriter& out, const WatchCancelRequest& request) {
  out.signed_number(1, request.watch_id);
}

bool read(std::string_view message, WatchCancelRequest& request) {
  ProtoReader in(message);
  while (in.next()) {
    if (in.field() == 1) request.watch_id = in.signed_number();
  }
  return in.ok();
}

void write(ProtoWriter&, const WatchProgressRequest&) {}

void write(ProtoWriter& out, const WatchRequest& request) {
  std::visit(
      [&](const auto& kind) {
        out.message(static_cast<std::uint32_t>(request.index() + 1),
                    [&](ProtoWriter& inner) { write(inner, kind); });
      },
      request);
}

bool read(std::string_view message, WatchRequest& request) {
  ProtoReader in(message);
  bool known = false;
  while (in.next()) {
    bool whole = true;
    if (in.field() == 1) whole = read(in.bytes(), request.emplace<WatchCreateRequest>());
    if (in.field() == 2) whole = read(in.bytes(), request.emplace<WatchCancelRequest>());
    if (in.field() == 3) request.emplace<WatchProgressRequest>();
    if (!whole) return false;
    known = known || in.field() <= 3;
  }
  return in.ok() && known;
}

void write(ProtoWriter& out, const Event& event) {
  out.number(1, event.erased ? 1 : 0);
  out.message(2, [&](ProtoWriter& kv) { write(kv, event.kv); });
}

bool read(std::string_view message, Event& event) {
  ProtoReader in(message);
  while (in.next()) {
    if (in.field() == 1) event.erased = in.number() == 1;
    if (in.field() == 2 && !read(in.bytes(), event.kv)) return false;
  }
  return in.ok();
}

void write(ProtoWriter& out, const WatchResponse& response) {
  out.message(1, [&](ProtoWriter& header) { write(header, response.header); });
  out.signed_number(2, response.watch_id);
  out.boolean(3, response.created);
  out.boolean(4, response.canceled);
  out.signed_number(5, response.compact_revision);
  out.bytes(6, response.cancel_reason);
  out.boolean(7, response.fragment);
  for (const Event& event : response.events)
    out.message(11, [&](ProtoWriter& entry) { write(entry, event); });
}

bool read(std::string_view message, WatchResponse& response) {
  ProtoReader in(message);
  while (in.next()) {
    switch (in.field()) {
      case 1:
        if (!read(in.bytes(), response.header)) return false;
        break;
      case 2:
        response.watch_id = in.signed_number();
        break;
      case 3:
        response.created = in.boolean();
        break;
      case 4:
        response.canceled = in.boolean();
        break;
      case 5:
        response.compact_revision = in.signed_number();
        break;
      case 6:
        response.cancel_reason = in.bytes();
        break;
      case 7:
        response.fragment = in.boolean();
        break;
      case 11:
        if (!read(in.bytes(), response.events.emplace_back())) return false;
        break;
      default:
        break;
    }
  }
  return in.ok();
}

}  // namespace fairlead::wire::etcd::fields
