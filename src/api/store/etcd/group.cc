#include "api/store/etcd/group.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "api/store/etcd/client.h"
#include "api/store/transaction.h"
#include "foundation/wire/etcd.h"

namespace fairlead::store {
namespace {

namespace etcd = wire::etcd;

// Transactions as etcd's messages, with the keys and values that the messages point into.
class Messages {
 public:
  Messages(const EtcdKeys& keys, const std::vector<const Transaction*>& transactions,
           const std::vector<std::uint32_t>& first_positions)
      : keys_(keys) {
    std::size_t texts = 0;
    for (const Transaction* one : transactions)
      texts += one->compares.size() + 2 * one->operations.size();
    texts_.reserve(texts);
    for (std::size_t i = 0; i < transactions.size(); ++i)
      group_.transactions.push_back(message_of(*transactions[i], first_positions[i]));
  }
  const etcd::TxnGroupRequest& each() const { return group_; }

  // All of them as one. What many compare alike, such as the revision of their namespace, is
  // compared once.
  etcd::TxnRequest together() const {
    etcd::TxnRequest all;
    std::set<std::tuple<std::string_view, etcd::Compare::Result, std::int64_t>> asked;
    for (const etcd::TxnRequest& one : group_.transactions) {
      for (const etcd::Compare& compare : one.compares) {
        if (asked.emplace(compare.key, compare.result, compare.operand).second)
          all.compares.push_back(compare);
      }
      all.success.insert(all.success.end(), one.success.begin(), one.success.end());
    }
    return all;
  }

 private:
  etcd::TxnRequest message_of(const Transaction& transaction, std::uint32_t position) {
    etcd::TxnRequest message;
    for (const Compare& compare : transaction.compares) {
      const bool exists = compare.modified == Compare::kExists;
      message.compares.push_back(
          {.result = exists ? etcd::Compare::Result::greater : etcd::Compare::Result::equal,
           .target = etcd::Compare::Target::mod,
           .key = keep(keys_.data(compare.key)),
           .operand = exists ? 0 : compare.modified});
    }
    for (const Operation& operation : transaction.operations) {
      const std::string_view key = keep(keys_.data(operation.key));
      if (operation.kind == Operation::Kind::erase) {
        message.success.emplace_back(etcd::DeleteRangeRequest{.key = key});
      } else {
        message.success.emplace_back(etcd::PutRequest{
            .key = key, .value = keep(seal_value(position, operation.value.view()))});
      }
      ++position;
    }
    return message;
  }
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  const EtcdKeys& keys_;
  std::vector<std::string> texts_;  // reserved: what is kept does not move
  etcd::TxnGroupRequest group_;
};

Error conflict_in(const Transaction& transaction) {
  if (transaction.compares.size() != 1) return {Code::conflict, "a compare does not hold"};
  const Compare& compare = transaction.compares.front();
  const std::string key = printable(compare.key);
  if (compare.modified == 0) return {Code::conflict, key + " exists already"};
  if (compare.modified == Compare::kExists) return {Code::conflict, key + " does not exist"};
  return {Code::conflict,
          key + " was not last changed at revision " + std::to_string(compare.modified)};
}

}  // namespace

bool EtcdGroup::add(const Transaction& transaction) {
  const std::size_t bytes = size_of(transaction);
  if (!transactions_.empty() && (!fits(transaction, bytes) || depends(transaction))) return false;
  for (const Compare& compare : transaction.compares) compared_.insert(compare.key);
  for (const Operation& operation : transaction.operations) changed_.insert(operation.key);
  transactions_.push_back(&transaction);
  first_positions_.push_back(positions_);
  positions_ += static_cast<std::uint32_t>(transaction.operations.size());
  for (const Compare& compare : transaction.compares)
    compares_.emplace(compare.key, compare.modified);
  bytes_ += bytes;
  return true;
}

bool EtcdGroup::fits(const Transaction& transaction, std::size_t bytes) const {
  const auto small = [](const Transaction& one) {
    return std::max(one.compares.size(), one.operations.size()) <= kMaxOperationsOfOne;
  };
  return size() < kMaxTransactions && bytes_ + bytes <= kMaxBytes && small(transaction) &&
         small(*transactions_.front()) && positions_ + transaction.operations.size() < Place::kEnd;
}

bool EtcdGroup::depends(const Transaction& transaction) const {
  return std::ranges::any_of(
             transaction.compares,
             [&](const Compare& compare) { return changed_.contains(compare.key); }) ||
         std::ranges::any_of(transaction.operations, [&](const Operation& operation) {
           return changed_.contains(operation.key) || compared_.contains(operation.key);
         });
}

bool EtcdGroup::may_go_together() const {
  return size() == 1 || (compares_.size() <= kMaxOperations && positions_ <= kMaxOperations);
}

std::string EtcdGroup::request(Form form) const {
  const Messages messages(keys_, transactions_, first_positions_);
  return form == Form::together ? framed_request(messages.together())
                                : framed_request(messages.each());
}

Result<std::optional<EtcdGroup::Outcomes>> EtcdGroup::outcomes(Form form,
                                                               std::string_view answer) const {
  Outcomes outcomes;
  if (form == Form::together) {
    FL_TRY(const etcd::TxnResponse response, etcd::decode_txn_response(answer));
    if (!response.succeeded && size() > 1) return std::nullopt;
    for (std::size_t i = 0; i < size(); ++i)
      outcomes.push_back(outcome(i, response.succeeded, response.header.revision));
    return outcomes;
  }
  FL_TRY(const etcd::TxnGroupResponse response, etcd::decode_txn_group_response(answer));
  if (response.transactions.size() != size())
    return fail(Code::corrupt, "etcd answered another number of transactions than it was asked");
  for (std::size_t i = 0; i < size(); ++i)
    outcomes.push_back(outcome(i, response.transactions[i].succeeded, response.header.revision));
  return outcomes;
}

Result<Committed> EtcdGroup::outcome(std::size_t index, bool succeeded, Revision revision) const {
  if (!succeeded) return fail(conflict_in(*transactions_[index]));
  return Committed{.revision = revision, .position = first_positions_[index]};
}

}  // namespace fairlead::store
