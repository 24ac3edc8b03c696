#include "node/fabric/ovs/ovsdb_client.h"

#include <chrono>
#include <utility>
#include <variant>

namespace fairlead::fabric::ovs {
namespace {

constexpr std::string_view kDatabase = "Open_vSwitch";
constexpr std::string_view kMonitor = "fairlead";
constexpr std::chrono::seconds kPatience{20};

JsonObject monitor_request(const OvsdbClient::Columns& monitored) {
  JsonObject tables;
  for (const auto& [table, columns] : monitored) {
    JsonArray names;
    for (const std::string& column : columns) names.emplace_back(column);
    tables[table] = JsonObject{{"columns", std::move(names)}};
  }
  return tables;
}

}  // namespace

OvsdbClient::OvsdbClient(runtime::Runtime& runtime, runtime::Endpoint server, Columns monitored,
                         OnRow on_row, OnEnd on_end)
    : runtime_(runtime),
      server_(std::move(server)),
      monitored_(std::move(monitored)),
      on_row_(std::move(on_row)),
      dialogue_(
          runtime, {.name = "ovsdb", .patience = kPatience},
          [this](std::string_view piece) { return consume(piece); }, std::move(on_end)) {}

Task<Result<>> OvsdbClient::connect() {
  auto stream = co_await runtime_.connect(server_, nullptr);
  if (!stream) co_return fail(std::move(stream).error().context("ovsdb: " + server_.to_string()));
  splitter_ = {};
  dialogue_.open(std::move(*stream));
  Result<> following = co_await follow_rows();
  if (!following) dialogue_.end(following.error());  // nobody would be told of rows
  co_return following;
}

Task<Result<>> OvsdbClient::follow_rows() {
  JsonArray params{kDatabase, kMonitor, monitor_request(monitored_)};
  FL_CO_TRY(const Json initial, co_await call("monitor", std::move(params)));

  // Updates begin after this answer: what it does not have is gone.
  auto before = std::exchange(rows_, {});
  FL_CO_CHECKED(tell(initial));
  for (const auto& [table, uuids] : before)
    for (const std::string& uuid : uuids)
      if (!rows_[table].contains(uuid)) on_row_(table, uuid, nullptr);
  co_return Result<>{};
}

Task<Result<Json>> OvsdbClient::call(std::string method, JsonArray params) {
  const std::int64_t id = ++last_id_;
  auto answer =
      co_await dialogue_.ask(id, wire::ovsdb::encode_request(id, method, std::move(params)));
  if (!answer) co_return fail(std::move(answer).error().context("ovsdb: " + method));
  co_return std::move(*answer);
}

Task<Result<std::vector<wire::ovsdb::OperationResult>>> OvsdbClient::transact(
    JsonArray operations) {
  const std::size_t count = operations.size();
  JsonArray params{kDatabase};
  for (Json& operation : operations) params.push_back(std::move(operation));
  FL_CO_TRY(const Json result, co_await call("transact", std::move(params)));
  co_return wire::ovsdb::decode_transaction(result, count);
}

Result<> OvsdbClient::consume(std::string_view piece) {
  splitter_.append(piece);
  for (;;) {
    FL_TRY(const std::optional<std::string_view> text, splitter_.next());
    if (!text) return {};
    FL_CHECKED(receive(*text));
  }
}

Result<> OvsdbClient::receive(std::string_view text) {
  FL_TRY(wire::ovsdb::Message message, wire::ovsdb::decode_message(text));
  if (auto* request = std::get_if<wire::ovsdb::Request>(&message)) {
    if (request->method == "echo")
      dialogue_.send(wire::ovsdb::encode_reply(request->id, request->params));
    return {};
  }
  if (auto* notice = std::get_if<wire::ovsdb::Notification>(&message)) {
    if (notice->method != "update" || notice->params.size() != 2) return {};
    return tell(notice->params[1]);
  }
  auto& reply = std::get<wire::ovsdb::Reply>(message);
  if (!reply.id.is_int64()) return {};
  const std::int64_t id = reply.id.get_int64();
  if (reply.error.is_null())
    dialogue_.answer(id, std::move(reply.result));
  else
    dialogue_.answer(id, fail(Code::internal, wire::encode_json(reply.error)));
  return {};
}

Result<> OvsdbClient::tell(const Json& updates) {
  FL_TRY(const wire::ovsdb::TableUpdates tables, wire::ovsdb::decode_updates(updates));
  for (const auto& [table, rows] : tables) {
    std::set<std::string>& known = rows_[table];
    for (const auto& [uuid, update] : rows) {
      const bool gone = update.kind == wire::ovsdb::RowUpdate::Kind::remove;
      if (gone)
        known.erase(uuid);
      else
        known.insert(uuid);
      on_row_(table, uuid, gone ? nullptr : &update.row);
    }
  }
  return {};
}

}  // namespace fairlead::fabric::ovs
