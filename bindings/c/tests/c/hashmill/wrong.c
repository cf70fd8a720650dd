// Wrong arguments: header.rs generates the calls from hashmill.h, one for each wrong argument of each parameter.
#include "check.h"

// Values that are no error code.
enum { ANY = 1000, FINE = 1001 };

// The number of calls with an unexpected result.
static int wrong = 0;

// The result that a failed call must leave behind its last pointers.
#define LEFT(condition) \
  do { if (!(condition)) { fprintf(stderr, "%d: not so: %s\n", __LINE__, #condition); wrong++; } } while (0)

// Checks that a call failed with the code and a text that names the parameter, unless any result is allowed. FINE: an error, if
// there is one, must not be about this parameter. A bug of the library is never allowed.
static bool seen(hm_error *error, hm_code code, const char *says, const char *call) {
  hm_code found = hm_error_code(error);
  bool named = strstr(hm_error_text(error), says) != NULL;
  if (found == HM_INTERNAL || (code == FINE ? found != HM_OK && named : code != ANY && (found != code || !named))) {
    fprintf(stderr, "%s: code %u: %s\n", call, found, hm_error_text(error));
    wrong++;
  }
  hm_error_free(error);
  return found != HM_OK;
}

static bool zeros(const void *what, size_t len) {
  for (size_t n = 0; n < len; n++) {
    if (((const uint8_t *)what)[n]) return false;
  }
  return true;
}

int main(void) {
  hm_policy policy;
  OK(hm_policy_preset(hm_str("owasp-19m"), &policy));
  policy.memory_kib = 64, policy.passes = 1;
  const hm_policy *some_hm_policy = &policy;
  const hm_password_options *some_hm_password_options = NULL;
  const hm_file_options *some_hm_file_options = NULL;
  const hm_doc_options *some_hm_doc_options = NULL;
  const hm_doc_limits *some_hm_doc_limits = NULL;
  const hm_pool *some_hm_pool = NULL;
  hm_passwords *some_hm_passwords;
  OK(hm_passwords_create(&policy, NULL, NULL, &some_hm_passwords));
  hm_stop *some_hm_stop;
  OK(hm_stop_create(&some_hm_stop));
  hm_hasher *some_hm_hasher;
  OK(hm_hasher_create(hm_blake3(), &some_hm_hasher));
  hm_files *some_hm_files;
  OK(hm_files_create(hm_blake3(), NULL, &some_hm_files));
  hm_doc *some_hm_doc, *other;
  OK(hm_doc_create(NULL, &some_hm_doc));
  OK(hm_doc_create(NULL, &other));
  hm_hashes *some_hm_hashes;
  OK(hm_doc_get_heads(some_hm_doc, &some_hm_hashes));
  hm_patches *some_hm_patches;
  OK(hm_doc_diff_incremental(some_hm_doc, &some_hm_patches));
  hm_sync_state *some_hm_sync_state;
  OK(hm_sync_state_create(&some_hm_sync_state));
  hm_bytes *message, *cursor;
  OK(hm_generate_sync_message(some_hm_doc, some_hm_sync_state, &message));
  OK(hm_cursor_parse(hm_str("s"), &cursor));
  hm_change_hash hash = {{9}};
  const hm_change_hash *some_hm_change_hash = &hash;
  hm_bytes *stored;
  OK(hm_passwords_hash(some_hm_passwords, hm_str("sesame"), nothing(), &stored));
  hm_span span = hm_str("sesame"), stored_span = hm_view(stored);
  hm_value value = hm_int(1);
  uint8_t room[32];
  // Never read: lengths are refused first.
  _Alignas(8) static uint8_t place[64];
  void *somewhere = place;
  // CALLS
  hm_bytes_free(stored);
  hm_bytes_free(message);
  hm_bytes_free(cursor);
  hm_sync_state_free(some_hm_sync_state);
  hm_patches_free(some_hm_patches);
  hm_hashes_free(some_hm_hashes);
  hm_doc_free(other);
  hm_doc_free(some_hm_doc);
  hm_files_free(some_hm_files);
  hm_hasher_free(some_hm_hasher);
  hm_stop_free(some_hm_stop);
  hm_passwords_free(some_hm_passwords);
  if (wrong == 0) puts("done");
  return wrong != 0;
}
