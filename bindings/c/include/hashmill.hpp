// Hashmill for C++20: hashmill.h with owning classes, spans and results. Header only; link the libraries of hashmill.h.
//
// A function that can fail returns a result: a value or an error, with the common members of std::expected. It is the same type
// in every standard, so units compiled as C++20 and as C++23 may be linked into one program. Owning classes free their handles,
// in any order. hashmill.h documents the functions, and which of them may run at the same time.
#ifndef HASHMILL_HPP
#define HASHMILL_HPP

#include "hashmill.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hashmill {

namespace detail {
template <auto free_of>
struct deleter {
  template <class T>
  void operator()(T *handle) const noexcept { free_of(handle); }
};
template <class T, auto free_of>
using owner = std::unique_ptr<T, deleter<free_of>>;
}  // namespace detail

// An error.
class error {
 public:
  explicit error(hm_error *handle) noexcept : handle_(handle) {}
  hm_code code() const noexcept { return hm_error_code(handle_.get()); }
  const char *text() const noexcept { return hm_error_text(handle_.get()); }
  std::uint64_t place() const noexcept { return hm_error_place(handle_.get()); }
  int system() const noexcept { return hm_error_system(handle_.get()); }

 private:
  detail::owner<hm_error, hm_error_free> handle_;
};

struct failure {
  explicit failure(hashmill::error error) noexcept : error(std::move(error)) {}
  hashmill::error error;
};

// A value or an error. std::expected is not used, even if the standard library has it: the functions below would then return
// different types under the same linker name in each standard, and a program of both would confuse them.
template <class T>
class [[nodiscard]] result {
  using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

 public:
  result() requires std::is_void_v<T> = default;
  template <class U = T>
    // A result is not a value of another result, although it converts to bool.
    requires(!std::is_void_v<T> && !std::is_same_v<std::remove_cvref_t<U>, result> && std::is_constructible_v<stored, U>)
  result(U &&value) : either_(std::in_place_index<0>, std::forward<U>(value)) {}
  result(failure failure) : either_(std::in_place_index<1>, std::move(failure.error)) {}

  bool has_value() const noexcept { return either_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  // Throws std::bad_variant_access if there is no value, or no error.
  stored &value() & { return std::get<0>(either_); }
  const stored &value() const & { return std::get<0>(either_); }
  stored value() && { return std::get<0>(std::move(either_)); }
  const hashmill::error &error() const & { return std::get<1>(either_); }
  hashmill::error &&error() && { return std::get<1>(std::move(either_)); }
  stored &operator*() & { return value(); }
  const stored &operator*() const & { return value(); }
  // The value itself, not a reference: before C++23 a loop over `*a_call()` destroys the result before its first iteration.
  stored operator*() && { return std::move(*this).value(); }
  stored *operator->() { return &value(); }
  const stored *operator->() const { return &value(); }

 private:
  std::variant<stored, hashmill::error> either_;
};

// Bytes or text of the caller.
class view {
 public:
  view() noexcept : span_{nullptr, 0} {}
  view(std::string_view text) noexcept : span_(hm_span_of(text.data(), text.size())) {}
  view(const char *text) noexcept : span_(hm_str(text)) {}
  view(const std::string &text) noexcept : view(std::string_view(text)) {}
  view(std::span<const std::byte> bytes) noexcept : span_(hm_span_of(bytes.data(), bytes.size())) {}
  view(std::span<const std::uint8_t> bytes) noexcept : span_(hm_span_of(bytes.data(), bytes.size())) {}
  view(hm_span span) noexcept : span_(span) {}
  operator hm_span() const noexcept { return span_; }

