#include "foundation/wire/ovsdb.h"

namespace fairlead::wire::ovsdb {

void MessageSplitter::append(std::string_view piece) {
  buffer_.erase(0, start_);
  scanned_ -= start_;
  start_ = 0;
  buffer_ += piece;
}

Result<bool> MessageSplitter::scan() {
  for (; scanned_ < buffer_.size(); ++scanned_) {
    const char letter = buffer_[scanned_];
    if (in_string_) {
      if (escaped_)
        escaped_ = false;
      else if (letter == '\\')
        escaped_ = true;
      else if (letter == '"')
        in_string_ = false;
      continue;
    }
    if (open_.empty()) {
      start_ = scanned_;
      if (letter == ' ' || letter == '\n' || letter == '\r' || letter == '\t') continue;
      if (letter != '{') return fail(Code::corrupt, "ovsdb: no message begins here");
    }
    if (letter == '"') {
      in_string_ = true;
    } else if (letter == '{' || letter == '[') {
      if (open_.size() == limits_.depth) return fail(Code::exhausted, "ovsdb: nested too deep");
      open_ += letter;
    } else if (letter == '}' || letter == ']') {
      if (open_.back() != (letter == '}' ? '{' : '['))
        return fail(Code::corrupt, "ovsdb: brackets do not match");
      open_.pop_back();
      if (open_.empty()) {
        ++scanned_;
        return true;
      }
    }
  }
  if (open_.empty()) start_ = scanned_;
  return false;
}

Result<std::optional<std::string_view>> MessageSplitter::next() {
  if (failed_) return fail(*failed_);
  const Result<bool> whole = scan();
  if (!whole) {
    failed_ = whole.error();
  } else if (scanned_ - start_ > limits_.bytes) {
    failed_ = Error{Code::exhausted, "ovsdb: message too large"};
  }
  if (failed_) return fail(*failed_);
  if (!*whole) return std::nullopt;
  const std::string_view message = std::string_view(buffer_).substr(start_, scanned_ - start_);
  start_ = scanned_;
  return message;
}

}  // namespace fairlead::wire::ovsdb
