#include "model/data/instruction_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "compute/device/cache_folder.h"
#include "compute/device/kernel_cache.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/json_text.h"
#include "core/read_file.h"
#include "core/shown_text.h"
#include "core/text.h"
#include "model/data/chat_template.h"
#include "model/tokenizer/tokenizer.h"

namespace assay {
namespace {

constexpr std::size_t most_named = 10;         // damaged rows
constexpr std::size_t longest_row = 16 << 20;  // bytes
constexpr std::size_t most_data = std::size_t{4} << 30;

Error bad_row(std::string why) {
  return {ErrorKind::usage, std::move(why)};
}

/// The text of a member; nullopt if it is absent or null. Error: it is no text.
Result<std::optional<std::string>> text_member(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::optional<std::string>();
  if (!found->is_string()) return bad_row(fmt::format("\"{}\" is no text", key));
  return std::optional(found->get<std::string>());
}

Result<std::vector<ChatMessage>> messages_in(const Json& list) {
  if (!list.is_array()) return bad_row("\"messages\" is no list");
  std::vector<ChatMessage> messages;
  for (const Json& one : list) {
    if (!one.is_object()) return bad_row("a message is no object");
    auto role = TRY(text_member(one, "role"));
    auto content = TRY(text_member(one, "content"));
    if (!role || !content) return bad_row("a message has no \"role\" or no \"content\"");
    if (*role != "system" && *role != "user" && *role != "assistant") {
      return bad_row(
          fmt::format("the role {} is none of system, user and assistant", shown_line(*role, 40)));
    }
    messages.push_back({std::move(*role), std::move(*content)});
  }
  return messages;
}

/// Turns rows into tokens. May be used by several threads.
class RowReader {
 public:
  /// `chat_template` may be an error, which is one of the file once a row needs the template.
  RowReader(const Tokenizer& tokenizer, const Result<ChatTemplate>& chat_template, bool loss_on_all)
      : tokenizer_(&tokenizer), template_(&chat_template), loss_on_all_(loss_on_all) {
    for (const char* written : {"<|endoftext|>", "<|end_of_text|>", "</s>"}) {
      if (end_of_text_.empty() && tokenizer.find(written)) end_of_text_ = written;
    }
  }

  /// Appends a document, or nothing if there is an error.
  Status read(std::string_view line, Documents& to) const {
    if (line.size() > longest_row) {
      return bad_row(fmt::format("it has {} bytes, allowed are {}", line.size(), longest_row));
    }
    const Json row = TRY(parse_json(line));
    if (!row.is_object()) return bad_row("it is no JSON object");
    if (const auto messages = row.find("messages"); messages != row.end()) {
      return add_conversation(TRY(messages_in(*messages)), to);
    }
    if (const auto instruction = TRY(text_member(row, "instruction"))) {
      const auto input = TRY(text_member(row, "input"));
      const auto output = TRY(text_member(row, "output"));
      if (!output) return bad_row("has an \"instruction\" and no \"output\"");
      if (!template_->ok()) return {};
      return add_conversation((*template_)->conversation(*instruction, input.value_or(""), *output),
                              to);
    }
    if (const auto text = TRY(text_member(row, "text"))) {
      if (text->empty()) return bad_row("its \"text\" is empty");
      to.add(tokenizer_->begin(), true);
      to.add(tokenizer_->encode(*text + end_of_text_), true);
      to.end_document();
      return {};
    }
    return bad_row("has none of \"messages\", \"instruction\" and \"text\"");
  }

 private:
  Status add_conversation(const std::vector<ChatMessage>& messages, Documents& to) const {
    if (std::ranges::none_of(messages, [](const ChatMessage& message) {
          return message.role == "assistant" && !message.content.empty();
        })) {
      return bad_row("has no reply");
    }
    if (!template_->ok()) return {};
    const std::vector<ChatPart> parts = (*template_)->render(messages, end_of_text_);
    // Llama 3's template writes the token that begins a text itself.
    std::vector<std::int32_t> begin = tokenizer_->begin();
    const std::vector<std::int32_t> first = tokenizer_->encode(parts.front().text);
    if (first.size() >= begin.size() && std::equal(begin.begin(), begin.end(), first.begin())) {
      begin.clear();
    }
    to.add(begin, loss_on_all_);
    // Each part is encoded alone, as the prompt of a server is: no token spans a prompt's end.
    for (const ChatPart& part : parts) {
      to.add(tokenizer_->encode(part.text), loss_on_all_ || part.is_reply);
    }
    to.end_document();
    return {};
  }