 private:
  hm_span span_;
};

inline std::string_view text_of(hm_span span) noexcept { return {reinterpret_cast<const char *>(span.data), span.len}; }
inline std::span<const std::uint8_t> bytes_of(hm_span span) noexcept { return {span.data, span.len}; }

// The elements of a C list, valid for the lifetime of this object.
template <class List, class Item, auto free_of>
class list {
 public:
  explicit list(List *handle) noexcept : handle_(handle) {}
  std::span<const Item> items() const & noexcept { return {handle_->items, handle_->len}; }
  // Deleted: a loop over a temporary would use freed memory.
  std::span<const Item> items() const && = delete;
  auto begin() const noexcept { return items().begin(); }
  auto end() const noexcept { return items().end(); }
  std::size_t size() const noexcept { return handle_->len; }
  bool empty() const noexcept { return size() == 0; }
  const Item &operator[](std::size_t place) const noexcept { return handle_->items[place]; }
  const List *get() const noexcept { return handle_.get(); }

 private:
  detail::owner<List, free_of> handle_;
};

using items = list<hm_items, hm_item, hm_items_free>;
using marks = list<hm_marks, hm_mark, hm_marks_free>;
using changes = list<hm_changes, hm_change, hm_changes_free>;
using patches = list<hm_patches, hm_patch, hm_patches_free>;
using hashes = list<hm_hashes, hm_change_hash, hm_hashes_free>;
using path = list<hm_path, hm_step, hm_path_free>;
using parts = list<hm_parts, hm_part, hm_parts_free>;
using verdicts = list<hm_verdicts, hm_verdict, hm_verdicts_free>;
using file_digests = list<hm_file_digests, hm_file_digest, hm_file_digests_free>;

// Bytes that a function returned.
class bytes {
 public:
  explicit bytes(hm_bytes *handle) noexcept : handle_(handle) {}
  // Valid for the lifetime of this object.
  std::span<const std::uint8_t> span() const noexcept { return {handle_->data, handle_->len}; }
  std::string_view text() const noexcept { return text_of(hm_view(handle_.get())); }
  operator view() const noexcept { return hm_view(handle_.get()); }

 private:
  detail::owner<hm_bytes, hm_bytes_free> handle_;
};

namespace detail {
inline result<void> checked(hm_error *error) {
  if (error) return failure(hashmill::error(error));
  return {};
}

// The result of a call through its last pointer.
template <class Out, class Raw, class Call>
result<Out> made(Call &&call) {
  Raw *raw = nullptr;
  if (hm_error *error = call(&raw)) return failure(hashmill::error(error));
  return Out(raw);
}
// The result of a call through its last pointer, if it is not a handle.
template <class Out, class Call>
result<Out> told(Call &&call) {
  Out out{};
  if (hm_error *error = call(&out)) return failure(hashmill::error(error));
  return out;
}
// The same, or nullopt if the result is NULL.
template <class Out, class Raw, class Call>
result<std::optional<Out>> perhaps(Call &&call) {
  Raw *raw = nullptr;
  if (hm_error *error = call(&raw)) return failure(hashmill::error(error));
  std::optional<Out> out;
  if (raw) out.emplace(raw);
  return out;
}
inline const hm_hashes *at(const hashes *heads) noexcept { return heads ? heads->get() : nullptr; }
}  // namespace detail

using digest = std::array<std::uint8_t, 32>;

// A pool of threads that work for its callers.
class pool {
 public:
  static result<pool> create(std::uint32_t threads = 0) {
    return detail::made<pool, hm_pool>([&](hm_pool **out) { return hm_pool_create(threads, out); });
  }
  const hm_pool *get() const noexcept { return handle_.get(); }
  explicit pool(hm_pool *handle) noexcept : handle_(handle) {}

