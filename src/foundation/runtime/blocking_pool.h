// BlockingPool: threads for work that would hold up the loop (name resolution, SQLite, fsync).
//
// Threads start on demand up to a bound and stay; further work queues in order. The destructor lets
// running work end, drops what has not begun, and joins.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fairlead::runtime {

class BlockingPool {
 public:
  explicit BlockingPool(std::size_t max_threads) : max_threads_(max_threads) {}
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;
  ~BlockingPool();

  void run(std::function<void()> work);

 private:
  void serve();

  const std::size_t max_threads_;
  std::mutex mutex_;
  std::condition_variable work_or_end_;
  std::deque<std::function<void()>> queue_;
  std::size_t idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace fairlead::runtime
