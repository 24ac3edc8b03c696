#include "foundation/wire/ovsdb.h"

#include <fmt/format.h>

namespace fairlead::wire::ovsdb {
namespace {

Error corrupt(std::string_view what) { return {Code::corrupt, fmt::format("ovsdb: {}", what)}; }

std::string_view text_of(const Json& json) {
  return json.is_string() ? std::string_view(json.get_string()) : std::string_view{};
}

Json strings(const std::vector<std::string>& texts) {
  JsonArray array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

Json clauses(const std::vector<Clause>& list) {
  JsonArray array;
  for (const Clause& clause : list)
    array.push_back(JsonArray{clause.column, clause.function, encode_value(clause.value)});
  return array;
}

JsonObject operation(std::string_view name, std::string_view table) {
  return {{"op", name}, {"table", table}};
}

struct AtomWriter {
  Json operator()(std::int64_t number) const { return number; }
  Json operator()(double number) const { return number; }
  Json operator()(bool truth) const { return truth; }
  Json operator()(const std::string& text) const { return Json(text); }
  Json operator()(const Uuid& uuid) const { return JsonArray{"uuid", uuid.text}; }
  Json operator()(const NamedUuid& uuid) const { return JsonArray{"named-uuid", uuid.name}; }
};

Result<Atom> decode_atom(const Json& json) {
  if (json.is_string()) return Atom(std::string(json.get_string()));
  if (json.is_int64()) return Atom(json.get_int64());
  if (json.is_double()) return Atom(json.get_double());
  if (json.is_bool()) return Atom(json.get_bool());
  if (json.is_array()) {
    const JsonArray& pair = json.get_array();
    if (pair.size() == 2 && pair[1].is_string()) {
      if (text_of(pair[0]) == "uuid") return Atom(Uuid{std::string(text_of(pair[1]))});
      if (text_of(pair[0]) == "named-uuid") return Atom(NamedUuid{std::string(text_of(pair[1]))});
    }
  }
  return fail(corrupt("an atom of no known kind"));
}

// ["set", […]] or ["map", […]]: the tag and the elements.
struct Tagged {
  std::string_view tag;
  const JsonArray* elements = nullptr;
};
Tagged tagged(const Json& json) {
  if (!json.is_array()) return {};
  const JsonArray& pair = json.get_array();
  if (pair.size() != 2 || !pair[1].is_array()) return {};
  return {text_of(pair[0]), &pair[1].get_array()};
}

Result<OperationResult> decode_operation_result(const Json& json) {
  OperationResult result;
  if (!json.is_object()) return fail(corrupt("an operation without a result"));
  if (const Json* uuid = find(json, "uuid")) {
    FL_TRY(const Atom atom, decode_atom(*uuid));
    if (const Uuid* inserted = std::get_if<Uuid>(&atom)) result.inserted = *inserted;
  }
  if (const Json* count = find(json, "count"); count && count->is_int64())
    result.count = count->get_int64();
  if (const Json* rows = find(json, "rows"); rows && rows->is_array()) {
    for (const Json& row : rows->get_array()) {
      FL_TRY(Row decoded, decode_row(row));
      result.rows.push_back(std::move(decoded));
    }
  }
  return result;
}

Result<RowUpdate> decode_row_update(const JsonObject& update) {
  const Json* before = update.if_contains("old");
  const Json* after = update.if_contains("new");
  RowUpdate row;
  if (!after) {
    if (!before) return fail(corrupt("a row update with neither old nor new"));
    row.kind = RowUpdate::Kind::remove;
    return row;
  }
  row.kind = before ? RowUpdate::Kind::modify : RowUpdate::Kind::insert;
  FL_TRY(row.row, decode_row(*after));
  return row;
}

}  // namespace

Value::Value(const std::map<std::string, std::string>& texts) {
  Map pairs;
  for (const auto& [key, text] : texts) pairs.emplace_back(Atom(key), Atom(text));
  content_ = std::move(pairs);
}

Value Value::set(std::vector<Atom> atoms) {
  Value value;
  value.content_ = std::move(atoms);
  return value;
}

Value Value::map(Map pairs) {
  Value value;
  value.content_ = std::move(pairs);
  return value;
}

const std::vector<Atom>& Value::atoms() const {
  static const std::vector<Atom> kNone;
  const auto* atoms = std::get_if<std::vector<Atom>>(&content_);
  return atoms ? *atoms : kNone;
}

const Value::Map& Value::pairs() const {
  static const Map kNone;
  const auto* pairs = std::get_if<Map>(&content_);
  return pairs ? *pairs : kNone;
}

std::string_view Value::text() const {
  if (atoms().size() != 1) return {};
  const auto* text = std::get_if<std::string>(&atoms().front());
  return text ? std::string_view(*text) : std::string_view{};
}

std::optional<std::int64_t> Value::number() const {
  if (atoms().size() != 1) return std::nullopt;
  const auto* number = std::get_if<std::int64_t>(&atoms().front());
  return number ? std::optional(*number) : std::nullopt;
}

std::map<std::string, std::string> Value::texts() const {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : pairs()) {
    const auto* name = std::get_if<std::string>(&key);
    const auto* text = std::get_if<std::string>(&value);
    if (name && text) texts.insert_or_assign(*name, *text);
  }
  return texts;
}

std::vector<Uuid> Value::uuids() const {
  std::vector<Uuid> uuids;
  for (const Atom& atom : atoms())
    if (const auto* uuid = std::get_if<Uuid>(&atom)) uuids.push_back(*uuid);
  return uuids;
}

Json encode_value(const Value& value) {
  if (value.is_map()) {
    JsonArray pairs;
    for (const auto& [key, of] : value.pairs())
      pairs.push_back(JsonArray{std::visit(AtomWriter{}, key), std::visit(AtomWriter{}, of)});
    return JsonArray{"map", std::move(pairs)};
  }
  if (value.atoms().size() == 1) return std::visit(AtomWriter{}, value.atoms().front());
  JsonArray atoms;
  for (const Atom& atom : value.atoms()) atoms.push_back(std::visit(AtomWriter{}, atom));
  return JsonArray{"set", std::move(atoms)};
}

Result<Value> decode_value(const Json& json) {
  const Tagged container = tagged(json);
  if (container.elements && container.tag == "set") {
    std::vector<Atom> atoms;
    for (const Json& element : *container.elements) {
      FL_TRY(Atom atom, decode_atom(element));
      atoms.push_back(std::move(atom));
    }
    return Value::set(std::move(atoms));
  }
  if (container.elements && container.tag == "map") {
    Value::Map pairs;
    for (const Json& element : *container.elements) {
      if (!element.is_array() || element.get_array().size() != 2)
        return fail(corrupt("a map with something else than pairs"));
      FL_TRY(Atom key, decode_atom(element.get_array()[0]));
      FL_TRY(Atom value, decode_atom(element.get_array()[1]));
      pairs.emplace_back(std::move(key), std::move(value));
    }
    return Value::map(std::move(pairs));
  }
  FL_TRY(Atom atom, decode_atom(json));
  return Value(std::move(atom));
}

Json encode_row(const Row& row) {
  JsonObject object;
  for (const auto& [column, value] : row) object.insert_or_assign(column, encode_value(value));
  return object;
}

Result<Row> decode_row(const Json& json) {
  if (!json.is_object()) return fail(corrupt("a row that is no object"));
  Row row;
  for (const auto& [column, value] : json.get_object()) {
    FL_TRY(Value decoded, decode_value(value));
    row.insert_or_assign(std::string(column), std::move(decoded));
  }
  return row;
}

Json insert(std::string_view table, const Row& row, std::string_view uuid_name) {
  JsonObject object = operation("insert", table);
  object["row"] = encode_row(row);
  if (!uuid_name.empty()) object["uuid-name"] = uuid_name;
  return object;
}

Json select(std::string_view table, const std::vector<Clause>& where,
            const std::vector<std::string>& columns) {
  JsonObject object = operation("select", table);
  object["where"] = clauses(where);
  object["columns"] = strings(columns);
  return object;
}

Json update(std::string_view table, const std::vector<Clause>& where, const Row& row) {
  JsonObject object = operation("update", table);
  object["where"] = clauses(where);
  object["row"] = encode_row(row);
  return object;
}

Json mutate(std::string_view table, const std::vector<Clause>& where,
            const std::vector<Clause>& mutations) {
  JsonObject object = operation("mutate", table);
  object["where"] = clauses(where);
  object["mutations"] = clauses(mutations);
  return object;
}

Json remove(std::string_view table, const std::vector<Clause>& where) {
  JsonObject object = operation("delete", table);
  object["where"] = clauses(where);
  return object;
}

Json wait(std::string_view table, const std::vector<Clause>& where,
          const std::vector<std::string>& columns, const std::vector<Row>& rows, bool equal) {
  JsonObject object = operation("wait", table);
  JsonArray list;
  for (const Row& row : rows) list.push_back(encode_row(row));
  object["where"] = clauses(where);
  object["columns"] = strings(columns);
  object["rows"] = std::move(list);
  object["until"] = equal ? "==" : "!=";
  object["timeout"] = 0;
  return object;
}

Result<std::vector<OperationResult>> decode_transaction(const Json& result,
                                                        std::size_t operations) {
  if (!result.is_array()) return fail(corrupt("a transaction without results"));
  std::vector<OperationResult> results;
  for (const Json& json : result.get_array()) {
    // Operations after one that failed have null; an error of the commit itself comes last.
    if (const std::string_view error = find_string(json, "error"); !error.empty()) {
      const bool clash = error == "constraint violation" || error == "timed out" ||
                         error == "referential integrity violation";
      return fail(clash ? Code::conflict : Code::internal,
                  fmt::format("ovsdb: {}: {}", error, find_string(json, "details")));
    }
    if (results.size() == operations) return fail(corrupt("more results than operations"));
    FL_TRY(OperationResult decoded, decode_operation_result(json));
    results.push_back(std::move(decoded));
  }
  if (results.size() < operations) return fail(corrupt("fewer results than operations"));
  return results;
}

Result<Message> decode_message(std::string_view text) {
  auto parsed = parse_json(text, {.max_depth = 100, .max_bytes = text.size()});
  if (!parsed) return fail(corrupt(parsed.error().message));
  if (!parsed->value.is_object()) return fail(corrupt("a message that is no object"));
  JsonObject& object = parsed->value.get_object();
  const Json* id = object.if_contains("id");
  if (Json* method = object.if_contains("method")) {
    Json* params = object.if_contains("params");
    if (!method->is_string() || !params || !params->is_array())
      return fail(corrupt("a call without method or parameters"));
    std::string name(method->get_string());
    if (!id || id->is_null()) return Notification{std::move(name), std::move(params->get_array())};
    return Request{*id, std::move(name), std::move(params->get_array())};
  }
  Json* result = object.if_contains("result");
  if (!id || !result) return fail(corrupt("a message that is neither call nor answer"));
  Json* error = object.if_contains("error");
  return Reply{*id, std::move(*result), error ? std::move(*error) : Json()};
}

std::string encode_request(std::int64_t id, std::string_view method, JsonArray params) {
  return encode_json(JsonObject{{"id", id}, {"method", method}, {"params", std::move(params)}});
}

std::string encode_reply(const Json& id, const Json& result) {
  return encode_json(JsonObject{{"id", id}, {"result", result}, {"error", nullptr}});
}

Result<TableUpdates> decode_updates(const Json& updates) {
  if (!updates.is_object()) return fail(corrupt("updates that are no object"));
  TableUpdates tables;
  for (const auto& [table, rows] : updates.get_object()) {
    if (!rows.is_object()) return fail(corrupt("updates of a table that are no object"));
    TableUpdate& into = tables[std::string(table)];
    for (const auto& [uuid, row] : rows.get_object()) {
      if (!row.is_object()) return fail(corrupt("a row update that is no object"));
      FL_TRY(RowUpdate decoded, decode_row_update(row.get_object()));
      into.insert_or_assign(std::string(uuid), std::move(decoded));
    }
  }
  return tables;
}

}  // namespace fairlead::wire::ovsdb
