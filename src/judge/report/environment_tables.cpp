#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/json.h"
#include "judge/report/number_text.h"
#include "judge/report/tables.h"
#include "results/record/sample.h"

namespace assay::report {
namespace {

std::string fact_text(const Json& value) {
  if (value.is_null()) return "absent";
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Leaves of nested objects as "cpu.model"; lists are shown whole.
void add_facts(const Json& json, const std::string& path, Table& table) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      add_facts(value, path.empty() ? key : path + "." + key, table);
    }
    return;
  }
  table.rows.push_back({path, fact_text(json)});
}

/// "precision 40, time_box 2"
std::string counts_text(const std::map<std::string, std::size_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!word.empty()) text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

/// How the records of one environment were measured.
struct Methods {
  std::map<std::string, std::size_t> status, stops, clocks, caches, checks;
  std::set<std::string> tools;
  std::size_t least = 0, most = 0, samples = 0, throttled = 0;
};

Methods methods_of(const std::vector<Record>& records) {
  Methods methods;
  for (const Record& record : records) {
    ++methods.status[std::string(name_of(record.status))];
    if (record.source) {
      methods.tools.insert(record.source->version.empty()
                               ? record.source->tool
                               : record.source->tool + " " + record.source->version);
    }
    if (record.verification && record.verification->passed) {
      ++methods.checks[record.verification->method];
    }
    if (!record.samples || record.samples->samples.empty()) continue;
    const std::size_t n = record.samples->samples.size();
    methods.least = methods.least == 0 ? n : std::min(methods.least, n);
    methods.most = std::max(methods.most, n);
    methods.samples += n;
    ++methods.stops[std::string(name_of(record.samples->stop))];
    ++methods.clocks[std::string(name_of(record.samples->time_source))];
    ++methods.caches[std::string(name_of(record.samples->cache_state))];
    for (const Sample& sample : record.samples->samples) methods.throttled += sample.throttled;
  }
  return methods;
}

/// Member `key` of an object in an untrusted fingerprint, as text.
std::string member(const Json& json, const char* section, const char* key) {
  if (!json.is_object() || !json.contains(section) || !json[section].is_object()) return {};
  const Json& object = json[section];
  return object.contains(key) ? fact_text(object[key]) : std::string();
}

}  // namespace

Table difference_table(const Comparison& comparison) {
  Table table;
  table.caption = fmt::format("Differences between {} (A) and {} (B), the likeliest cause first",
                              comparison.name_a, comparison.name_b);
  table.columns = {{"likelihood", "likely"},
                   {"fact", "fact"},
                   {"a", "A: " + comparison.name_a},
                   {"b", "B: " + comparison.name_b},
                   {"why", "acts on"}};
  for (const Difference& difference : comparison.environment) {
    table.rows.push_back({std::string(name_of(difference.likelihood)), difference.path,
                          fact_text(difference.a), fact_text(difference.b), difference.why});
  }
  return table;
}

Table fact_table(const ResultSet& results) {
  Table table;
  table.caption = "Environment of " + results.name;
  table.raw = true;
  table.columns = {{"fact", "fact"}, {"value", "value"}};
  if (!results.fingerprints.empty()) add_facts(results.fingerprints.front(), "", table);
  return table;
}

Table method_table(const std::vector<Environment>& environments) {
  Table table;
  table.caption = "How each environment was measured";
  table.columns = {{"what", "what"}};
  std::vector<std::pair<std::string, std::vector<std::string>>> rows;
  const auto put = [&](const std::string& what, std::size_t environment, std::string text) {
    if (text.empty()) return;
    auto row =
        std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.first == what; });
    if (row == rows.end()) {
      row = rows.insert(rows.end(), {what, std::vector<std::string>(environments.size())});
    }
    row->second[environment] = std::move(text);
  };
  for (std::size_t i = 0; i < environments.size(); ++i) {
    const ResultSet& set = environments[i].results;
    table.columns.push_back({fmt::format("environment_{}", i + 1), set.name});
    std::set<std::string> devices, fingerprints;
    for (const Unit& unit : set.units) {
      devices.insert(unit.device);
      if (!unit.fingerprint.empty()) fingerprints.insert(unit.fingerprint);
    }
    put("devices", i, joined(devices));
    put("runs", i, fmt::format("{}", set.units.size()));
    if (!set.units.empty() && !set.units.front().time.empty()) {
      put("first and last run", i, set.units.front().time + " \u2013 " + set.units.back().time);
    }
    put("fingerprint", i, joined(fingerprints));
    if (!set.fingerprints.empty()) {
      const Json& facts = set.fingerprints.front();
      const std::string version = member(facts, "assay", "version");
      if (!version.empty()) {
        put("measured by", i, fmt::format("assay {} ({})", version, member(facts, "assay", "git")));
      }
    }
    const Methods methods = methods_of(environments[i].records);
    if (!methods.tools.empty()) put("measured by", i, joined(methods.tools));
    if (environments[i].records.empty()) continue;
    put("records", i, counts_text(methods.status));
    if (methods.samples == 0) continue;
    put("samples per cell", i,
        methods.least == methods.most ? fmt::format("{}", methods.least)
                                      : fmt::format("{} to {}", methods.least, methods.most));
    put("sampling ended by", i, counts_text(methods.stops));
    put("timed by", i, counts_text(methods.clocks));
    put("caches", i, counts_text(methods.caches));
    put("throttled samples, kept", i, fmt::format("{} of {}", methods.throttled, methods.samples));
    put("results verified by", i, counts_text(methods.checks));
  }
  for (auto& [what, texts] : rows) {
    std::vector<Field> row = {what};
    for (std::string& text : texts) row.emplace_back(std::move(text));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace assay::report
