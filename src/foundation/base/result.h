// Result<T> and Error: how every fallible function in the product answers.
//
// The list of codes is closed; one table per boundary (HTTP status, CNI code, exit status) maps
// them outwards. Context is added where a call crosses a boundary:
//
//   return error.context("bind a/b");      // "bind a/b: allocate from 10.0.0.0/24: exhausted"
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace fairlead {

enum class Code {
  invalid,  // the input can never be right
  not_found,
  already_exists,
  conflict,  // a precondition on the current state failed; read again and retry
  gone,      // the history asked for was compacted away
  forbidden,
  unauthorized,
  exhausted,    // a limit was reached: addresses, memory, queue places
  unavailable,  // the peer cannot answer now; the operation was not carried out
  timeout,      // no answer in time; the operation may have been carried out
  cancelled,    // the caller gave up
  unsupported,
  corrupt,   // stored or received bytes break their own format
  io,        // the operating system failed us
  internal,  // our own fault
};

std::string_view code_name(Code code);

struct Error {
  Code code = Code::internal;
  std::string message;

  Error context(std::string_view where) const&;
  Error context(std::string_view where) &&;
  std::string to_string() const;  // "code: message"
  bool operator==(const Error&) const = default;
};

template <class T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Code code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}
inline std::unexpected<Error> fail(Error error) { return std::unexpected(std::move(error)); }

// An Error for the current errno, as "open /x: No such file or directory".
Error errno_error(std::string_view what);
Error errno_error(std::string_view what, int error_number);

}  // namespace fairlead

#define FL_CONCAT_INNER(a, b) a##b
#define FL_CONCAT(a, b) FL_CONCAT_INNER(a, b)

// FL_TRY(name, expression): declares `name` from a Result or returns its error.
// FL_CHECKED(expression): the same for Result<void>. The FL_CO_ forms are for coroutines.
#define FL_TRY(declaration, expression) \
  FL_TRY_IMPL(FL_CONCAT(fl_result_, __COUNTER__), declaration, expression, return)
#define FL_CO_TRY(declaration, expression) \
  FL_TRY_IMPL(FL_CONCAT(fl_result_, __COUNTER__), declaration, expression, co_return)
#define FL_TRY_IMPL(result, declaration, expression, leave) \
  auto result = (expression);                               \
  if (!result) [[unlikely]]                                 \
    leave std::unexpected(std::move(result).error());       \
  declaration = std::move(*result)

#define FL_CHECKED(expression) \
  FL_CHECKED_IMPL(FL_CONCAT(fl_result_, __COUNTER__), expression, return)
#define FL_CO_CHECKED(expression) \
  FL_CHECKED_IMPL(FL_CONCAT(fl_result_, __COUNTER__), expression, co_return)
#define FL_CHECKED_IMPL(result, expression, leave) \
  auto result = (expression);                      \
  if (!result) [[unlikely]]                        \
  leave std::unexpected(std::move(result).error())
