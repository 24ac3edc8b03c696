// The OVSDB protocol (RFC 7047) as values: JSON-RPC messages on a stream, transactions, and the
// updates of a monitor.
//
// Pure. What comes from a peer is refused with corrupt when it is not of the form it should have.
// The client over a real stream is node/fabric/ovs/ovsdb_client.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "foundation/base/result.h"
#include "foundation/wire/json.h"

namespace fairlead::wire::ovsdb {

// Finds where one JSON text ends and the next begins: nothing but braces says so on the wire.
// However the bytes were cut into pieces, the messages are the same.
class MessageSplitter {
 public:
  struct Limits {
    std::size_t bytes = 64 << 20;  // of one message
    std::size_t depth = 60;
  };
  MessageSplitter() = default;
  explicit MessageSplitter(Limits limits) : limits_(limits) {}

  void append(std::string_view piece);
  // The next whole message, valid until the next append(); nullopt when more bytes are needed.
  // Fails with corrupt when something else than an object begins or brackets do not match, with
  // exhausted above a limit; every later call then fails too.
  Result<std::optional<std::string_view>> next();

 private:
  Result<bool> scan();  // true: a whole message lies between start_ and scanned_

  Limits limits_;
  std::string buffer_;
  std::size_t start_ = 0;
  std::size_t scanned_ = 0;
  std::string open_;  // brackets that are open, outermost first
  bool in_string_ = false;
  bool escaped_ = false;
  std::optional<Error> failed_;
};

struct Uuid {
  std::string text;
  auto operator<=>(const Uuid&) const = default;
};
// A row that the same transaction inserts.
struct NamedUuid {
  std::string name;
  auto operator<=>(const NamedUuid&) const = default;
};
using Atom = std::variant<std::int64_t, double, bool, std::string, Uuid, NamedUuid>;

// A column's value: a set of atoms (exactly one: a plain value) or a map.
class Value {
 public:
  using Map = std::vector<std::pair<Atom, Atom>>;

  Value() = default;                                                  // the empty set
  Value(Atom atom) : content_(std::vector<Atom>{std::move(atom)}) {}  // NOLINT
  Value(const char* text) : Value(Atom(std::string(text))) {}         // NOLINT
  Value(std::string text) : Value(Atom(std::move(text))) {}           // NOLINT
  Value(std::int64_t number) : Value(Atom(number)) {}                 // NOLINT
  Value(Uuid uuid) : Value(Atom(std::move(uuid))) {}                  // NOLINT
  Value(NamedUuid uuid) : Value(Atom(std::move(uuid))) {}             // NOLINT
  Value(const std::map<std::string, std::string>& texts);             // NOLINT
  static Value set(std::vector<Atom> atoms);
  static Value map(Map pairs);

  bool is_map() const { return std::holds_alternative<Map>(content_); }
  // Empty for a map.
  const std::vector<Atom>& atoms() const;
  // Empty for a set.
  const Map& pairs() const;

  // The only element, if it is one of this type; else what stands for none.
  std::string_view text() const;
  std::optional<std::int64_t> number() const;
  std::map<std::string, std::string> texts() const;  // pairs of texts; others are left out
  std::vector<Uuid> uuids() const;

  bool operator==(const Value&) const = default;

 private:
  std::variant<std::vector<Atom>, Map> content_;
};

using Row = std::map<std::string, Value, std::less<>>;

Json encode_value(const Value& value);
Result<Value> decode_value(const Json& json);
Json encode_row(const Row& row);
Result<Row> decode_row(const Json& json);

// Conditions and mutations: column, "==" or "insert" and the like, value.
struct Clause {
  std::string column;
  std::string function;
  Value value;
};

// Operations of a transaction.
Json insert(std::string_view table, const Row& row, std::string_view uuid_name = {});
Json select(std::string_view table, const std::vector<Clause>& where,
            const std::vector<std::string>& columns);
Json update(std::string_view table, const std::vector<Clause>& where, const Row& row);
Json mutate(std::string_view table, const std::vector<Clause>& where,
            const std::vector<Clause>& mutations);
Json remove(std::string_view table, const std::vector<Clause>& where);
// Holds the transaction to what was read: it fails if the rows are otherwise.
Json wait(std::string_view table, const std::vector<Clause>& where,
          const std::vector<std::string>& columns, const std::vector<Row>& rows, bool equal);

struct OperationResult {
  std::optional<Uuid> inserted;
  std::int64_t count = 0;  // of rows updated, mutated or removed
  std::vector<Row> rows;   // selected
};
// The outcome of a transaction with `operations` of them; the first error of any makes it fail, as
// nothing of it happened: conflict for a constraint or a wait, else internal.
Result<std::vector<OperationResult>> decode_transaction(const Json& result, std::size_t operations);

// JSON-RPC.
struct Request {
  Json id;
  std::string method;
  JsonArray params;
};
struct Reply {
  Json id;
  Json result;
  Json error;  // null: none
};
struct Notification {
  std::string method;
  JsonArray params;
};
using Message = std::variant<Request, Reply, Notification>;

Result<Message> decode_message(std::string_view text);
std::string encode_request(std::int64_t id, std::string_view method, JsonArray params);
std::string encode_reply(const Json& id, const Json& result);

// What a monitor reports, by table and row.
struct RowUpdate {
  enum class Kind { insert, modify, remove };
  Kind kind = Kind::insert;
  Row row;  // insert, modify: the whole row as it is now
};
using TableUpdate = std::map<std::string, RowUpdate, std::less<>>;  // by UUID
using TableUpdates = std::map<std::string, TableUpdate, std::less<>>;

// Of "update" and of the answer to "monitor".
Result<TableUpdates> decode_updates(const Json& updates);

}  // namespace fairlead::wire::ovsdb