 private:
  detail::owner<hm_pool, hm_pool_free> handle_;
};

inline const hm_pool *get(const pool *pool) noexcept { return pool ? pool->get() : nullptr; }

inline result<digest> hash(view input, hm_function function = hm_blake3(), const pool *pool = nullptr) {
  digest out;
  if (hm_error *error = hm_hash(function, input, get(pool), hm_room_of(out.data(), out.size()))) return failure(hashmill::error(error));
  return out;
}

inline result<std::vector<digest>> hash_many(std::span<const view> inputs, hm_function function = hm_blake3(), const pool *pool = nullptr) {
  std::vector<hm_span> spans(inputs.begin(), inputs.end());
  std::vector<digest> out(spans.size());
  hm_room room = hm_room_of(out.data(), out.size() * sizeof(digest));
  if (hm_error *error = hm_hash_many(function, hm_spans_of(spans.data(), spans.size()), get(pool), room)) return failure(hashmill::error(error));
  return out;
}

// A hasher for input in pieces.
class hasher {
 public:
  static result<hasher> create(hm_function function = hm_blake3()) {
    return detail::made<hasher, hm_hasher>([&](hm_hasher **out) { return hm_hasher_create(function, out); });
  }
  result<void> update(view input, const pool *pool = nullptr) {
    return detail::checked(hm_hasher_update(handle_.get(), input, hashmill::get(pool)));
  }
  result<void> finalize(std::span<std::uint8_t> out, std::uint64_t seek = 0) const {
    return detail::checked(hm_hasher_finalize(handle_.get(), seek, hm_room_of(out.data(), out.size())));
  }
  result<void> reset() { return detail::checked(hm_hasher_reset(handle_.get())); }
  result<hasher> clone() const {
    return detail::made<hasher, hm_hasher>([&](hm_hasher **out) { return hm_hasher_clone(handle_.get(), out); });
  }
  explicit hasher(hm_hasher *handle) noexcept : handle_(handle) {}

 private:
  detail::owner<hm_hasher, hm_hasher_free> handle_;
};

// A hasher of files.
class files {
 public:
  static result<files> create(hm_function function = hm_blake3(), hm_file_options options = {}) {
    return detail::made<files, hm_files>([&](hm_files **out) { return hm_files_create(function, &options, out); });
  }
  result<hm_file_digest> hash(view path) const {
    hm_file_digest out;
    if (hm_error *error = hm_files_hash(handle_.get(), path, &out)) return failure(hashmill::error(error));
    return out;
  }
  result<file_digests> hash_many(std::span<const view> paths) const {
    std::vector<hm_span> spans(paths.begin(), paths.end());
    return detail::made<file_digests, hm_file_digests>(
        [&](hm_file_digests **out) { return hm_files_hash_many(handle_.get(), hm_spans_of(spans.data(), spans.size()), out); });
  }
  explicit files(hm_files *handle) noexcept : handle_(handle) {}

 private:
  detail::owner<hm_files, hm_files_free> handle_;
};

inline result<hm_policy> policy(view preset) {
  return detail::told<hm_policy>([&](hm_policy *out) { return hm_policy_preset(preset, out); });
}

// Overwrites a secret with zeros.
inline result<void> wipe(std::span<std::uint8_t> room) { return detail::checked(hm_wipe(hm_room_of(room.data(), room.size()))); }

// A request to stop, which other threads can set.
class stop {
 public:
  static result<stop> create() {
    return detail::made<stop, hm_stop>([](hm_stop **out) { return hm_stop_create(out); });
  }
  void set() const noexcept { hm_stop_set(handle_.get()); }
  void clear() const noexcept { hm_stop_clear(handle_.get()); }
  const hm_stop *get() const noexcept { return handle_.get(); }
  explicit stop(hm_stop *handle) noexcept : handle_(handle) {}

