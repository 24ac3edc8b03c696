// A client of ovsdb-server: transactions, and one monitor whose rows are told to a listener.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "foundation/runtime/runtime.h"
#include "foundation/wire/ovsdb.h"
#include "node/fabric/ovs/dialogue.h"

namespace fairlead::fabric::ovs {

class OvsdbClient {
 public:
  // A row as it is now; null: it is gone. After a reconnection all rows are told again, and those
  // that went meanwhile as gone.
  using OnRow = std::function<void(const std::string& table, const std::string& uuid,
                                   const wire::ovsdb::Row* row)>;
  using OnEnd = std::function<void(const Error&)>;
  using Columns = std::map<std::string, std::vector<std::string>>;  // by table

  OvsdbClient(runtime::Runtime& runtime, runtime::Endpoint server, Columns monitored, OnRow on_row,
              OnEnd on_end);

  // Connects (again) and has told all rows when it returns.
  Task<Result<>> connect();
  bool connected() const { return dialogue_.connected(); }

  // All of it or nothing. A failure with timeout may have happened all the same.
  Task<Result<std::vector<wire::ovsdb::OperationResult>>> transact(JsonArray operations);

 private:
  Result<> consume(std::string_view piece);
  Result<> receive(std::string_view text);
  Result<> tell(const Json& updates);
  Task<Result<>> follow_rows();
  Task<Result<Json>> call(std::string method, JsonArray params);

  runtime::Runtime& runtime_;
  runtime::Endpoint server_;
  Columns monitored_;
  OnRow on_row_;
  std::map<std::string, std::set<std::string>> rows_;  // UUIDs told, by table
  wire::ovsdb::MessageSplitter splitter_;
  std::int64_t last_id_ = 0;
  Dialogue<std::int64_t, Json> dialogue_;
};

}  // namespace fairlead::fabric::ovs
