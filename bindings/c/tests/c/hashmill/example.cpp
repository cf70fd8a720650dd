// Use of hashmill.hpp in a C++ program.
#include <hashmill.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#define CHECK(condition) \
  do { if (!(condition)) { std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); std::exit(1); } } while (0)

template <class T>
T must(hashmill::result<T> result) {
  if (!result) std::printf("%u: %s\n", result.error().code(), result.error().text()), std::exit(1);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// A copy would convert to bool and store that as the value.
static_assert(!std::is_copy_constructible_v<hashmill::result<bool>> && std::is_move_constructible_v<hashmill::result<bool>>);

static void hashing() {
  auto pool = must(hashmill::pool::create(2));
  auto one = must(hashmill::hash("abc"));
  CHECK(one[0] == 0x64 && one[31] == 0x85);
  std::vector<hashmill::view> inputs = {"abc", "", std::string_view("\0", 1)};
  auto many = must(hashmill::hash_many(inputs, hm_blake3(), &pool));
  CHECK(many.size() == 3 && many[0] == one && many[1] != many[2]);
  auto hasher = must(hashmill::hasher::create(hm_blake3_derive(hm_str("a purpose"))));
  must(hasher.update("ab"));
  auto copy = must(hasher.clone());
  must(hasher.update("c"));
  hashmill::digest ours, theirs;
  must(hasher.finalize(ours));
  must(copy.finalize(theirs));
  CHECK(ours != theirs && ours == must(hashmill::hash("abc", hm_blake3_derive(hm_str("a purpose")))));
  auto wrong = hashmill::hash("abc", hm_blake3_keyed(hm_str("short")));
  CHECK(!wrong && wrong.error().code() == HM_ARGUMENT);
  auto files = must(hashmill::files::create());
  auto missing = files.hash("/nowhere/at/all");
  CHECK(!missing && missing.error().code() == HM_SYSTEM && missing.error().system() == 2);
  std::vector<hashmill::view> paths = {"/nowhere"};
  CHECK(hm_error_code(must(files.hash_many(paths))[0].error) == HM_SYSTEM);
}

static void passwords() {
  auto policy = must(hashmill::policy("owasp-19m"));
  policy.memory_kib = 64;
  auto passwords = must(hashmill::passwords::create(policy));
  auto stored = must(passwords.hash("sesame"));
  CHECK(stored.text().starts_with("$argon2id$"));
  CHECK(!must(passwords.verify("sesame", stored)));
  auto other = passwords.verify("please", stored);
  CHECK(!other && other.error().code() == HM_MISMATCH);
  std::vector<hashmill::view> words = {"sesame", "please"}, strings = {stored, stored};
  auto verdicts = must(passwords.verify_many(words, strings));
  CHECK(verdicts.size() == 2 && !verdicts[0].error && hm_error_code(verdicts[1].error) == HM_MISMATCH);
}

static void documents() {
  auto ours = must(hashmill::document::create());
  auto text = must(ours.put_object(hashmill::root, "text", HM_KIND_TEXT));
  must(ours.splice_text(text, 0, 0, "Hello"));
  auto before = must(ours.heads());
  auto theirs = must(ours.fork());
  must(theirs.splice_text(text, 5, 0, " you"));
  must(theirs.put(hashmill::root, "count", hm_counter(1)));
  must(theirs.mark(text, 0, 5, HM_EXPAND_AFTER, "bold", hm_boolean(true)));
  must(ours.merge(theirs));
  CHECK(must(ours.text(text)).text() == "Hello you" && must(ours.text(text, &before)).text() == "Hello");
  CHECK(must(ours.marks(text)).size() == 1);
  std::string keys;
  for (const hm_item &item : must(ours.map())) keys += std::string(hashmill::text_of(item.key)) + ",";
  for (const hm_item &item : *ours.map()) keys += std::string(hashmill::text_of(item.key)) + ",";
  CHECK(keys == "count,text,count,text,");
  auto list = must(ours.put_object(hashmill::root, "list", HM_KIND_LIST));
  must(ours.insert(list, 0, hm_int(7)));
  must(ours.replace(list, 0, hm_int(8)));
  CHECK(must(ours.at_index(list, 0))[0].value.integer == 8);
  auto beyond = ours.insert(list, 9, hm_null());
  CHECK(!beyond && beyond.error().code() == HM_RANGE);
  CHECK(must(ours.changes(&before)).size() > 0);
  auto after = must(ours.heads());
  CHECK(!must(ours.diff(before, after)).empty());
  auto peer = must(hashmill::document::load(must(theirs.save())));
  auto here = must(hashmill::sync_state::create()), there = must(hashmill::sync_state::create());
  for (bool more = true; more;) {
    auto message = must(ours.message_for(here));
    if (message) must(peer.receive(there, *message));
    auto answer = must(peer.message_for(there));
    if (answer) must(ours.receive(here, *answer));
    more = message || answer;
  }
  CHECK(must(peer.elements(list)).size() == 1);
}

static void rich() {
  hm_doc_options options{};
  options.actor = hm_str("one of us");
  auto doc = must(hashmill::document::create(&options));
  auto text = must(doc.put_object(hashmill::root, "text", HM_KIND_TEXT));
  must(doc.splice_text(text, 0, 0, "Hello you"));
  CHECK(must(doc.pending_ops()) > 0 && must(doc.actor()).text() == "one of us");
  must(doc.commit_by("Ada", "begin", 5));
  CHECK(must(doc.author_of("one of us"))->text() == "Ada" && !must(doc.author_of("nobody")));
  auto then = must(doc.heads());
  auto first = must(doc.diff_incremental());
  CHECK(!first.empty() && must(doc.diff_incremental()).empty());
  auto block = must(doc.split_block(text, 5));
  auto parts = must(doc.parts(text));
  CHECK(parts.size() == 3 && hashmill::same(parts[1].block, block));
  auto way = must(doc.path(block));
  CHECK(way.size() == 2 && way[1].in_list && way[1].index == 5);
  auto patches = must(doc.diff_incremental());
  CHECK(must(hashmill::path_of(patches, 0)).size() == 1 && !hashmill::path_of(patches, 99));
  auto other = must(doc.replace_block(text, 5));
  CHECK(!hashmill::same(other, block) && hashmill::same(other, must(hashmill::object_id::parse(must(other.text())))));
  auto own = must(hashmill::object_id::copy_of(must(doc.parts(text))[1].block));
  CHECK(hashmill::same(own, other) && must(doc.kind(own)) == HM_KIND_MAP && must(doc.size(own)) == 0);
  must(doc.join_block(text, 5));
  must(doc.mark(text, 0, 5, HM_EXPAND_NONE, "bold", hm_boolean(true)));
  CHECK(must(doc.marks_at(text, 1)).size() == 1 && must(doc.marks_at(text, 6)).empty());
  must(doc.unmark(text, 0, 5, HM_EXPAND_NONE, "bold"));
  auto place = must(doc.cursor(text, 6));
  auto end = must(doc.cursor(text, HM_CURSOR_END));
  must(doc.splice_text(text, 0, 0, "> "));
  CHECK(must(doc.position(text, place)) == 8 && must(doc.position(text, end)) == 11);
  CHECK(must(doc.position(text, must(hashmill::cursor::parse(must(place.text()))))) == 8);
  auto list = must(doc.put_object(hashmill::root, "list", HM_KIND_LIST));
  const std::vector<hm_value> values = {hm_counter(1), hm_int(2)};
  must(doc.splice(list, 0, 0, values));
  must(doc.increment_at(list, 0, 4));
  CHECK(must(doc.all_at_index(list, 0))[0].value.integer == 5 && must(doc.all_at(hashmill::root, "list")).size() == 1);
  must(doc.replace_object(list, 1, HM_KIND_MAP));
  must(doc.isolate(then));
  CHECK(must(doc.text(text)).text() == "Hello you");
  must(doc.integrate());
  must(doc.set_actor("another"));
  must(doc.empty_change("seen"));
  auto last = must(doc.last_local_change());
  CHECK(last.size() == 1 && must(doc.change(last[0].hash)).size() == 1 && last[0].operations == 0);
  const std::vector<hashmill::view> chunks = {last[0].bytes};
  CHECK(must(hashmill::decode_changes(chunks))[0].seq == 1);
  auto empty = must(hashmill::document::create());
  must(empty.apply_changes(chunks));
  CHECK(must(empty.missing_deps()).size() == 1 && must(empty.changes_added(doc)).size() > 1);
  CHECK(must(doc.save_after(then)).span().size() > 0 && must(doc.save_nocompress()).span().size() > 0);
}

static void messages() {
  auto doc = must(hashmill::document::create()), peer = must(hashmill::document::create());
  must(doc.put(hashmill::root, "a", hm_int(1)));
  auto here = must(hashmill::sync_state::create()), there = must(hashmill::sync_state::create());
  CHECK(!must(here.their_heads()));
  must(there.set_read_only(true));
  auto answer = must(peer.message_for(there));
  CHECK(must(doc.receive_telling(here, *answer)).empty() && must(here.is_peer_read_only()) && must(here.their_heads()));
  auto message = must(doc.message_for(here));
  auto said = must(hashmill::sync_message::decode(*message));
  CHECK(said.heads().size() == 1 && said.needs().empty() && !said.haves().empty() && !said.read_only() && !said.reset());
  CHECK(must(here.last_sent_heads()).size() == 1 && must(here.shared_heads()).empty() && said.changes().empty());
  auto again = must(hashmill::sync_state::decode(must(here.encode())));
  CHECK(must(again.shared_heads()).empty());
}

static void stopping() {
  auto policy = must(hashmill::policy("owasp-19m"));
  policy.memory_kib = 64;
  auto passwords = must(hashmill::passwords::create(policy));
  auto stop = must(hashmill::stop::create());
  auto stored = must(passwords.hash_until(stop, "sesame"));
  CHECK(!must(passwords.verify_until(stop, "sesame", stored)));
  stop.set();
  auto stopped = passwords.verify_until(stop, "sesame", stored);
  CHECK(!stopped && stopped.error().code() == HM_STOPPED);
  stop.clear();
  auto nobody = passwords.verify_dummy("sesame");
  CHECK(!nobody && nobody.error().code() == HM_MISMATCH);
  std::array<std::uint8_t, 4> secret = {1, 2, 3, 4};
  must(hashmill::wipe(secret));
  CHECK(secret == (std::array<std::uint8_t, 4>{}));
}

int main() {
  hashing();
  rich();
  messages();
  stopping();
  passwords();
  documents();
  std::puts("done");
}