 private:
  detail::owner<hm_stop, hm_stop_free> handle_;
};

// Makes and checks hashes of passwords.
class passwords {
 public:
  static result<passwords> create(const hm_policy &policy, const pool *pool = nullptr, const hm_password_options *options = nullptr) {
    return detail::made<passwords, hm_passwords>(
        [&](hm_passwords **out) { return hm_passwords_create(&policy, options, hashmill::get(pool), out); });
  }
  result<bytes> hash(view password, view salt = {}) const {
    return detail::made<bytes, hm_bytes>([&](hm_bytes **out) { return hm_passwords_hash(handle_.get(), password, salt, out); });
  }
  // Whether a new hash should be stored; an error unless the password matches.
  result<bool> verify(view password, view stored) const {
    return detail::told<bool>([&](bool *out) { return hm_passwords_verify(handle_.get(), password, stored, out); });
  }
  result<bytes> hash_until(const stop &stop, view password, view salt = {}) const {
    return detail::made<bytes, hm_bytes>(
        [&](hm_bytes **out) { return hm_passwords_hash_until(handle_.get(), password, salt, stop.get(), out); });
  }
  result<bool> verify_until(const stop &stop, view password, view stored) const {
    return detail::told<bool>(
        [&](bool *out) { return hm_passwords_verify_until(handle_.get(), password, stored, stop.get(), out); });
  }
  // Always an error, after the time of a check: for a user name that does not exist.
  result<void> verify_dummy(view password) const { return detail::checked(hm_passwords_verify_dummy(handle_.get(), password)); }
  result<verdicts> verify_many(std::span<const view> words, std::span<const view> stored) const {
    std::vector<hm_span> one(words.begin(), words.end()), other(stored.begin(), stored.end());
    return detail::made<verdicts, hm_verdicts>([&](hm_verdicts **out) {
      return hm_passwords_verify_many(handle_.get(), hm_spans_of(one.data(), one.size()), hm_spans_of(other.data(), other.size()), out);
    });
  }
  explicit passwords(hm_passwords *handle) noexcept : handle_(handle) {}

 private:
  detail::owner<hm_passwords, hm_passwords_free> handle_;
};

// The id of an object of a document: owned, or in a list, or the root.
class object {
 public:
  object() noexcept = default;
  object(const hm_obj_id *shown) noexcept : id_(shown) {}
  const hm_obj_id *get() const noexcept { return id_; }

 private:
  const hm_obj_id *id_ = nullptr;
};

inline const object root{};
inline bool same(object one, object other) noexcept { return hm_obj_id_equal(one.get(), other.get()); }

class object_id {
 public:
  static result<object_id> parse(view text) {
    return detail::made<object_id, hm_obj_id>([&](hm_obj_id **out) { return hm_obj_id_parse(text, out); });
  }
  // An owned copy of an id in a list.
  static result<object_id> copy_of(object shown) {
    return detail::made<object_id, hm_obj_id>([&](hm_obj_id **out) { return hm_obj_id_clone(shown.get(), out); });
  }
  explicit object_id(hm_obj_id *handle) noexcept : handle_(handle) {}
  operator object() const noexcept { return handle_.get(); }
  result<bytes> text() const {
    return detail::made<bytes, hm_bytes>([&](hm_bytes **out) { return hm_obj_id_text(handle_.get(), out); });
  }

 private:
  detail::owner<hm_obj_id, hm_obj_id_free> handle_;
};

// The state of a sync with a peer.
class sync_state {
 public:
  static result<sync_state> create() {
    return detail::made<sync_state, hm_sync_state>([](hm_sync_state **out) { return hm_sync_state_create(out); });
  }
  static result<sync_state> decode(view kept) {
    return detail::made<sync_state, hm_sync_state>([&](hm_sync_state **out) { return hm_sync_state_decode(kept, out); });
  }
  result<bytes> encode() const {
    return detail::made<bytes, hm_bytes>([&](hm_bytes **out) { return hm_sync_state_encode(handle_.get(), out); });
  }
  result<hashes> shared_heads() const {
    return detail::made<hashes, hm_hashes>([&](hm_hashes **out) { return hm_sync_state_shared_heads(handle_.get(), out); });
  }
  result<hashes> last_sent_heads() const {
    return detail::made<hashes, hm_hashes>([&](hm_hashes **out) { return hm_sync_state_last_sent_heads(handle_.get(), out); });
  }
  // Empty before the peer's first message.
  result<std::optional<hashes>> their_heads() const {
    return detail::perhaps<hashes, hm_hashes>([&](hm_hashes **out) { return hm_sync_state_their_heads(handle_.get(), out); });
  }
  result<void> set_read_only(bool read_only) { return detail::checked(hm_sync_state_set_read_only(handle_.get(), read_only)); }
  result<bool> is_peer_read_only() const {
    return detail::told<bool>([&](bool *out) { return hm_sync_state_is_peer_read_only(handle_.get(), out); });
  }
  hm_sync_state *get() noexcept { return handle_.get(); }
  explicit sync_state(hm_sync_state *handle) noexcept : handle_(handle) {}

