#include "tools/bench/attachment_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "tools/bench/tally.h"

namespace fairlead::bench {
namespace {

double rate(std::uint64_t count, Duration time) {
  return static_cast<double>(count) / std::max(seconds_of(time), 1e-9);
}

std::string phase_text(const PhaseFigures& phase, std::size_t agents) {
  std::string text = fmt::format("{}: {} created, {} deleted in {:.1f} s ({}/s)", phase.name,
                                 phase.created, phase.removed, seconds_of(phase.took),
                                 figure(rate(phase.created + phase.removed, phase.took)));
  if (agents != 0)
    text += fmt::format("; {:.3f} s later {} agents carry {} of {} stations",
                        seconds_of(phase.in_step_after), agents, phase.stations,
                        phase.stations_expected);
  if (phase.server_resident != 0)
    text +=
        fmt::format("; server {:.2f} cores, {:.0f} MB",
                    seconds_of(phase.server_cpu) / std::max(seconds_of(phase.server_time), 1e-9),
                    static_cast<double>(phase.server_resident) / 1e6);
  return text + "\n";
}

Json phase_json(const PhaseFigures& phase, std::size_t agents) {
  JsonObject json{{"name", phase.name},
                  {"created", phase.created},
                  {"deleted", phase.removed},
                  {"seconds", seconds_of(phase.took)},
                  {"changesPerSecond", rate(phase.created + phase.removed, phase.took)}};
  if (agents != 0) {
    json["stations"] = phase.stations;
    json["stationsExpected"] = phase.stations_expected;
    json["agentsInStepAfterSeconds"] = seconds_of(phase.in_step_after);
  }
  if (phase.server_resident != 0) {
    json["serverCores"] =
        seconds_of(phase.server_cpu) / std::max(seconds_of(phase.server_time), 1e-9);
    json["serverCpuSeconds"] = seconds_of(phase.server_cpu);
    json["serverResidentBytes"] = phase.server_resident;
  }
  return json;
}

std::string milliseconds(Instant from, Instant to) {
  return from == Instant{} || to == Instant{} ? std::string()
                                              : fmt::format("{:.3f}", 1e3 * seconds_of(to - from));
}

}  // namespace

std::vector<AttachmentFigures::Stage> AttachmentFigures::stages(Part part) const {
  enum { kCreate, kRemove, kToAddressed, kToReady, kAddressedToReady, kToSeen, kReadyToTested };
  std::vector<Stage> stages{{"create", "create", {}},
                            {"remove", "delete", {}},
                            {"createToAddressed", "create to address", {}},
                            {"createToReady", "create to interface in status", {}},
                            {"addressedToReady", "address to interface in status", {}},
                            {"createToSeen", "create to carried by remote agents", {}},
                            {"readyToTested", "interface to test", {}}};
  const auto add = [&stages](std::size_t stage, Instant from, Instant to) {
    if (from != Instant{} && to != Instant{}) stages[stage].histogram.add(to - from);
  };
  for (std::uint64_t number = 0; number < lives.size(); ++number) {
    if (part_of(number) != part) continue;
    const Life& life = lives[number];
    add(kCreate, life.due, life.created);
    add(kRemove, life.remove_due, life.removed);
    add(kToAddressed, life.due, life.addressed);
    add(kToReady, life.due, life.ready);
    add(kAddressedToReady, life.addressed, life.ready);
    add(kReadyToTested, life.ready, life.tested);
  }
  stages[kToSeen].histogram = seen[static_cast<std::size_t>(part)];
  std::erase_if(stages, [](const Stage& stage) { return stage.histogram.count() == 0; });
  return stages;
}

AttachmentFigures::Tests AttachmentFigures::tests() const {
  Tests tests;
  for (const Life& life : lives) {
    if (life.tested == Instant{}) continue;
    if (life.test_status != 0) {
      ++tests.failed;
    } else {
      ++(life.peer ? tests.full : tests.half);
    }
  }
  return tests;
}

bool AttachmentFigures::failed() const {
  return failed_creates.count + failed_removes.count + failed_tests.count + broken.count +
             duplicates.count + vanished.count !=
         0;
}

std::vector<std::string> AttachmentFigures::errors() const {
  std::vector<std::string> errors;
  const auto add = [&errors](const Failures& failures, const char* what) {
    if (failures.count != 0)
      errors.push_back(fmt::format("{} {}, the first: {}", failures.count, what, failures.first));
  };
  add(failed_creates, "creates failed");
  add(failed_removes, "deletes failed");
  add(failed_tests, "tests failed");
  add(broken, "attachments had errors on their host");
  add(duplicates, "addresses were given twice");
  add(vanished, "attachments were deleted by somebody else");
  if (!watch_failure.empty()) errors.push_back("watch: " + watch_failure);
  if (!stopped.empty()) errors.push_back(stopped);
  if (!watch_failure.empty() || !stopped.empty()) return errors;  // the rest was not waited for
  if (still_waiting() != 0) errors.push_back(fmt::format("{} never got ready", still_waiting()));
  const auto untested = std::ranges::count_if(lives, [](const Life& life) {
    return life.wants_test && life.created != Instant{} && life.tested == Instant{};
  });
  if (untested != 0) errors.push_back(fmt::format("{} tests were never reported", untested));
  if (gone < removed)
    errors.push_back(fmt::format("{} deletions were answered and never seen", removed - gone));
  for (const PhaseFigures& phase : phases)
    if (phase.stations != phase.stations_expected)
      errors.push_back(fmt::format("after the {} agents carried {} stations instead of {}",
                                   phase.name, phase.stations, phase.stations_expected));
  return errors;
}

std::string AttachmentFigures::text() const {
  std::string text = fmt::format("attachments: {} created, {} addressed, {} ready, {} deleted\n",
                                 created, addressed, ready, removed);
  for (const PhaseFigures& phase : phases) text += phase_text(phase, agents);
  for (const auto& [part, name] : kPartNames) {
    const std::vector<Stage> told = stages(part);
    if (told.empty()) continue;
    text += fmt::format("of those made in the {}\n",
                        part == Part::warm_up ? phases.front().name : std::string("cruise"));
    for (const Stage& stage : told)
      text += fmt::format("  {:<36} {}\n", stage.words, percentiles_text(stage.histogram));
  }
  if (const Tests done = tests(); done.full + done.half + done.failed != 0)
    text += fmt::format("  {} pinged a peer, {} had nobody to ping\n", done.full, done.half);
  for (const std::string& error : errors()) text += "  error  " + error + "\n";
  if (late != 0) text += fmt::format("  {} operations began more than 0.1 s late\n", late);
  if (waits != 0)
    text += fmt::format("  {} deletes waited for what they delete to be there, {:.3f} s in all\n",
                        waits, seconds_of(waited));
  return text;
}

Json AttachmentFigures::json() const {
  JsonObject json{{"networks", networks},
                  {"agents", agents},
                  {"created", created},
                  {"addressed", addressed},
                  {"ready", ready},
                  {"deleted", removed},
                  {"createErrors", failed_creates.count},
                  {"deleteErrors", failed_removes.count},
                  {"duplicateAddresses", duplicates.count},
                  {"broken", broken.count},
                  {"deletesSeen", gone},
                  {"deletesThatWaited", waits},
                  {"deletesWaitedSeconds", seconds_of(waited)},
                  {"late", late}};
  JsonArray told;
  for (const PhaseFigures& phase : phases) told.push_back(phase_json(phase, agents));
  json["phases"] = std::move(told);
  JsonObject parts;
  for (const auto& [part, name] : kPartNames) {
    JsonObject by_stage;
    for (const Stage& stage : stages(part))
      by_stage[stage.name] = percentiles_json(stage.histogram);
    if (!by_stage.empty()) parts[name] = std::move(by_stage);
  }
  json["milliseconds"] = std::move(parts);
  if (const Tests done = tests(); done.full + done.half + done.failed != 0)
    json["tests"] = JsonObject{{"full", done.full}, {"half", done.half}, {"failed", done.failed}};
  JsonArray problems;
  for (const std::string& error : errors()) problems.emplace_back(error);
  json["errors"] = std::move(problems);
  return json;
}

std::string AttachmentFigures::csv(const std::string& run) const {
  std::string text =
      "attachment,network,node,due_s,create_ms,addressed_ms,ready_ms,tested_ms,test_status,ip,"
      "delete_due_s,delete_ms\n";
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const Life& life = lives[i];
    if (life.due == Instant{}) continue;
    const std::string remove_due = life.remove_due == Instant{}
                                       ? std::string()
                                       : fmt::format("{:.6f}", seconds_of(life.remove_due - start));
    text +=
        fmt::format("{}-{},{},{},{:.6f},{},{},{},{},{},{},{},{}\n", run, i, life.network, life.node,
                    seconds_of(life.due - start), milliseconds(life.due, life.created),
                    milliseconds(life.due, life.addressed), milliseconds(life.due, life.ready),
                    milliseconds(life.due, life.tested), life.test_status, life.ip, remove_due,
                    milliseconds(life.remove_due, life.removed));
  }
  return text;
}

Result<> write_file(const std::string& flag, const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) return fail(Code::io, flag + " " + path + ": cannot be written");
  return {};
}

}  // namespace fairlead::bench
