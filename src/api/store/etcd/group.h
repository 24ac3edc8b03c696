// EtcdGroup: independent transactions of the store that go to etcd as one. Pure; EtcdCommits fills
// it.
//
// etcd looks at all compares of a group before it changes anything, so a group holds only
// transactions none of which changes a key that another one compares or changes: then it does not
// matter which of them is carried out first, and each succeeds or fails as it would have alone.
//
// All changes of a group share one revision. A transaction's positions begin where those of the one
// before it would end; where that one fails, its positions stay unused.
//
// A group goes in one of two forms. Together: one flat transaction of all compares and all changes,
// which costs etcd less, and of which nothing is carried out if one compare does not hold.
// Each: a transaction of transactions, each of which succeeds or fails by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "api/store/etcd/keys.h"
#include "api/store/store.h"
#include "foundation/base/result.h"

namespace fairlead::store {

class EtcdGroup {
 public:
  explicit EtcdGroup(const EtcdKeys& keys) : keys_(keys) {}

  // False if it has to wait for another group: it depends on one in here, or the group is full. An
  // empty group takes any. REQUIRES: the transaction is valid and outlives the group.
  bool add(const Transaction& transaction);

  std::size_t size() const { return transactions_.size(); }

  enum class Form { together, each };

  bool may_go_together() const;

  // What etcd is asked, behind its gRPC prefix.
  std::string request(Form form) const;

  // What came of each, in the order of add(), from etcd's answer. None: nothing was carried out,
  // because of a compare of some transaction; ask for each.
  using Outcomes = std::vector<Result<Committed>>;
  Result<std::optional<Outcomes>> outcomes(Form form, std::string_view answer) const;

  // etcd counts the operations of a group and those of its largest member together, at most 128.
  static constexpr std::size_t kMaxOperations = 128;
  static constexpr std::size_t kMaxTransactions = 64;
  static constexpr std::size_t kMaxOperationsOfOne = 16;  // compares, too; larger ones go alone
  static constexpr std::size_t kMaxBytes = 256 << 10;

 private:
  bool fits(const Transaction& transaction, std::size_t bytes) const;
  bool depends(const Transaction& transaction) const;
  Result<Committed> outcome(std::size_t index, bool succeeded, Revision revision) const;

  const EtcdKeys& keys_;
  std::vector<const Transaction*> transactions_;
  std::vector<std::uint32_t> first_positions_;
  std::uint32_t positions_ = 0;
  std::set<std::pair<std::string_view, Revision>> compares_;  // different ones
  std::size_t bytes_ = 0;
  std::unordered_set<std::string_view> compared_;
  std::unordered_set<std::string_view> changed_;
};

}  // namespace fairlead::store
