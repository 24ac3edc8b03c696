// Bytes: an immutable, shared run of bytes, or a slice of one. What an object was encoded to once
// is handed to every list, watcher and connection as such a value.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead {

class Bytes {
 public:
  Bytes() = default;
  Bytes(std::string text)  // NOLINT: an owned string is the usual way to make one
      : owner_(std::make_shared<const std::string>(std::move(text))),
        view_(*std::static_pointer_cast<const std::string>(owner_)) {}
  // A text that lives for ever, such as a literal.
  static Bytes literal(std::string_view text) {
    Bytes bytes;
    bytes.view_ = text;
    return bytes;
  }
  // A view into something that `owner` keeps alive.
  static Bytes share(std::shared_ptr<const void> owner, std::string_view view) {
    Bytes bytes;
    bytes.owner_ = std::move(owner);
    bytes.view_ = view;
    return bytes;
  }

  std::string_view view() const { return view_; }
  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  // Whether the memory is there anyway: somebody else keeps it too, or it is a literal.
  bool is_shared() const { return owner_.use_count() != 1; }
  Bytes slice(std::size_t from, std::size_t length) const {
    return share(owner_, view_.substr(from, length));
  }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view view_;
};

}  // namespace fairlead