 private:
  detail::owner<hm_sync_state, hm_sync_state_free> handle_;
};

// The contents of a message.
class sync_message {
 public:
  static result<sync_message> decode(view bytes) {
    return detail::made<sync_message, hm_sync_message>([&](hm_sync_message **out) { return hm_sync_message_decode(bytes, out); });
  }
  // Valid for the lifetime of this object.
  std::span<const hm_change_hash> heads() const noexcept { return {handle_->heads, handle_->heads_len}; }
  std::span<const hm_change_hash> needs() const noexcept { return {handle_->needs, handle_->needs_len}; }
  std::span<const hm_sync_have> haves() const noexcept { return {handle_->haves, handle_->haves_len}; }
  std::span<const hm_span> changes() const noexcept { return {handle_->changes, handle_->changes_len}; }
  bool read_only() const noexcept { return handle_->read_only; }
  bool reset() const noexcept { return handle_->reset; }
  explicit sync_message(hm_sync_message *handle) noexcept : handle_(handle) {}

 private:
  detail::owner<hm_sync_message, hm_sync_message_free> handle_;
};

// Decodes changes without a document.
inline result<changes> decode_changes(std::span<const view> chunks, const hm_doc_limits *limits = nullptr) {
  std::vector<hm_span> spans(chunks.begin(), chunks.end());
  return detail::made<changes, hm_changes>(
      [&](hm_changes **out) { return hm_changes_decode(hm_spans_of(spans.data(), spans.size()), limits, out); });
}

// The path to the object of a patch.
inline result<path> path_of(const patches &patches, std::size_t index) {
  return detail::made<path, hm_path>([&](hm_path **out) { return hm_patches_path(patches.get(), index, out); });
}

// A position that follows its element during other edits.
class cursor {
 public:
  static result<cursor> parse(view text) {
    return detail::made<cursor, hm_bytes>([&](hm_bytes **out) { return hm_cursor_parse(text, out); });
  }
  result<bytes> text() const {
    return detail::made<bytes, hm_bytes>([&](hm_bytes **out) { return hm_cursor_text(view(bytes_), out); });
  }
  // The bytes to store; a view of stored bytes can be used like a cursor.
  std::span<const std::uint8_t> span() const noexcept { return bytes_.span(); }
  operator view() const noexcept { return bytes_; }
  explicit cursor(hm_bytes *handle) noexcept : bytes_(handle) {}

