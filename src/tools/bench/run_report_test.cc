#include "tools/bench/run_report.h"

#include <gtest/gtest.h>

namespace fairlead::bench {
namespace {

Instant at(int milliseconds) { return Instant(std::chrono::milliseconds(milliseconds)); }

AttachmentFigures run_of(int attachments) {
  AttachmentFigures figures(static_cast<std::size_t>(attachments));
  figures.start = at(1'000);
  figures.warm_up = static_cast<std::uint64_t>(attachments);
  figures.created = figures.ready = figures.addressed = static_cast<std::uint64_t>(attachments);
  for (int i = 0; i < attachments; ++i) {
    Life& life = figures.lives[static_cast<std::size_t>(i)];
    life.due = at(1'000 + 10 * i);
    life.created = at(1'005 + 10 * i);
    life.addressed = at(1'007 + 10 * i);
    life.ready = at(1'050 + 10 * i);
  }
  figures.phases = {{.name = "warm-up",
                     .took = std::chrono::milliseconds(10 * attachments + 50),
                     .begin = at(1'000)}};
  return figures;
}

// Every stage that was reached has its table row and its plots; others have none.
TEST(RunReport, ShowsWhatWasMeasured) {
  const std::string html = report_html(run_of(200), "b1");
  for (const char* part : {"run b1", "Everything that was asked for was done and seen",
                           "<td>create to interface in status</td><td>200</td><td>50",
                           "Percentiles, made in the warm-up", "<title>Create to address</title>",
                           "<title>Rate</title>", ">warm-up</text>"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  for (const char* part : {"<title>Delete</title>", "<title>Interface to test</title>", "cruise"})
    EXPECT_EQ(html.find(part), std::string::npos) << part;
}

// One file: nothing is fetched, and no text of others becomes markup.
TEST(RunReport, StandsAlone) {
  AttachmentFigures figures = run_of(3);
  figures.broken.add("b1-0: <script src=x>");
  const std::string html = report_html(figures, "<b>");
  for (const char* part : {"http", "src=", "href", "url(", "@import"}) {
    const std::size_t found = html.find(part);
    EXPECT_TRUE(found == std::string::npos || html.compare(found - 11, 11, "&lt;script ") == 0)
        << part;
  }
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_NE(html.find("1 attachments had errors on their host, the first: b1-0: &lt;script"),
            std::string::npos);
}

// A run that came to nothing has a report, too.
TEST(RunReport, Empty) {
  const std::string html = report_html(AttachmentFigures(2), "b1");
  EXPECT_TRUE(html.ends_with("</html>\n"));
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace fairlead::bench