  const Tokenizer* tokenizer_;
  const Result<ChatTemplate>* template_;
  bool loss_on_all_;
  std::string end_of_text_;
};

struct Row {
  std::size_t number = 0;  // from 1
  std::string_view text;
};

std::vector<Row> rows_in(std::string_view data) {
  std::vector<Row> rows;
  for (std::size_t number = 1; !data.empty(); ++number) {
    const std::size_t end = data.find('\n');
    const std::string_view line = trim(data.substr(0, end));
    if (!line.empty()) rows.push_back({number, line});
    data.remove_prefix(end == std::string_view::npos ? data.size() : end + 1);
  }
  return rows;
}

InstructionDocuments read_rows(std::span<const Row> rows, const RowReader& reader) {
  InstructionDocuments read;
  for (const Row& row : rows) {
    const Status status = reader.read(row.text, read.documents);
    if (status.ok()) continue;
    if (++read.damaged <= static_cast<std::int64_t>(most_named)) {
      read.first_damaged.push_back(fmt::format("line {}: {}", row.number, status.error().message));
    }
  }
  return read;
}

void append(InstructionDocuments& all, const InstructionDocuments& more) {
  Documents& documents = all.documents;
  const std::uint64_t before = documents.tokens.size();
  documents.tokens.insert(documents.tokens.end(), more.documents.tokens.begin(),
                          more.documents.tokens.end());
  documents.has_loss.insert(documents.has_loss.end(), more.documents.has_loss.begin(),
                            more.documents.has_loss.end());
  for (const std::uint64_t end : more.documents.ends) documents.ends.push_back(before + end);
  all.damaged += more.damaged;
  for (const std::string& damaged : more.first_damaged) {
    if (all.first_damaged.size() < most_named) all.first_damaged.push_back(damaged);
  }
}

/// Reads the rows by several threads: a tokenizer alone takes minutes for the largest files.
InstructionDocuments read_rows_in_parallel(std::span<const Row> rows, const RowReader& reader) {
  constexpr std::size_t most_threads = 16, least_rows = 256;
  const std::size_t count = std::clamp<std::size_t>(
      std::min<std::size_t>(std::thread::hardware_concurrency(), rows.size() / least_rows), 1,
      most_threads);
  std::vector<InstructionDocuments> parts(count);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t begin = rows.size() * i / count, end = rows.size() * (i + 1) / count;
      threads.emplace_back([&parts, &reader, rows, i, begin, end] {
        parts[i] = read_rows(rows.subspan(begin, end - begin), reader);
      });
    }
  }
  InstructionDocuments all;
  for (const InstructionDocuments& part : parts) append(all, part);
  return all;
}

template <typename T>
void write_values(std::string& to, const std::vector<T>& values) {
  const std::uint64_t count = values.size();
  to.append(reinterpret_cast<const char*>(&count), sizeof count);
  to.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

template <typename T>
bool read_values(std::string_view& from, std::vector<T>& values) {
  std::uint64_t count = 0;
  if (from.size() < sizeof count) return false;
  std::memcpy(&count, from.data(), sizeof count);
  from.remove_prefix(sizeof count);
  if (count > from.size() / sizeof(T)) return false;
  values.resize(static_cast<std::size_t>(count));
  const std::size_t bytes = values.size() * sizeof(T);
  if (bytes > 0) std::memcpy(values.data(), from.data(), bytes);
  from.remove_prefix(bytes);
  return true;
}

std::string as_bytes(const InstructionDocuments& read) {
  std::string bytes;
  write_values(bytes, read.documents.tokens);
  write_values(bytes, read.documents.has_loss);
  write_values(bytes, read.documents.ends);
  write_values(bytes, std::vector{read.damaged});
  for (const std::string& damaged : read.first_damaged) {
    write_values(bytes, std::vector(damaged.begin(), damaged.end()));
  }
  return bytes;
}

/// Nullopt, if they are not what as_bytes() wrote.
std::optional<InstructionDocuments> from_bytes(std::string_view bytes, std::int64_t vocabulary) {
  InstructionDocuments read;
  read.from_cache = true;
  Documents& documents = read.documents;
  std::vector<std::int64_t> damaged;
  if (!read_values(bytes, documents.tokens) || !read_values(bytes, documents.has_loss) ||
      !read_values(bytes, documents.ends) || !read_values(bytes, damaged) || damaged.size() != 1) {
    return std::nullopt;
  }
  read.damaged = damaged.front();
  while (!bytes.empty()) {
    std::vector<char> text;
    if (!read_values(bytes, text)) return std::nullopt;
    read.first_damaged.emplace_back(text.begin(), text.end());
  }
  const bool fits =
      documents.has_loss.size() == documents.tokens.size() && !documents.ends.empty() &&
      documents.ends.back() == documents.tokens.size() && std::ranges::is_sorted(documents.ends) &&
      std::ranges::all_of(documents.tokens,
                          [&](std::int32_t token) { return token >= 0 && token < vocabulary; });
  if (!fits) return std::nullopt;
  return read;
}

/// Removes the oldest files of a cache's folder until at most `most` bytes are left.
void remove_oldest(const std::filesystem::path& folder, std::uint64_t most) {
  struct Entry {
    std::filesystem::file_time_type time;
    std::filesystem::path path;
    std::uint64_t bytes;
  };
  std::vector<Entry> entries;
  std::uint64_t all = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code gone;
    const std::uint64_t bytes = at->file_size(gone);
    const auto time = at->last_write_time(gone);
    if (gone) continue;
    entries.push_back({time, at->path(), bytes});
    all += bytes;
  }
  std::ranges::sort(entries, {}, &Entry::time);
  for (const Entry& entry : entries) {
    if (all <= most) return;
    std::filesystem::remove(entry.path, failed);
    all -= entry.bytes;
  }
}

