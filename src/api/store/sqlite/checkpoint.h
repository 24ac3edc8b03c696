// Checkpointer: keeps the write-ahead log short without making commits wait for it.
//
// Copying a long log into the database takes tens of milliseconds. Most of it is therefore done by
// a connection of its own, off the loop, while commits go on; when little is left, the writer
// copies the rest in a turn between two batches. Only then can the log begin anew: it never does
// while commits keep adding to it.
//
// Everything here runs on the loop; only the copying runs off it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "api/store/sqlite/database.h"
#include "foundation/base/result.h"
#include "foundation/runtime/runtime.h"

namespace fairlead::store {

struct CheckpointStats {
  std::uint64_t completed = 0;
  std::uint64_t failures = 0;
  Duration longest_turn{};  // how long commits had to wait for one
};

class Checkpointer : public std::enable_shared_from_this<Checkpointer> {
 public:
  // `threshold`: pages in the log from which on it is copied.
  Checkpointer(runtime::Runtime& runtime, std::shared_ptr<Database> connection, int threshold,
               std::function<void()> wants_turn_now);

  // After every commit.
  void committed(int log_pages);

  // The writer should call Database::checkpoint() once and tell how it went.
  bool wants_turn() const { return wants_turn_; }
  void turn_started() { wants_turn_ = false; }
  void turn_ended(const Result<Checkpoint>& outcome, Duration took);

  const CheckpointStats& stats() const { return stats_; }

 private:
  void start_copying();
  void copied(const Result<Checkpoint>& outcome);
  void failed(const Error& error);
  void try_later();

  runtime::Runtime& runtime_;
  std::shared_ptr<Database> connection_;
  const int threshold_;
  std::function<void()> wants_turn_now_;
  int log_pages_ = 0;
  int start_at_;
  int passes_ = 0;  // 0: not at it
  bool wants_turn_ = false;
  CheckpointStats stats_;
};

}  // namespace fairlead::store
