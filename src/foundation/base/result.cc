#include "foundation/base/result.h"

#include <cerrno>
#include <cstring>

namespace fairlead {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::invalid:
      return "invalid";
    case Code::not_found:
      return "not_found";
    case Code::already_exists:
      return "already_exists";
    case Code::conflict:
      return "conflict";
    case Code::gone:
      return "gone";
    case Code::forbidden:
      return "forbidden";
    case Code::unauthorized:
      return "unauthorized";
    case Code::exhausted:
      return "exhausted";
    case Code::unavailable:
      return "unavailable";
    case Code::timeout:
      return "timeout";
    case Code::cancelled:
      return "cancelled";
    case Code::unsupported:
      return "unsupported";
    case Code::corrupt:
      return "corrupt";
    case Code::io:
      return "io";
    case Code::internal:
      return "internal";
  }
  return "internal";
}

Error Error::context(std::string_view where) const& { return Error(*this).context(where); }

Error Error::context(std::string_view where) && {
  std::string joined;
  joined.reserve(where.size() + 2 + message.size());
  joined.append(where).append(": ").append(message);
  return Error{code, std::move(joined)};
}

std::string Error::to_string() const {
  return std::string(code_name(code)).append(": ").append(message);
}

Error errno_error(std::string_view what) { return errno_error(what, errno); }

Error errno_error(std::string_view what, int error_number) {
  std::string message(what);
  message.append(": ").append(std::strerror(error_number));
  const Code code =
      error_number == ENOENT                            ? Code::not_found
      : error_number == EEXIST                          ? Code::already_exists
      : error_number == EACCES || error_number == EPERM ? Code::forbidden
      : error_number == ENOSPC || error_number == EMFILE || error_number == ENFILE ? Code::exhausted
      : error_number == ECONNREFUSED || error_number == ECONNRESET || error_number == EPIPE ||
              error_number == EHOSTUNREACH || error_number == ENETUNREACH
          ? Code::unavailable
      : error_number == ETIMEDOUT ? Code::timeout
                                  : Code::io;
  return Error{code, std::move(message)};
}

}  // namespace fairlead
