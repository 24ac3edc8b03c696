// What is true of transactions, compares and prefixes in themselves, whichever store carries them
// out. Pure. Every Store calls validate() first, so that all of them refuse the same transactions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "api/store/store.h"
#include "foundation/base/result.h"

namespace fairlead::store {

// Fails with invalid for what store.h forbids: a key that is empty or operated on twice, more than
// kMaxOperations operations or compares, more than kMaxBytes of keys and values together, an erase
// that no compare guards, a compare with an impossible revision.
Result<> validate(const Transaction& transaction);

bool compares(const Transaction& transaction, std::string_view key);
bool operates_on(const Transaction& transaction, std::string_view key);

// Keys and values together.
std::size_t size_of(const Transaction& transaction);

// `modified` is the revision of the key's current value, 0 if there is none.
bool holds(const Compare& compare, Revision modified);
Error conflict_of(const Compare& compare, Revision modified);

// The smallest text greater than every text that begins with `prefix`; none if there is no such
// text (the prefix is empty or all 0xff).
std::optional<std::string> prefix_end(std::string_view prefix);

// Keys in log lines and messages: printable, short.
std::string printable(std::string_view key);

}  // namespace fairlead::store
