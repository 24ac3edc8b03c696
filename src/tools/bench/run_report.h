// A run of `fairlead bench attachments` as one HTML file: what it came to, percentiles, latency and
// rate over time. It loads nothing from anywhere. Pure.
#pragma once

#include <string>

#include "tools/bench/attachment_figures.h"

namespace fairlead::bench {

std::string report_html(const AttachmentFigures& figures, const std::string& run);

}  // namespace fairlead::bench
