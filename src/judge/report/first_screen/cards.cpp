#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/json.h"
#include "core/units.h"
#include "judge/compare/sentences.h"
#include "judge/report/first_screen/first_screen.h"
#include "judge/report/number_text.h"

namespace assay::report {
namespace {

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

/// Returns a member of a fingerprint, which is not trusted; null if it is absent.
Json fact(const Json& fingerprint, std::initializer_list<const char*> path) {
  const Json* at = &fingerprint;
  for (const char* step : path) {
    if (!at->is_object() || !at->contains(step)) return {};
    at = &(*at)[step];
  }
  return *at;
}

std::string text_fact(const Json& fingerprint, std::initializer_list<const char*> path) {
  const Json value = fact(fingerprint, path);
  return value.is_string() ? value.get<std::string>() : "";
}

/// Returns a number of a fingerprint that counts something; empty if it is absent.
std::optional<std::uint64_t> number_fact(const Json& fingerprint,
                                         std::initializer_list<const char*> path) {
  const Json value = fact(fingerprint, path);
  const bool counts = value.is_number_integer() && value >= 0;
  return counts ? std::optional(value.get<std::uint64_t>()) : std::nullopt;
}

/// Returns "8 x AMD Instinct MI300X, 192 GiB, SPX/NPS1" for each kind of accelerator.
std::vector<std::string> accelerators_of(const Json& fingerprint) {
  std::vector<std::pair<std::string, std::size_t>> kinds;
  for (const Json& gpu : fact(fingerprint, {"accelerators"})) {
    std::string kind = text_fact(gpu, {"name"});
    if (kind.empty()) continue;
    if (const auto bytes = number_fact(gpu, {"memory_bytes"})) {
      kind += ", " + format_memory(*bytes);
    }
    const std::string mode = text_fact(gpu, {"compute_partition"});
    const std::string memory = text_fact(gpu, {"memory_partition"});
    if (!mode.empty()) kind += fmt::format(", {}{}{}", mode, memory.empty() ? "" : "/", memory);
    const auto known =
        std::ranges::find(kinds, kind, [](const auto& entry) { return entry.first; });
    if (known == kinds.end()) {
      kinds.emplace_back(std::move(kind), 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> lines;
  for (const auto& [kind, count] : kinds) {
    lines.push_back(count == 1 ? kind : fmt::format("{} \u00D7 {}", count, kind));
  }
  return lines;
}

std::vector<std::string> machine_lines(const Json& fingerprint) {
  std::vector<std::string> lines = accelerators_of(fingerprint), parts;
  const auto part = [&](const std::string& text, std::string_view before = "") {
    if (!text.empty()) parts.push_back(fmt::format("{}{}", before, text));
  };
  const auto end_line = [&] {
    if (!parts.empty()) lines.push_back(fmt::format("{}", fmt::join(parts, ", ")));
    parts.clear();
  };
  part(text_fact(fingerprint, {"cpu", "model"}));
  if (const auto cores = number_fact(fingerprint, {"cpu", "cores"})) part(counted(*cores, "core"));
  if (const auto bytes = number_fact(fingerprint, {"memory", "bytes"})) {
    part(format_memory(*bytes), "memory ");
  }
  end_line();
  const std::string name = text_fact(fingerprint, {"host", "name"});
  if (name != "(none)") part(name, "named ");  // Linux's name for a host that got none
  part(text_fact(fingerprint, {"host", "os"}));
  part(text_fact(fingerprint, {"host", "kernel"}), "Linux ");
  const std::string hypervisor = text_fact(fingerprint, {"virtualization", "hypervisor"});
  if (hypervisor != "none") part(hypervisor, "a virtual machine of ");
  end_line();
  return lines;
}

/// Returns the server that was loaded, as the records' notes describe it.
std::vector<std::string> server_lines(const std::vector<Record>& records) {
  std::vector<std::string> lines;
  for (const auto& [note, before] :
       {std::pair{"server", "Server: "}, {"spawn", "Started by: "}, {"url", "At: "}}) {
    const std::string* text = records.empty() ? nullptr : find_note(records.front(), note);
    const bool spawned = lines.size() == 2;  // at an address that means nothing to readers
    if (text != nullptr && !text->empty() && !spawned) lines.push_back(before + *text);
  }
  return lines;
}

/// Returns "a, b, c and 2 more".
std::string first_few(const std::vector<std::string>& texts) {
  constexpr std::size_t most_named = 3;
  const std::size_t named = std::min(most_named, texts.size());
  const std::size_t more = texts.size() - named;
  return fmt::format(
      "{}{}", fmt::join(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(named), ", "),
      more > 0 ? fmt::format(" and {} more", more) : "");
}

Card machine_card(const ReportInput& input) {
  Card card{"Machine", server_lines(input.environments.front().records)};
  std::set<std::string> devices;
  // Lines, each with the environments that it describes.
  std::vector<std::pair<std::string, std::vector<std::string>>> facts;
  std::size_t described = 0;
  for (const Environment& environment : input.environments) {
    const ResultSet& results = environment.results;
    for (const Unit& unit : results.units) devices.insert(unit.device);
    if (results.fingerprints.empty()) continue;
    ++described;
    for (std::string& line : machine_lines(results.fingerprints.front())) {
      const auto known =
          std::ranges::find(facts, line, [](const auto& fact) { return fact.first; });
      if (known == facts.end()) {
        facts.emplace_back(std::move(line), std::vector{results.name});
      } else {
        known->second.push_back(results.name);
      }
    }
  }
  for (const auto& [line, names] : facts) {
    card.lines.push_back(names.size() == described ? line : first_few(names) + ": " + line);
  }
  constexpr std::size_t most_lines = 6;
  if (card.lines.size() > most_lines) {
    const std::size_t more = card.lines.size() - most_lines;
    card.lines.resize(most_lines);
    card.lines.push_back(fmt::format("and {}: see Environments", counted(more, "more fact")));
  }
  devices.erase("");
  if (card.lines.empty() && !devices.empty()) {
    card.lines.push_back(fmt::format("{}", fmt::join(devices, ", ")));
  }
  if (card.lines.empty())
    card.lines.emplace_back("The results do not say where they were measured");
  return card;
}

/// Returns "2026-11-28, 10:01 to 10:05 UTC" or "2026-11-21 to 2026-11-23".
std::string time_of(const std::vector<Environment>& environments) {
  std::set<std::string> times;
  for (const Environment& environment : environments) {
    for (const Unit& unit : environment.results.units) times.insert(unit.time);
  }
  times.erase("");
  if (times.empty()) return {};
  constexpr std::size_t date = 10, minutes = 16;  // 2026-11-21T10:01
  const std::string &first = *times.begin(), &last = *times.rbegin();
  if (first.size() < minutes || last.size() < minutes) return first;
  if (first.substr(0, date) != last.substr(0, date)) {
    return fmt::format("{} to {}", first.substr(0, date), last.substr(0, date));
  }
  const std::string from = first.substr(date + 1, 5), to = last.substr(date + 1, 5);
  return fmt::format("{}, {}{} UTC", first.substr(0, date), from, from == to ? "" : " to " + to);
}

Card measured_card(const ReportInput& input) {
  Card card{"What was measured", {}};
  std::set<std::string> cells, benchmarks;
  std::size_t runs = 0;
  bool emulated = false;
  for (const Environment& environment : input.environments) {
    runs += environment.results.units.size();
    emulated = emulated || environment.results.emulated();
    for (const Series& series : environment.results.series) {
      cells.insert(series.key.cell);
      benchmarks.insert(series.benchmark);
    }
  }
  constexpr std::size_t most_named = 5;
  const std::string what = benchmarks.size() <= most_named
                               ? fmt::format("{}", fmt::join(benchmarks, ", "))
                               : counted(benchmarks.size(), "benchmark");
  // A metric of a cell counts as a cell where it has a verdict.
  const std::size_t count =
      input.comparisons.empty() ? cells.size() : input.comparisons.front().cells.size();
  card.lines.push_back(fmt::format("{}: {}", counted(count, "cell"), what));
  if (input.comparisons.empty()) {
    card.lines.push_back(counted(runs, "run"));
  } else {
    const Comparison& first = input.comparisons.front();
    card.lines.push_back(
        first.paired ? fmt::format("{} runs of each, in turns and a random order", first.units_a)
                     : fmt::format("{} and {}, not in turns", counted(first.units_a, "run"),
                                   counted(first.units_b, "run")));
    card.lines.push_back(
        fmt::format("Differences below {:.3g}% do not matter", 100 * first.rule.margin));
  }
  const std::string time = time_of(input.environments);
  if (!time.empty()) card.lines.push_back(time);
  if (emulated) {
    card.heading = "What was computed";
    card.lines.emplace_back("From a model: nothing was measured");
  }
  return card;
}

/// Returns whether A, measured twice, agrees with itself.
std::string control_line(const Comparison& comparison) {
  std::size_t quiet = 0, moved = 0;
  for (const CellComparison& cell : comparison.cells) {
    quiet += cell.control_state == Control::quiet ? 1 : 0;
    moved += cell.control_state == Control::moved ? 1 : 0;
  }
  if (quiet + moved == 0) return {};
  return moved == 0
             ? fmt::format("{}, measured twice, agrees with itself in {} of {}", comparison.name_a,
                           quiet, counted(comparison.cells.size(), "cell"))
             : fmt::format("{}, measured twice, differs from itself in {} of {}", comparison.name_a,
                           moved, counted(comparison.cells.size(), "cell"));
}

/// Names the cells that cannot be trusted, and those of which some figures are void.
void add_faults(const ResultSet& results, Card& card) {
  if (results.faults.empty() && results.voids.empty()) return;
  std::map<std::string, std::string> short_of;  // cell -> its short name
  std::vector<NamedCell> named;
  for (const Series& series : results.series) {
    if (short_of.emplace(series.key.cell, "").second) {
      named.push_back({series.benchmark, "", &series.axes});
    }
  }
  std::vector<std::string> names = short_names(named), faulty, partly, quantities;
  for (std::size_t i = 0, n = 0; i < results.series.size(); ++i) {
    std::string& name = short_of[results.series[i].key.cell];
    if (name.empty()) name = names[n++];
  }
  const auto name_of_cell = [&](const std::string& cell) {
    return short_of.contains(cell) ? short_of[cell] : cell;
  };
  for (const auto& [cell, fault] : results.faults) faulty.push_back(name_of_cell(cell));
  for (const auto& [cell, figures] : results.voids) {
    partly.push_back(name_of_cell(cell));
    for (const std::string& quantity : figures.quantities) {
      const bool known = std::ranges::find(quantities, quantity) != quantities.end();
      if (!known) quantities.push_back(quantity);
    }
  }
  if (!faulty.empty()) {
    card.lines.push_back(fmt::format("Cannot be trusted: {}", first_few(faulty)));
  }
  if (partly.empty()) return;
  card.lines.push_back(
      fmt::format("Void in part: {} ({})", first_few(partly), first_few(quantities)));
}

Card certainty_card(const ReportInput& input) {
  Card card{"How sure, and what disturbed it", {}};
  Disturbance disturbance;
  bool open = false, unpaired = false;
  std::vector<std::pair<std::string, std::vector<std::string>>> sides;  // by their counts
  for (const Comparison& comparison : input.comparisons) {
    const Verdict verdict = comparison.all.judgement.verdict;
    open = open || verdict == Verdict::inconclusive || verdict == Verdict::unstable;
    unpaired = unpaired || !comparison.paired;
    std::vector<std::string> counts;
    for (std::size_t i = 0; i < verdict_count; ++i) {
      const std::size_t count = comparison.all.counts[i];
      if (count > 0)
        counts.push_back(fmt::format("{} {}", count, name_of(static_cast<Verdict>(i))));
    }
    if (counts.empty()) continue;
    counts.back() += fmt::format(" of {}", counted(comparison.cells.size(), "cell"));
    const std::string text = fmt::format("{}", fmt::join(counts, ", "));
    const auto alike =
        std::ranges::find_if(sides, [&](const auto& one) { return one.first == text; });
    if (alike == sides.end()) {
      sides.push_back({text, {comparison.name_b}});
    } else {
      alike->second.push_back(comparison.name_b);
    }
  }
  for (const auto& [counts, names] : sides) {
    const std::string who = input.comparisons.size() == 1 ? "" : first_few(names) + ": ";
    card.lines.push_back(who + counts + (names.size() > 1 ? " each" : ""));
  }
  if (input.comparisons.size() == 1) {
    const Comparison& only = input.comparisons.front();
    const std::string bound = bound_sentence(only, only.name_a, only.name_b);
    // Without an interval of the mean, the bound is the answer.
    if (open && only.all.ratio95 && !bound.empty())
      card.lines.push_back(bound.substr(0, bound.size() - 1));
    if (std::string control = control_line(only); !control.empty()) card.lines.push_back(control);
  }
  if (unpaired) {
    card.lines.emplace_back(
        "Not measured in turns: drift cannot be told from a difference, so nothing can be EQUAL");
  }
  for (const Environment& environment : input.environments) {
    disturbance.add(environment.results.disturbance());
  }
  if (const std::string others = used_by_others(disturbance, "runs"); !others.empty()) {
    card.lines.push_back(capitalized(fmt::format(
        "{}: {}", others,
        input.comparisons.empty() ? "alone this machine is faster" : quieter_proves_more)));
  } else if (disturbance.watched > 0) {
    card.lines.push_back(
        fmt::format("Other programs and the hypervisor used at most {} of the CPUs' time",
                    format_share(disturbance.most)));
  }
  for (const Environment& environment : input.environments) add_faults(environment.results, card);
  if (input.comparisons.empty()) {
    const std::size_t runs = input.environments.front().results.units.size();
    if (runs == 1) card.lines.emplace_back("One run: its interval does not show how runs differ");
    if (runs > 1) {
      card.lines.push_back(
          runs < least_units
              ? fmt::format("{} runs: ranges show how they differ; {} runs give intervals", runs,
                            least_units)
              : fmt::format("{} runs: intervals show how they differ", runs));
    }
  }
  return card;
}

std::string fact_value(const Json& value) {
  if (value.is_null()) return "absent";
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct WantedPairs {
  std::size_t count = 0;
  bool enough = true;  ///< whether they would probably decide every cell
};

/// Returns how many pairs to measure, with those that there are: as many as the most uncertain cell
/// needs, but not more than four times those that there are, from which that need is estimated.
WantedPairs wanted_pairs(const Comparison& comparison) {
  std::size_t more = 0;
  for (const CellComparison& cell : comparison.cells) {
    more = std::max(more, cell.judgement.more_pairs);
  }
  const std::size_t pairs = std::max<std::size_t>(comparison.units_a, least_units);
  return {pairs + std::min(std::max(more, pairs), 3 * pairs), more > 0 && more <= 3 * pairs};
}

Card cause_card(const ReportInput& input) {
  // The comparison that needs an explanation most is the first one that is different, else the
  // first.
  const Comparison* comparison = &input.comparisons.front();
  for (const Comparison& one : input.comparisons) {
    if (is_different(one.all.judgement.verdict)) {
      comparison = &one;
      break;
    }
  }
  const Verdict verdict = comparison->all.judgement.verdict;
  const bool different = is_different(verdict);
  Card card{different ? "Likeliest cause" : "What differs, the likeliest cause first", {}};
  constexpr std::size_t most_named = 2;
  for (const Difference& difference : comparison->environment) {
    if (card.lines.size() == most_named || difference.likelihood == Likelihood::identity) break;
    card.lines.push_back(fmt::format("{}: {} in {}, {} in {} ({})", difference.path,
                                     fact_value(difference.a), comparison->name_a,
                                     fact_value(difference.b), comparison->name_b, difference.why));
  }
  const bool known = !card.lines.empty();
  if (!known) card.lines.emplace_back("No difference between the environments is known");
  const std::string again = fmt::format("assay campaign {0}/plan.yaml --out {0}", input.campaign);
  if (verdict == Verdict::equal) {
    card.lines.emplace_back("Nothing is to be done");
  } else if (verdict == Verdict::invalid) {
    card.lines.emplace_back("Each cell's reason says what to fix:");
    card.command = fmt::format("assay compare {}", input.operands);
  } else if (input.campaign.empty()) {
    card.lines.emplace_back(different ? "Every difference between the two:"
                                      : "Measured in turns, they can prove more:");
    card.command =
        different ? fmt::format("assay compare {} --all", input.operands) : "assay help campaigns";
  } else if (different) {
    card.lines.emplace_back(known ? "Remove the difference and measure again:"
                                  : "Measure again, which shows whether the result stays:");
    card.command = again + "-again";
  } else {
    const WantedPairs pairs = wanted_pairs(*comparison);
    card.lines.emplace_back(pairs.enough ? "More pairs would tell:"
                                         : "More pairs, which tell how many more are needed:");
    card.command = fmt::format("{} --pairs {}", again, pairs.count);
  }
  return card;
}

/// Returns what to try next about results that nothing is compared with.
Card next_card(const ReportInput& input, const std::vector<Panel>& panels) {
  const ReportKind kind = kind_of(input);
  if (kind == ReportKind::load) {
    return {"What to try next",
            {"The highest rate that keeps a latency target:"},
            "assay load --url URL --find-rate p99_ttft:200ms,mean_tpot:50ms"};
  }
  if (kind == ReportKind::scaling) {
    return {"What to try next",
            {"What the loss is made of, rank by rank: the chapter Scaling"},
            "assay doctor"};
  }
  if (kind == ReportKind::training) {
    return {"What to try next", {"What a step waits for on more devices:"}, "assay run scaling"};
  }
  Card card{"What to try next", {}};
  const std::vector<KeyFigure> figures = key_figures(panels);
  if (!figures.empty() && figures.front().share()) {
    const auto& [panel, mark] = figures.front();
    card.heading = "Furthest below its limit";
    card.lines.push_back(fmt::format("{} {}: {} of {} ({})", panel->benchmark, panel->metric,
                                     quantity_text(mark->centre.median, panel->unit),
                                     quantity_text(mark->roof->rate, panel->unit),
                                     mark->roof->source));
  }
  card.lines.emplace_back("Settings that make a machine slow:");
  card.command = "assay doctor";
  return card;
}

/// Returns how to measure the same again: a campaign by its plan, a suite or benchmark by its name.
std::optional<Card> repeat_card(const ReportInput& input) {
  Card card{"How to repeat it", {}};
  if (!input.campaign.empty()) {
    card.lines.emplace_back("The plan is in the campaign's folder:");
    card.command = fmt::format("assay campaign {0}/plan.yaml --out {0}-again", input.campaign);
    return card;
  }
  const ResultSet& first = input.environments.front().results;
  if (first.fingerprints.empty() || first.series.empty()) return std::nullopt;  // of others
  std::set<std::string> benchmarks;
  for (const Series& series : first.series) benchmarks.insert(series.benchmark);
  card.lines.emplace_back("Each cell by the settings in its name:");
  card.command = *benchmarks.begin() == "serving"
                     ? "assay load --url URL OPTION..."
                     : fmt::format("assay run {} AXIS=VALUE...", *benchmarks.begin());
  return card;
}

}  // namespace

std::vector<Card> cards_of(const ReportInput& input, const std::vector<Panel>& panels) {
  std::vector<Card> cards = {machine_card(input), measured_card(input), certainty_card(input),
                             compares(input) ? cause_card(input) : next_card(input, panels)};
  if (auto repeat = repeat_card(input)) cards.push_back(std::move(*repeat));
  return cards;
}

std::vector<std::string> notes_of(const ReportInput& input) {
  std::vector<std::string> problems;
  for (const Environment& environment : input.environments) {
    const ResultSet& results = environment.results;
    if (results.emulated()) {
      problems.push_back(
          fmt::format("{} is from an emulated device or a simulated server: its times and rates "
                      "come from a model; nothing was measured.",
                      results.name));
    }
    for (const auto& [cell, fault] : results.faults) {
      problems.push_back(fmt::format("{}: {}: {}", results.name, cell, fault));
    }
    if (!input.comparisons.empty()) continue;  // comparisons list these already
    for (const std::string& problem : results.problems) {
      problems.push_back(fmt::format("{}: {}", results.name, problem));
    }
  }
  for (const Comparison& comparison : input.comparisons) {
    problems.insert(problems.end(), comparison.problems.begin(), comparison.problems.end());
  }
  // Several comparisons share their baseline's problems.
  std::set<std::string> seen;
  std::erase_if(problems, [&](const std::string& problem) { return !seen.insert(problem).second; });
  std::vector<std::string> notes = kinds_of_problems(problems);
  constexpr std::size_t most_notes = 20;
  if (notes.size() > most_notes) {
    const std::size_t more = notes.size() - most_notes;
    notes.resize(most_notes);
    notes.push_back(
        fmt::format("And {}{}.", counted(more, "more note"),
                    input.comparisons.empty() ? "" : ": `assay compare --json` lists them all"));
  }
  return notes;
}

}  // namespace assay::report
