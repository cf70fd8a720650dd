// What a program in C++ does with hashmill.hpp.
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

// A copy would ask whether there is a value, and take the answer for one.
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

int main() {
  hashing();
  passwords();
  documents();
  std::puts("done");
}
