// Questions to a daemon of Open vSwitch and their answers, told apart by numbers, over one
// connection after another.
//
// No question waits for ever, whatever becomes of the daemon: when the connection ends, all of them
// fail, and a daemon that does not answer in time is taken for dead, which ends the connection. It
// is for the owner, who is told, to connect anew.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "node/fabric/ovs/connection.h"

namespace fairlead::fabric::ovs {

template <class Number, class T>
class Dialogue {
 public:
  struct Options {
    std::string name;   // of the daemon, for errors
    Duration patience;  // with each question
  };
  // `consume` gets what arrives and calls answer(); `ended` is called once for each connection that
  // ended.
  Dialogue(runtime::Runtime& runtime, Options options, Connection::Consume consume,
           Connection::Ended ended)
      : runtime_(runtime),
        options_(std::move(options)),
        consume_(std::move(consume)),
        ended_(std::move(ended)) {}

  // A connection takes the place of the former.
  void open(std::unique_ptr<runtime::Stream> stream) {
    fail_all({Code::unavailable, "connected anew"});
    connection_ = std::make_unique<Connection>(runtime_, std::move(stream), consume_,
                                               [this](const Error& error) {
                                                 fail_all(error);
                                                 ended_(error);
                                               });
  }
  bool connected() const { return connection_ && connection_->open(); }
  // The connection is of no use any more.
  void end(const Error& why) {
    if (connection_) connection_->end(why);
  }

  // REQUIRES: connected().
  void send(std::string_view bytes) { connection_->send(bytes); }

  // Sends `bytes` and waits for the answer to `number`.
  Task<Result<T>> ask(Number number, std::string bytes) {
    if (!connected()) co_return fail(Code::unavailable, options_.name + ": not connected");
    pending_[number] = std::make_shared<Pending>();
    connection_->send(bytes);
    Result<T> answer =
        co_await runtime::with_timeout(runtime_, options_.patience, wait(pending_[number]));
    pending_.erase(number);
    if (answer || answer.error().code != Code::timeout) co_return answer;
    const Error silent{Code::timeout, options_.name + ": no answer in time"};
    end(silent);
    co_return fail(silent);
  }
  bool awaits(Number number) const { return pending_.contains(number); }
  // What nobody waits for any more is ignored.
  void answer(Number number, Result<T> value) {
    if (const auto found = pending_.find(number); found != pending_.end())
      found->second->arrive(std::move(value));
  }

 private:
  struct Pending {
    std::optional<Result<T>> value;
    runtime::Signal arrived;

    void arrive(Result<T> what) {
      if (!value) value = std::move(what);
      arrived.notify();
    }
  };

  static Task<Result<T>> wait(std::shared_ptr<Pending> pending) {
    while (!pending->value) {
      FL_CO_CHECKED(co_await pending->arrived.wait());
    }
    co_return std::move(*pending->value);
  }
  void fail_all(const Error& error) {
    for (auto& [number, pending] : pending_)
      pending->arrive(fail(Code::unavailable, options_.name + ": " + error.message));
  }

  runtime::Runtime& runtime_;
  Options options_;
  Connection::Consume consume_;
  Connection::Ended ended_;
  std::map<Number, std::shared_ptr<Pending>> pending_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace fairlead::fabric::ovs