 private:
  bytes bytes_;
};

// A document. `heads` selects a point of the history; without it, the current state.
class document {
 public:
  static result<document> create(const hm_doc_options *options = nullptr) {
    return detail::made<document, hm_doc>([&](hm_doc **out) { return hm_doc_create(options, out); });
  }
  static result<document> load(view file, const hm_doc_options *options = nullptr) {
    return detail::made<document, hm_doc>([&](hm_doc **out) { return hm_doc_load(file, options, out); });
  }
  result<bytes> save() { return detail::made<bytes, hm_bytes>([&](hm_bytes **out) { return hm_doc_save(get(), out); }); }
  result<bytes> save_incremental() {
    return detail::made<bytes, hm_bytes>([&](hm_bytes **out) { return hm_doc_save_incremental(get(), out); });
  }
  result<bytes> save_after(const hashes &heads) {
    return detail::made<bytes, hm_bytes>([&](hm_bytes **out) { return hm_doc_save_after(get(), heads.get(), out); });
  }
  result<bytes> save_nocompress() {
    return detail::made<bytes, hm_bytes>([&](hm_bytes **out) { return hm_doc_save_nocompress(get(), out); });
  }
  result<void> load_incremental(view stream) { return detail::checked(hm_doc_load_incremental(get(), stream, nullptr)); }
  result<document> fork(const hashes *heads = nullptr) {
    return detail::made<document, hm_doc>([&](hm_doc **out) { return hm_doc_fork(get(), detail::at(heads), out); });
  }
  result<void> merge(document &other) { return detail::checked(hm_doc_merge(get(), other.get())); }
  result<void> commit(view message = {}, std::int64_t time = 0) {
    return detail::checked(hm_doc_commit(get(), message, time, nullptr, nullptr));
  }
  result<void> commit_by(view author, view message = {}, std::int64_t time = 0) {
    return detail::checked(hm_doc_commit_by(get(), author, message, time, nullptr, nullptr));
  }
  result<void> empty_change(view message = {}, std::int64_t time = 0) { return detail::checked(hm_doc_empty_change(get(), message, time)); }
  result<bytes> actor() const { return detail::made<bytes, hm_bytes>([&](hm_bytes **out) { return hm_doc_get_actor(get(), out); }); }
  result<void> set_actor(view actor) { return detail::checked(hm_doc_set_actor(get(), actor)); }
  result<std::optional<bytes>> author_of(view actor) const {
    return detail::perhaps<bytes, hm_bytes>([&](hm_bytes **out) { return hm_doc_get_author(get(), actor, out); });
  }
  result<std::size_t> pending_ops() const {
    return detail::told<std::size_t>([&](std::size_t *out) { return hm_doc_pending_ops(get(), out); });
  }
  // Until `integrate` all reads and writes use the document at these heads.
  result<void> isolate(const hashes &heads) { return detail::checked(hm_doc_isolate(get(), heads.get())); }
  result<void> integrate() { return detail::checked(hm_doc_integrate(get())); }
  result<void> rollback() { return detail::checked(hm_doc_rollback(get(), nullptr)); }
  result<hashes> heads() { return detail::made<hashes, hm_hashes>([&](hm_hashes **out) { return hm_doc_get_heads(get(), out); }); }

  result<hashes> missing_deps(const hashes *heads = nullptr) {
    return detail::made<hashes, hm_hashes>([&](hm_hashes **out) { return hm_doc_get_missing_deps(get(), detail::at(heads), out); });
  }
  result<void> apply_changes(std::span<const view> chunks) {
    std::vector<hm_span> spans(chunks.begin(), chunks.end());
    return detail::checked(hm_doc_apply_changes(get(), hm_spans_of(spans.data(), spans.size())));
  }

