// A host cluster for unit tests: keeps every review it is asked and answers when the test says so.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/delegation/delegated_authenticator.h"
#include "foundation/runtime/channel.h"
#include "foundation/wire/json.h"

namespace fairlead::delegation {

class HeldHost {
 public:
  // `judge` makes the status of a review from its spec.
  explicit HeldHost(std::function<Json(const Json& spec)> judge) : judge_(std::move(judge)) {}

  PostReview poster() {
    return [this](std::string path, Json review) { return post(std::move(path), review); };
  }
  void release() {
    held_ = false;
    released_.notify();
  }
  void hold() { held_ = true; }

  std::vector<std::string> paths;
  std::vector<Json> specs;
  bool down = false;

 private:
  Task<Result<Json>> post(std::string path, Json review) {
    paths.push_back(std::move(path));
    specs.push_back(*wire::find(review, "spec"));
    while (held_) {
      FL_CO_CHECKED(co_await released_.wait());
    }
    if (down) co_return fail(Code::unavailable, "connection refused");
    review.get_object()["status"] = judge_(*wire::find(review, "spec"));
    co_return review;
  }

  std::function<Json(const Json& spec)> judge_;
  bool held_ = false;
  runtime::Signal released_;
};

}  // namespace fairlead::delegation
