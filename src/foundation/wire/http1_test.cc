#include "foundation/wire/http1.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead::wire::http1 {
namespace {

using Outcome = HeadScanner::Outcome;

// What a server makes of `bytes`, read in pieces of `step` bytes: a status line of its own, or the
// requests it understood.
std::string read_requests(std::string_view bytes, std::size_t step) {
  std::string seen;
  std::string buffer;
  std::size_t fed = 0;
  HeadScanner scanner(1024);
  for (;;) {
    Outcome outcome = scanner.scan(buffer);
    while (outcome == Outcome::need_more && fed < bytes.size()) {
      buffer.append(bytes.substr(fed, step));
      fed += step;
      outcome = scanner.scan(buffer);
    }
    if (outcome == Outcome::need_more) return seen + (buffer.empty() ? "." : "incomplete");
    if (outcome == Outcome::rejected) return seen + std::to_string(scanner.rejection().status);
    const auto head = parse_request_head(
        std::string_view(buffer).substr(scanner.begin(), scanner.length()), {1024, 5});
    if (!head) return seen + std::to_string(head.error().status);
    seen.append(head->method).append(" ").append(head->target).append(" ").append(head->authority);
    seen.append(head->keep_alive ? " keep" : " close");
    BodyDecoder body(head->framing, head->content_length);
    buffer.erase(0, scanner.begin() + scanner.length());
    scanner.reset();
    std::string payload;
    while (!body.done()) {
      if (buffer.empty()) {
        if (fed >= bytes.size()) return seen + " incomplete";
        buffer.append(bytes.substr(fed, step));
        fed += step;
      }
      const BodyDecoder::Step part = body.decode(buffer);
      payload.append(part.payload);
      buffer.erase(0, part.consumed);
      if (body.rejected()) return seen + " " + std::to_string(body.rejection().status);
    }
    seen.append(" [").append(payload).append("]");
    for (const auto& [name, value] : body.trailers()) seen.append(name).append("=").append(value);
    seen.append("; ");
  }
}

struct Case {
  std::string bytes;
  std::string expected;
};

// Every form, proper and smuggled, has one reading, however the bytes were cut into reads.
TEST(Http1, RequestsHaveOneReading) {
  const std::string host = "Host: h\r\n";
  const std::vector<Case> cases = {
      {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / h keep []; ."},
      {"\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / h keep []; ."},
      {"\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"GET /a?b=%20c HTTP/1.1\r\nhOsT:h:80 \r\n\r\n", "GET /a?b=%20c h:80 keep []; ."},
      {"GET / HTTP/1.0\r\n\r\n", "GET /  close []; ."},
      {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET /  keep []; ."},
      {"GET / HTTP/1.1\r\nHost: h\r\nConnection: x, close\r\n\r\n", "GET / h close []; ."},
      {"GET / HTTP/1.9\r\nHost: h\r\n\r\n", "GET / h keep []; ."},
      {"GET http://other:1/p?q HTTP/1.1\r\nHost: h\r\n\r\n", "GET /p?q other:1 keep []; ."},
      {"GET http://other HTTP/1.1\r\nHost: h\r\n\r\n", "GET / other keep []; ."},
      {"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS * h keep []; ."},
      {"PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: "
       "h\r\n\r\n",
       "PUT /x h keep [abc]; GET / h keep []; ."},
      {"PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", "PUT /x h keep []; ."},
      {"PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
       "3\r\nabc\r\n00A;ext=\"1\"\r\n0123456789\r\n0\r\nX-T: v\r\nContent-Length: 9\r\n\r\n",
       "PUT /x h keep [abc0123456789]X-T=v; ."},
      {"PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
       "PUT /x h keep []; ."},
      {"GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET /  keep []; ."},
      {"GET / HTTP/1.1\r\nHost: h\r\n", "incomplete"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabc", "PUT / h keep incomplete"},
      // request line
      {"GET  / HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"GET /\r\nHost: h\r\n\r\n", "400"},
      {"GET / \r\nHost: h\r\n\r\n", "400"},
      {"GET / x HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"GET / HTTP/1.1 \r\nHost: h\r\n\r\n", "400"},
      {" GET / HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"G(T / HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"GET /\x7f HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"GET /\xc3\xa4 HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"GET a HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"GET * HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n", "400"},
      {"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", "501"},
      {"GET / HTTP/2.0\r\nHost: h\r\n\r\n", "505"},
      {"GET / HTTP/11\r\nHost: h\r\n\r\n", "400"},
      {"GET / http/1.1\r\nHost: h\r\n\r\n", "400"},
      {std::string("\x16\x03\x01", 3), "400"},
      // line ends and white space
      {"GET / HTTP/1.1\nHost: h\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost: h\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost: h\r\n\n", "400"},
      {"GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost: h\r\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\n Host: h\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost : h\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost: h\r\nnocolon\r\n\r\n", "400"},
      {std::string("GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n", 35), "400"},
      {"GET / HTTP/1.1\r\nHost: h\r\nX\x80: a\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: \xc3\xa4\r\n\r\n", "GET / h keep []; ."},
      // host
      {"GET / HTTP/1.1\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400"},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "400"},
      // framing
      {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
       "400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
       "400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3, 3\r\n\r\nabc", "400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\nabc", "400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: -3\r\n\r\nabc", "400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x3\r\n\r\nabc", "400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 3 3\r\n\r\nabc", "400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n", "400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", "400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "501"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n", "501"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n", "501"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", "501"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n\r\n", "400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \vchunked\r\n\r\n", "400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
       "chunked\r\n\r\n",
       "400"},
      {"PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nExpect: something\r\n\r\n", "417"},
      // chunks
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", "PUT / h keep 400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc", "PUT / h keep 400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
       "PUT / h keep 400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\n0\r\n\r\n",
       "PUT / h keep 400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n",
       "PUT / h keep 400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n",
       "PUT / h keep 400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;a\nb\r\nabc\r\n",
       "PUT / h keep 400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
       "PUT / h keep 400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "PUT / h keep 400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\n",
       "PUT / h keep 400"},
      {"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX : y\r\n\r\n",
       "PUT / h keep 400"},
      // limits: 1024 bytes and 5 headers in this test
      {"GET /" + std::string(1100, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n", "431"},
      {"GET /" + std::string(2000, 'a'), "431"},
      {"GET / HTTP/1.1\r\nHost: h\r\na:1\r\nb:1\r\nc:1\r\nd:1\r\ne:1\r\n\r\n", "431"},
  };
  for (const Case& c : cases)
    for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{7}, c.bytes.size()})
      EXPECT_EQ(read_requests(c.bytes, step), c.expected) << "step " << step << ":\n" << c.bytes;
}

struct ResponseCase {
  std::string head;
  std::string_view method;
  int status;  // 0: refused
  Framing framing;
  bool keep_alive;
};

// The length of a response follows from its head and the request's method alone.
TEST(Http1, ResponsesAreFramedByStatusMethodAndFields) {
  const std::vector<ResponseCase> cases = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "GET", 200, Framing::length, true},
      {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "GET", 200, Framing::none, true},
      {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "HEAD", 200, Framing::none, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", 200, Framing::chunked, true},
      {"HTTP/1.1 200 OK\r\n\r\n", "GET", 200, Framing::until_close, false},
      {"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\n", "GET", 200, Framing::length, false},
      {"HTTP/1.1 204 No Content\r\n\r\n", "GET", 204, Framing::none, true},
      {"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "GET", 304, Framing::none, true},
      {"HTTP/1.1 100 Continue\r\n\r\n", "PUT", 100, Framing::none, true},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n", "GET", 200,
       Framing::length, false},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", 0,
       Framing::none, false},
      {"HTTP/1.1 20 OK\r\n\r\n", "GET", 0, Framing::none, false},
      {"HTTP/1.1 2000 OK\r\n\r\n", "GET", 0, Framing::none, false},
      {"HTTP/1.1 -20 OK\r\n\r\n", "GET", 0, Framing::none, false},
      {"HTTP/1.1\r\n\r\n", "GET", 0, Framing::none, false},
      {"HTTP/3.0 200 OK\r\n\r\n", "GET", 0, Framing::none, false},
      {"ICY 200 OK\r\n\r\n", "GET", 0, Framing::none, false},
  };
  for (const ResponseCase& c : cases) {
    HeadScanner scanner;
    ASSERT_EQ(scanner.scan(c.head), Outcome::complete) << c.head;
    const auto head = parse_response_head(c.head, c.method);
    ASSERT_EQ(head.has_value(), c.status != 0) << c.head;
    if (!head) continue;
    EXPECT_EQ(head->status, c.status) << c.head;
    EXPECT_EQ(head->framing, c.framing) << c.head;
    EXPECT_EQ(head->keep_alive, c.keep_alive) << c.head;
  }
}

// Only a body without a length may end with the connection.
TEST(Http1, TheEndOfTheConnectionEndsOnlyBodiesWithoutLength) {
  BodyDecoder open_ended(Framing::until_close, 0);
  EXPECT_EQ(open_ended.decode("abc").payload, "abc");
  EXPECT_TRUE(open_ended.end_of_input());
  BodyDecoder counted(Framing::length, 5);
  EXPECT_EQ(counted.decode("abc").payload, "abc");
  EXPECT_EQ(counted.remaining(), 2u);
  EXPECT_FALSE(counted.end_of_input());
  BodyDecoder chunked(Framing::chunked, 0);
  chunked.decode("3\r\nabc\r\n");
  EXPECT_FALSE(chunked.end_of_input());
}

// Endless framing around no payload is cut off.
TEST(Http1, ChunkExtensionsAndTrailersAreBounded) {
  BodyDecoder extension(Framing::chunked, 0);
  extension.decode("1;" + std::string(300, 'x'));
  EXPECT_TRUE(extension.rejected());
  BodyDecoder trailer(Framing::chunked, 0);
  trailer.decode("0\r\nX: " + std::string(20'000, 'x'));
  EXPECT_TRUE(trailer.rejected());
  BodyDecoder trailers(Framing::chunked, 0);
  std::string many = "0\r\n";
  for (int i = 0; i < 100; ++i) many.append("a: b\r\n");
  trailers.decode(many);
  EXPECT_TRUE(trailers.rejected());
}

// What is encoded here reads back as the same message.
TEST(Http1, EncodedHeadsReadBack) {
  std::string request;
  append_request_line(request, "POST", "/a?b");
  append_field(request, "Host", "h");
  append_field(request, "X-Y", "some value");
  append_content_length(request, 17);
  append_end_of_head(request);
  const auto head = parse_request_head(request);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->method, "POST");
  EXPECT_EQ(head->content_length, 17u);
  EXPECT_EQ(head->fields[1].value, "some value");

  std::string response;
  append_status_line(response, 418);
  append_content_length(response, 0);
  append_end_of_head(response);
  const auto answer = parse_response_head(response, "GET");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 418);

  std::string body;
  append_chunk_size(body, 26);
  body.append("abcdefghijklmnopqrstuvwxyz\r\n").append(kLastChunk);
  BodyDecoder decoder(Framing::chunked, 0);
  BodyDecoder::Step step = decoder.decode(body);
  EXPECT_EQ(step.payload, "abcdefghijklmnopqrstuvwxyz");
  step = decoder.decode(std::string_view(body).substr(step.consumed));
  EXPECT_TRUE(decoder.done());
}

}  // namespace
}  // namespace fairlead::wire::http1