  result<void> put(object obj, view key, hm_value value) { return detail::checked(hm_map_put(get(), obj.get(), key, value)); }
  result<object_id> put_object(object obj, view key, hm_kind kind) {
    return detail::made<object_id, hm_obj_id>([&](hm_obj_id **out) { return hm_map_put_object(get(), obj.get(), key, kind, out); });
  }
  result<void> increment(object obj, view key, std::int64_t by) { return detail::checked(hm_map_increment(get(), obj.get(), key, by)); }
  result<void> erase(object obj, view key) { return detail::checked(hm_map_delete(get(), obj.get(), key)); }
  result<void> insert(object obj, std::size_t index, hm_value value) {
    return detail::checked(hm_list_put(get(), obj.get(), index, true, value));
  }
  result<object_id> insert_object(object obj, std::size_t index, hm_kind kind) {
    return detail::made<object_id, hm_obj_id>([&](hm_obj_id **out) { return hm_list_put_object(get(), obj.get(), index, true, kind, out); });
  }
  result<void> replace(object obj, std::size_t index, hm_value value) {
    return detail::checked(hm_list_put(get(), obj.get(), index, false, value));
  }
  result<object_id> replace_object(object obj, std::size_t index, hm_kind kind) {
    return detail::made<object_id, hm_obj_id>([&](hm_obj_id **out) { return hm_list_put_object(get(), obj.get(), index, false, kind, out); });
  }
  result<void> increment_at(object obj, std::size_t index, std::int64_t by) {
    return detail::checked(hm_list_increment(get(), obj.get(), index, by));
  }
  result<void> splice(object obj, std::size_t index, std::ptrdiff_t count, std::span<const hm_value> values) {
    return detail::checked(hm_splice(get(), obj.get(), index, count, hm_values_of(values.data(), values.size())));
  }
  result<void> erase_at(object obj, std::size_t index) { return detail::checked(hm_list_delete(get(), obj.get(), index)); }
  result<void> splice_text(object obj, std::size_t index, std::ptrdiff_t count, view text) {
    return detail::checked(hm_splice_text(get(), obj.get(), index, count, text));
  }
  result<void> update_text(object obj, view text) { return detail::checked(hm_update_text(get(), obj.get(), text)); }
  result<void> mark(object obj, std::size_t start, std::size_t end, hm_expand expand, view name, hm_value value) {
    return detail::checked(hm_mark_create(get(), obj.get(), start, end, expand, name, value));
  }
  result<void> unmark(object obj, std::size_t start, std::size_t end, hm_expand expand, view name) {
    return detail::checked(hm_mark_clear(get(), obj.get(), start, end, expand, name));
  }
  result<object_id> split_block(object obj, std::size_t index) {
    return detail::made<object_id, hm_obj_id>([&](hm_obj_id **out) { return hm_split_block(get(), obj.get(), index, out); });
  }
  result<void> join_block(object obj, std::size_t index) { return detail::checked(hm_join_block(get(), obj.get(), index)); }
  result<object_id> replace_block(object obj, std::size_t index) {
    return detail::made<object_id, hm_obj_id>([&](hm_obj_id **out) { return hm_replace_block(get(), obj.get(), index, out); });
  }

