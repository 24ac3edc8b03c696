// A ClientStream whose body is inflated on the way when the server compressed it. Internal to
// http/.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "foundation/http/client.h"
#include "foundation/http/gzip.h"

namespace fairlead::http {

class GunzipStream final : public ClientStream {
 public:
  GunzipStream(std::unique_ptr<ClientStream> inner, std::size_t output_limit)
      : inner_(std::move(inner)), output_limit_(output_limit) {}

  Task<Result<ResponseHead>> head() override {
    FL_CO_TRY(ResponseHead head, co_await inner_->head());
    if (equals_ignoring_case(head.headers.get("content-encoding"), "gzip")) {
      if (!gunzip_) gunzip_.emplace(output_limit_);
      head.headers.remove("content-encoding");
      head.headers.remove("content-length");
    }
    headed_ = true;
    co_return head;
  }

  Task<Result<std::optional<Bytes>>> read() override {
    if (!headed_) {
      FL_CO_CHECKED(co_await head());
    }
    for (;;) {
      FL_CO_TRY(std::optional<Bytes> piece, co_await inner_->read());
      if (!gunzip_) co_return piece;
      if (!piece) {
        if (any_ && !gunzip_->complete()) co_return fail(Code::corrupt, "gunzip: cut short");
        co_return piece;
      }
      any_ = true;
      FL_CO_TRY(std::string inflated, gunzip_->inflate(piece->view()));
      if (!inflated.empty()) co_return std::optional<Bytes>(std::move(inflated));
    }
  }

  const Headers& trailers() const override { return inner_->trailers(); }
  Task<Result<>> write(Bytes piece) override { return inner_->write(std::move(piece)); }
  Task<Result<>> finish() override { return inner_->finish(); }

 private:
  std::unique_ptr<ClientStream> inner_;
  std::size_t output_limit_;
  std::optional<Gunzip> gunzip_;
  bool headed_ = false;
  bool any_ = false;
};

}  // namespace fairlead::http
