// gzip (RFC 1952), whole or piece by piece, and its inverse with a bound. Pure; zlib does the work.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "foundation/base/bytes.h"
#include "foundation/base/result.h"

namespace fairlead::http {

// The pieces, one after the other, as one gzip member. `level` 1 (fast) … 9 (small).
Result<std::string> gzip(std::span<const Bytes> pieces, int level);

// The same for data that comes piece by piece. After an error it is of no further use.
class Gzip {
 public:
  explicit Gzip(int level);
  ~Gzip();
  Gzip(Gzip&&) noexcept;
  Gzip& operator=(Gzip&&) noexcept;

  // Appends the compressed bytes that are ready after `input`, often none.
  Result<> add(std::string_view input, std::string& out);
  // The rest. REQUIRES: called once, last.
  Result<> finish(std::string& out);

 private:
  class Deflater;
  std::unique_ptr<Deflater> deflater_;
};

// Inflates a stream piece by piece and stops at a bound, as protection from decompression bombs.
class Gunzip {
 public:
  explicit Gunzip(std::size_t output_limit);
  ~Gunzip();
  Gunzip(Gunzip&&) noexcept;
  Gunzip& operator=(Gunzip&&) noexcept;

  // Inflates `input`. Fails with corrupt on bytes that are not gzip, with exhausted past the bound.
  Result<std::string> inflate(std::string_view input);
  // Whether a whole number of gzip members has been seen.
  bool complete() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether an Accept-Encoding value allows gzip (q=0 forbids it).
bool accepts_gzip(std::string_view accept_encoding);

}  // namespace fairlead::http