  result<items> at(object obj, view key, const hashes *heads = nullptr) const {
    return detail::made<items, hm_items>([&](hm_items **out) { return hm_map_get(get(), obj.get(), key, detail::at(heads), out); });
  }
  result<items> at_index(object obj, std::size_t index, const hashes *heads = nullptr) const {
    return detail::made<items, hm_items>([&](hm_items **out) { return hm_list_get(get(), obj.get(), index, detail::at(heads), out); });
  }
  result<items> all_at(object obj, view key, const hashes *heads = nullptr) const {
    return detail::made<items, hm_items>([&](hm_items **out) { return hm_map_get_all(get(), obj.get(), key, detail::at(heads), out); });
  }
  result<items> all_at_index(object obj, std::size_t index, const hashes *heads = nullptr) const {
    return detail::made<items, hm_items>([&](hm_items **out) { return hm_list_get_all(get(), obj.get(), index, detail::at(heads), out); });
  }
  result<std::size_t> size(object obj = root, const hashes *heads = nullptr) const {
    return detail::told<std::size_t>([&](std::size_t *out) { return hm_obj_size(get(), obj.get(), detail::at(heads), out); });
  }
  result<hm_kind> kind(object obj) const {
    return detail::told<hm_kind>([&](hm_kind *out) { return hm_obj_kind(get(), obj.get(), out); });
  }
  result<hashmill::path> path(object obj, const hashes *heads = nullptr) const {
    return detail::made<hashmill::path, hm_path>([&](hm_path **out) { return hm_obj_path(get(), obj.get(), detail::at(heads), out); });
  }
  result<items> map(object obj = root, const hashes *heads = nullptr) const {
    return detail::made<items, hm_items>([&](hm_items **out) { return hm_map_range(get(), obj.get(), view(), view(), detail::at(heads), out); });
  }
  result<items> elements(object obj, const hashes *heads = nullptr) const {
    return detail::made<items, hm_items>([&](hm_items **out) { return hm_list_range(get(), obj.get(), 0, SIZE_MAX, detail::at(heads), out); });
  }
  result<bytes> text(object obj, const hashes *heads = nullptr) const {
    return detail::made<bytes, hm_bytes>([&](hm_bytes **out) { return hm_text(get(), obj.get(), detail::at(heads), out); });
  }
  result<hashmill::marks> marks(object obj, const hashes *heads = nullptr) const {
    return detail::made<hashmill::marks, hm_marks>([&](hm_marks **out) { return hm_get_marks(get(), obj.get(), detail::at(heads), out); });
  }
  result<hashmill::marks> marks_at(object obj, std::size_t index, const hashes *heads = nullptr) const {
    return detail::made<hashmill::marks, hm_marks>([&](hm_marks **out) { return hm_get_marks_at(get(), obj.get(), index, detail::at(heads), out); });
  }
  result<hashmill::parts> parts(object obj, const hashes *heads = nullptr) const {
    return detail::made<hashmill::parts, hm_parts>([&](hm_parts **out) { return hm_get_parts(get(), obj.get(), detail::at(heads), out); });
  }
  result<hashmill::cursor> cursor(object obj, std::size_t index, hm_move moving = HM_MOVE_AFTER, const hashes *heads = nullptr) const {
    return detail::made<hashmill::cursor, hm_bytes>(
        [&](hm_bytes **out) { return hm_get_cursor_moving(get(), obj.get(), index, moving, detail::at(heads), out); });
  }
  result<std::size_t> position(object obj, view cursor, const hashes *heads = nullptr) const {
    return detail::told<std::size_t>(
        [&](std::size_t *out) { return hm_get_cursor_position(get(), obj.get(), cursor, detail::at(heads), out); });
  }
  result<hashmill::changes> change(const hm_change_hash &hash) {
    return detail::made<hashmill::changes, hm_changes>([&](hm_changes **out) { return hm_doc_get_change_by_hash(get(), &hash, out); });
  }
  // The changes that another document has and this one lacks.
  result<hashmill::changes> changes_added(document &other) {
    return detail::made<hashmill::changes, hm_changes>([&](hm_changes **out) { return hm_doc_get_changes_added(get(), other.get(), out); });
  }
  result<hashmill::changes> last_local_change() {
    return detail::made<hashmill::changes, hm_changes>([&](hm_changes **out) { return hm_doc_get_last_local_change(get(), out); });
  }
  result<hashmill::changes> changes(const hashes *have = nullptr) {
    return detail::made<hashmill::changes, hm_changes>([&](hm_changes **out) { return hm_doc_get_changes(get(), detail::at(have), out); });
  }
  result<patches> diff(const hashes &before, const hashes &after) {
    return detail::made<patches, hm_patches>([&](hm_patches **out) { return hm_doc_diff(get(), before.get(), after.get(), out); });
  }
  // The patches since the last call, or since the beginning.
  result<patches> diff_incremental() {
    return detail::made<patches, hm_patches>([&](hm_patches **out) { return hm_doc_diff_incremental(get(), out); });
  }

  // The next message for a peer; empty if both have the same heads, or while an answer is awaited.
  result<std::optional<bytes>> message_for(sync_state &peer) {
    return detail::perhaps<bytes, hm_bytes>([&](hm_bytes **out) { return hm_generate_sync_message(get(), peer.get(), out); });
  }
  // Returns the hashes of refused changes.
  result<hashes> receive_telling(sync_state &peer, view message) {
    return detail::made<hashes, hm_hashes>([&](hm_hashes **out) { return hm_receive_sync_message(get(), peer.get(), message, out); });
  }
  result<void> receive(sync_state &peer, view message) {
    return detail::checked(hm_receive_sync_message(get(), peer.get(), message, nullptr));
  }

  // The handle for hashmill.h.
  hm_doc *get() noexcept { return handle_.get(); }
  const hm_doc *get() const noexcept { return handle_.get(); }
  explicit document(hm_doc *handle) noexcept : handle_(handle) {}

 private:
  detail::owner<hm_doc, hm_doc_free> handle_;
};

}  // namespace hashmill

#endif  // HASHMILL_HPP
