// For tests only: HTTP/2 frames made and read by hand, the way a hostile peer would.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::http {

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

inline std::string big_endian(std::uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
  return out;
}

inline std::string frame(std::uint8_t type, std::uint8_t flags, std::int32_t stream,
                         std::string_view payload = {}) {
  std::string out = big_endian(static_cast<std::uint32_t>(payload.size())).substr(1);
  out.push_back(static_cast<char>(type));
  out.push_back(static_cast<char>(flags));
  out.append(big_endian(static_cast<std::uint32_t>(stream))).append(payload);
  return out;
}

// A header field without index or Huffman coding.
inline std::string literal_field(std::string_view name, std::string_view value) {
  std::string out(1, '\0');
  for (const std::string_view text : {name, value}) {
    if (text.size() < 127) {
      out.push_back(static_cast<char>(text.size()));
    } else {
      out.push_back(127);
      std::size_t rest = text.size() - 127;
      for (; rest >= 128; rest /= 128) out.push_back(static_cast<char>(rest % 128 + 128));
      out.push_back(static_cast<char>(rest));
    }
    out.append(text);
  }
  return out;
}

inline std::string request_block(std::string_view method, std::string_view path) {
  return literal_field(":method", method) + literal_field(":scheme", "http") +
         literal_field(":path", path) + literal_field(":authority", "h");
}

// HEADERS with everything in one frame.
inline std::string request_frame(std::int32_t stream, std::string_view path,
                                 std::string_view more_fields = {}, bool whole = true,
                                 std::string_view method = "GET") {
  const std::uint8_t flags =
      NGHTTP2_FLAG_END_HEADERS | (whole ? NGHTTP2_FLAG_END_STREAM : NGHTTP2_FLAG_NONE);
  return frame(NGHTTP2_HEADERS, flags, stream, request_block(method, path).append(more_fields));
}

inline std::string client_opening() {
  return std::string(kPreface).append(frame(NGHTTP2_SETTINGS, 0, 0));
}

struct ReceivedFrame {
  std::uint8_t type;
  std::uint8_t flags;
  std::int32_t stream;
  std::string payload;
  std::uint32_t code() const {  // RST_STREAM at 0, GOAWAY at 4
    const std::size_t at = type == NGHTTP2_GOAWAY ? 4 : 0;
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + 4 && i < payload.size(); ++i)
      value = value << 8 | static_cast<unsigned char>(payload[i]);
    return value;
  }
};

inline std::vector<ReceivedFrame> frames_in(std::string_view bytes) {
  std::vector<ReceivedFrame> frames;
  const auto byte = [&bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  while (bytes.size() >= 9) {
    const std::size_t length = byte(0) << 16 | byte(1) << 8 | byte(2);
    if (bytes.size() < 9 + length) break;
    const std::uint32_t stream = byte(5) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8);
    frames.push_back({byte(3), byte(4), static_cast<std::int32_t>(stream),
                      std::string(bytes.substr(9, length))});
    bytes.remove_prefix(9 + length);
  }
  return frames;
}

inline const ReceivedFrame* first_of(const std::vector<ReceivedFrame>& frames, std::uint8_t type) {
  for (const ReceivedFrame& frame : frames)
    if (frame.type == type) return &frame;
  return nullptr;
}

// What a header block says, and how large the table is that the decoder keeps afterwards.
struct DecodedFields {
  std::map<std::string, std::string> values;
  std::set<std::string> never_indexed;  // names
  std::size_t table = 0;                // bytes
};

// A peer's memory of header fields, over all blocks of one connection.
class FieldDecoder {
 public:
  FieldDecoder() { nghttp2_hd_inflate_new(&inflater_); }
  FieldDecoder(const FieldDecoder&) = delete;
  FieldDecoder& operator=(const FieldDecoder&) = delete;
  ~FieldDecoder() { nghttp2_hd_inflate_del(inflater_); }

  DecodedFields decode(std::string_view block) {
    DecodedFields fields;
    for (int flags = 0; !(flags & NGHTTP2_HD_INFLATE_FINAL);) {
      nghttp2_nv field;
      const ssize_t taken = nghttp2_hd_inflate_hd2(
          inflater_, &field, &flags, reinterpret_cast<const std::uint8_t*>(block.data()),
          block.size(), 1);
      if (taken < 0) break;
      block.remove_prefix(static_cast<std::size_t>(taken));
      if (!(flags & NGHTTP2_HD_INFLATE_EMIT)) continue;
      const std::string name(reinterpret_cast<char*>(field.name), field.namelen);
      fields.values[name] = std::string(reinterpret_cast<char*>(field.value), field.valuelen);
      if (field.flags & NGHTTP2_NV_FLAG_NO_INDEX) fields.never_indexed.insert(name);
    }
    nghttp2_hd_inflate_end_headers(inflater_);
    fields.table = nghttp2_hd_inflate_get_dynamic_table_size(inflater_);
    return fields;
  }

 private:
  nghttp2_hd_inflater* inflater_ = nullptr;
};

}  // namespace fairlead::http
