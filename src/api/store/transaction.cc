#include "api/store/transaction.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace fairlead::store {
namespace {

bool guards_existence(const Compare& compare, std::string_view key) {
  return compare.key == key && compare.modified != 0;
}

Result<> check_keys_distinct(const Transaction& transaction) {
  std::vector<std::string_view> keys;
  keys.reserve(transaction.operations.size());
  for (const Operation& operation : transaction.operations) keys.push_back(operation.key);
  std::ranges::sort(keys);
  const auto twice = std::ranges::adjacent_find(keys);
  if (twice == keys.end()) return {};
  return fail(Code::invalid, fmt::format("key {} is operated on twice", printable(*twice)));
}

Result<> check_compare(const Compare& compare) {
  if (compare.key.empty()) return fail(Code::invalid, "compare with an empty key");
  if (compare.modified < Compare::kExists)
    return fail(Code::invalid, fmt::format("compare of {} with revision {}", printable(compare.key),
                                           compare.modified));
  return {};
}

}  // namespace

Result<> validate(const Transaction& transaction) {
  if (transaction.operations.size() > Transaction::kMaxOperations)
    return fail(Code::invalid,
                fmt::format("{} operations, at most {} are allowed", transaction.operations.size(),
                            Transaction::kMaxOperations));
  if (transaction.compares.size() > Transaction::kMaxOperations)
    return fail(Code::invalid,
                fmt::format("{} compares, at most {} are allowed", transaction.compares.size(),
                            Transaction::kMaxOperations));
  for (const Compare& compare : transaction.compares) {
    FL_CHECKED(check_compare(compare));
  }

  std::size_t bytes = 0;
  for (const Operation& operation : transaction.operations) {
    if (operation.key.empty()) return fail(Code::invalid, "operation with an empty key");
    bytes += operation.key.size();
    if (operation.kind == Operation::Kind::put) {
      bytes += operation.value.size();
    } else if (std::ranges::none_of(transaction.compares, [&](const Compare& compare) {
                 return guards_existence(compare, operation.key);
               })) {
      return fail(Code::invalid, fmt::format("erase of {} without a compare that it exists",
                                             printable(operation.key)));
    }
  }
  if (bytes > Transaction::kMaxBytes)
    return fail(Code::invalid,
                fmt::format("{} bytes, at most {} are allowed", bytes, Transaction::kMaxBytes));
  return check_keys_distinct(transaction);
}

bool compares(const Transaction& transaction, std::string_view key) {
  return std::ranges::any_of(transaction.compares,
                             [key](const Compare& one) { return one.key == key; });
}

bool operates_on(const Transaction& transaction, std::string_view key) {
  return std::ranges::any_of(transaction.operations,
                             [key](const Operation& one) { return one.key == key; });
}

std::size_t size_of(const Transaction& transaction) {
  std::size_t bytes = 0;
  for (const Compare& compare : transaction.compares) bytes += compare.key.size();
  for (const Operation& operation : transaction.operations)
    bytes += operation.key.size() + operation.value.size();
  return bytes;
}

bool holds(const Compare& compare, Revision modified) {
  return compare.modified == Compare::kExists ? modified != 0 : modified == compare.modified;
}

Error conflict_of(const Compare& compare, Revision modified) {
  const std::string key = printable(compare.key);
  if (modified == 0) return {Code::conflict, fmt::format("{} does not exist", key)};
  if (compare.modified == 0) return {Code::conflict, fmt::format("{} exists already", key)};
  return {Code::conflict,
          fmt::format("{} was changed at revision {}, not {}", key, modified, compare.modified)};
}

std::optional<std::string> prefix_end(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (end.empty()) return std::nullopt;
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

std::string printable(std::string_view key) {
  constexpr std::size_t kLongest = 200;
  std::string text;
  for (const char c : key.substr(0, kLongest)) {
    if (c > 0x20 && c < 0x7f) {
      text.push_back(c);
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (key.size() > kLongest) text += "…";
  return text;
}

}  // namespace fairlead::store
