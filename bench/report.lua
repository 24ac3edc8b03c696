-- wrk, at the end of a run: one line of JSON with what was answered, and how long it took in microseconds. Used by get.lua
-- and create.lua, from the repository's folder.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.3f,"p50":%d,"p99":%d,"max":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99), latency.max,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