Result<Tokenizer> tokenizer_of(const InstructionSettings& settings) {
  Tokenizer tokenizer =
      settings.model.empty() ? Tokenizer::bytes() : TRY(Tokenizer::load(settings.model));
  if (tokenizer.vocabulary() > settings.vocabulary) {
    return Error{
        ErrorKind::usage,
        fmt::format("{}: the tokenizer has {} tokens and the model {}; give a model and "
                    "its own tokenizer",
                    settings.model.empty() ? "a token for each byte" : settings.model.string(),
                    tokenizer.vocabulary(), settings.vocabulary)};
  }
  return tokenizer;
}

Result<ChatTemplate> template_of(const InstructionSettings& settings, const Tokenizer& tokenizer) {
  const bool of_model = settings.chat_template.empty() && !settings.model.empty();
  const ChatTemplate found =
      TRY(of_model ? ChatTemplate::of_model(settings.model)
                   : ChatTemplate::named(settings.chat_template.empty() ? "alpaca"
                                                                        : settings.chat_template));
  TRY(found.check(tokenizer));
  return found;
}

}  // namespace

std::filesystem::path instruction_cache_folder() {
  const std::string folder = cache_folder();
  return folder.empty() ? std::filesystem::path() : std::filesystem::path(folder) / "documents";
}

Result<InstructionDocuments> read_instructions(const InstructionSettings& settings) {
  constexpr std::size_t most_tokenizer = 256 << 20;
  const std::string data = TRY(read_operand(settings.file, most_data));
  const Tokenizer tokenizer = TRY(tokenizer_of(settings));
  const Result<ChatTemplate> chat_template = template_of(settings, tokenizer);
  std::string tokenizer_text;
  if (!settings.model.empty()) {
    tokenizer_text = TRY(read_operand(settings.model / "tokenizer.json", most_tokenizer));
  }
  const std::vector<std::string> key_parts = {
      "instructions 1", sha256_hex(data), sha256_hex(tokenizer_text),
      chat_template.ok() ? chat_template->key() : "", settings.loss_on_all ? "all" : "replies"};
  const std::string key = hash_of_parts(key_parts);
  const KernelCache cache(settings.cache);  // which keeps any bytes, not only kernels
  if (const auto bytes = cache.load(key)) {
    if (auto kept = from_bytes(*bytes, settings.vocabulary)) {
      std::error_code ignored;  // an entry that is used is the youngest
      std::filesystem::last_write_time(settings.cache / key,
                                       std::filesystem::file_time_type::clock::now(), ignored);
      return std::move(*kept);
    }
  }
  const std::vector<Row> rows = rows_in(data);
  const RowReader reader(tokenizer, chat_template, settings.loss_on_all);
  InstructionDocuments read = read_rows_in_parallel(rows, reader);
  const auto good = rows.size() - static_cast<std::size_t>(read.damaged);
  if (good == 0) {
    return Error{ErrorKind::usage,
                 fmt::format("{}: {}; a row is a JSON object with \"messages\", with "
                             "\"instruction\" and \"output\", or with \"text\"",
                             settings.file.string(),
                             rows.empty() ? "holds no rows"
                                          : fmt::format("no row can be used, {}",
                                                        read.first_damaged.front()))};
  }
  // Rows that need the template have left no document.
  if (read.documents.count() < good) return chat_template.error();
  if (std::string bytes = as_bytes(read); bytes.size() <= settings.most_cached / 2) {
    cache.store(key, bytes);
    remove_oldest(settings.cache, settings.most_cached);
  }
  return read;
}

}  // namespace assay
