// Passwords: hashes, single and combined checks, upgrades, wrong arguments, destruction in another order than creation.
#include "check.h"
#include <pthread.h>

enum { LOGINS = 20, THREADS = 8 };
static hm_policy policy;

static hm_passwords *passwords_of(const hm_policy *policy, const hm_password_options *options, hm_pool *pool) {
  hm_passwords *passwords;
  OK(hm_passwords_create(policy, options, pool, &passwords));
  return passwords;
}

static hm_bytes *stored_of(const hm_passwords *passwords, const char *password, const char *salt) {
  hm_bytes *stored;
  OK(hm_passwords_hash(passwords, hm_str(password), hm_str(salt), &stored));
  return stored;
}

static void one_by_one(void) {
  hm_passwords *passwords = passwords_of(&policy, NULL, NULL);
  hm_bytes *stored = stored_of(passwords, "sesame", "sixteen bytes ok");
  const char expected[] = "$argon2id$v=19$m=64,t=2,p=2$c2l4dGVlbiBieXRlcyBvaw$";
  CHECK(strncmp((const char *)stored->data, expected, sizeof expected - 1) == 0 && strlen((const char *)stored->data) == stored->len);
  bool upgrade = true;
  OK(hm_passwords_verify(passwords, hm_str("sesame"), hm_view(stored), &upgrade));
  CHECK(!upgrade);
  OK(hm_passwords_verify(passwords, hm_str("sesame"), hm_view(stored), NULL));
  FAILS(HM_MISMATCH, hm_passwords_verify(passwords, hm_str("please"), hm_view(stored), &upgrade));
  FAILS(HM_MISMATCH, hm_passwords_verify(passwords, nothing(), hm_view(stored), NULL));
  FAILS(HM_MISMATCH, hm_passwords_verify_dummy(passwords, hm_str("sesame")));
  // Random salts.
  hm_bytes *one = stored_of(passwords, "sesame", NULL), *other = stored_of(passwords, "sesame", NULL);
  CHECK(one->len == stored->len && memcmp(one->data, other->data, one->len) != 0);
  OK(hm_passwords_verify(passwords, hm_str("sesame"), hm_view(other), NULL));
  // Higher costs.
  hm_policy stricter = policy;
  stricter.passes = 3;
  hm_passwords *strict = passwords_of(&stricter, NULL, NULL);
  OK(hm_passwords_verify(strict, hm_str("sesame"), hm_view(stored), &upgrade));
  CHECK(upgrade);
  // Stored hashes above the limits.
  hm_password_options options = {.secret = hm_str("pepper"), .memory_budget_kib = 1 << 16, .most_passes = 1};
  hm_passwords *narrow = passwords_of(&policy, &options, NULL);
  FAILS(HM_LIMIT, hm_passwords_verify(narrow, hm_str("sesame"), hm_view(stored), NULL));
  options.most_passes = 0;
  hm_passwords *peppered = passwords_of(&policy, &options, NULL);
  FAILS(HM_MISMATCH, hm_passwords_verify(peppered, hm_str("sesame"), hm_view(stored), NULL));
  hm_passwords_free(narrow);
  hm_passwords_free(passwords);
  hm_passwords_free(strict);
  hm_passwords_free(peppered);
  hm_bytes_free(one);
  hm_bytes_free(stored);
  hm_bytes_free(other);
}

static void *asks(void *stop) {
  hm_stop_set(stop);
  return NULL;
}

static void until(hm_pool *pool) {
  hm_stop *stop;
  hm_bytes *stored, *none;
  bool upgrade;
  OK(hm_stop_create(&stop));
  hm_passwords *passwords = passwords_of(&policy, NULL, pool);
  OK(hm_passwords_hash_until(passwords, hm_str("sesame"), hm_str("sixteen bytes ok"), stop, &stored));
  OK(hm_passwords_verify_until(passwords, hm_str("sesame"), hm_view(stored), stop, &upgrade));
  CHECK(!upgrade);
  FAILS(HM_MISMATCH, hm_passwords_verify_until(passwords, hm_str("please"), hm_view(stored), stop, NULL));
  // A hash that would take very long: it ends because another thread sets the request.
  hm_policy endless = policy;
  endless.passes = UINT32_MAX;
  hm_passwords *long_ones = passwords_of(&endless, NULL, pool);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, asks, stop) == 0);
  FAILS(HM_STOPPED, hm_passwords_hash_until(long_ones, hm_str("sesame"), nothing(), stop, &none));
  CHECK(none == NULL && pthread_join(thread, NULL) == 0);
  FAILS(HM_STOPPED, hm_passwords_verify_until(passwords, hm_str("sesame"), hm_view(stored), stop, &upgrade));
  hm_stop_clear(stop);
  OK(hm_passwords_verify_until(passwords, hm_str("sesame"), hm_view(stored), stop, NULL));
  hm_stop_set(NULL);
  hm_stop_clear(NULL);
  hm_stop_free(stop);
  hm_passwords_free(passwords);
  hm_passwords_free(long_ones);
  hm_bytes_free(stored);
}

static void together(hm_pool *pool) {
  hm_policy stricter = policy;
  stricter.memory_kib = 128;
  hm_passwords *passwords = passwords_of(&policy, NULL, NULL), *many = passwords_of(&stricter, NULL, pool);
  hm_bytes *old = stored_of(passwords, "sesame", NULL), *new = stored_of(many, "sesame", NULL);
  hm_span words[LOGINS], strings[LOGINS];
  for (int n = 0; n < LOGINS; n++) {
    words[n] = n % 2 ? hm_str("sesame") : hm_str("please");
    strings[n] = n % 3 ? hm_view(new) : hm_view(old);
  }
  strings[4] = hm_str("$argon2id$nonsense");
  strings[5] = hm_str("\xff");
  hm_verdicts *verdicts;
  OK(hm_passwords_verify_many(many, hm_spans_of(words, LOGINS), hm_spans_of(strings, LOGINS), &verdicts));
  hm_passwords_free(many);
  hm_passwords_free(passwords);
  CHECK(verdicts->len == LOGINS);
  for (size_t n = 0; n < LOGINS; n++) {
    hm_code expected = n == 4 ? HM_MALFORMED : n == 5 ? HM_NOT_UTF8 : n % 2 ? HM_OK : HM_MISMATCH;
    CHECK(hm_error_code(verdicts->items[n].error) == expected);
    CHECK(verdicts->items[n].upgrade == (expected == HM_OK && n % 3 == 0));
  }
  CHECK(hm_error_place(verdicts->items[4].error) != UINT64_MAX);
  hm_verdicts_free(verdicts);
  hm_bytes_free(new);
  hm_bytes_free(old);
}

static void wrong_arguments(void) {
  hm_policy wrong = policy;
  hm_passwords *passwords = (hm_passwords *)&wrong;
  hm_bytes *stored;
  hm_verdicts *verdicts;
  FAILS(HM_ARGUMENT, hm_policy_preset(hm_str("the best"), &wrong));
  FAILS(HM_ARGUMENT, hm_policy_preset(hm_str("owasp-19m"), NULL));
  FAILS(HM_NOT_UTF8, hm_policy_preset(hm_str("\xc3("), &wrong));
  FAILS(HM_ARGUMENT, hm_passwords_create(NULL, NULL, NULL, &passwords));
  CHECK(passwords == NULL);
  wrong = policy, wrong.variant = 3;
  FAILS(HM_ARGUMENT, hm_passwords_create(&wrong, NULL, NULL, &passwords));
  wrong = policy, wrong.lanes = 0;
  FAILS(HM_ARGUMENT, hm_passwords_create(&wrong, NULL, NULL, &passwords));
  wrong = policy, wrong.tag_len = 1;
  FAILS(HM_ARGUMENT, hm_passwords_create(&wrong, NULL, NULL, &passwords));
  hm_password_options options = {.secret = lie()};
  FAILS(HM_ARGUMENT, hm_passwords_create(&policy, &options, NULL, &passwords));
  passwords = passwords_of(&policy, NULL, NULL);
  FAILS(HM_ARGUMENT, hm_passwords_hash(passwords, lie(), nothing(), &stored));
  CHECK(stored == NULL);
  FAILS(HM_ARGUMENT, hm_passwords_hash(passwords, hm_str("sesame"), hm_str("short"), &stored));
  FAILS(HM_ARGUMENT, hm_passwords_hash(NULL, hm_str("sesame"), nothing(), &stored));
  FAILS(HM_ARGUMENT, hm_passwords_hash(passwords, hm_str("sesame"), nothing(), NULL));
  FAILS(HM_ARGUMENT, hm_passwords_verify(NULL, hm_str("sesame"), nothing(), NULL));
  FAILS(HM_MALFORMED, hm_passwords_verify(passwords, hm_str("sesame"), nothing(), NULL));
  hm_span one[] = {hm_str("sesame")};
  FAILS(HM_ARGUMENT, hm_passwords_verify_many(passwords, hm_spans_of(one, 1), hm_spans_of(NULL, 0), &verdicts));
  FAILS(HM_ARGUMENT, hm_passwords_verify_many(passwords, hm_spans_of(NULL, 1), hm_spans_of(one, 1), &verdicts));
  FAILS(HM_ARGUMENT, hm_passwords_verify_dummy(NULL, hm_str("sesame")));
  hm_passwords_free(passwords);
  hm_passwords_free(NULL);
  hm_verdicts_free(NULL);
  char secret[] = "sesame";
  OK(hm_wipe(hm_room_of(secret, sizeof secret)));
  for (size_t n = 0; n < sizeof secret; n++) CHECK(secret[n] == 0);
  FAILS(HM_ARGUMENT, hm_wipe(hm_room_of(NULL, 1)));
}

static void *thread(void *passwords) {
  for (int n = 0; n < 20; n++) {
    hm_bytes *stored = stored_of(passwords, "sesame", NULL);
    OK(hm_passwords_verify(passwords, hm_str("sesame"), hm_view(stored), NULL));
    hm_bytes_free(stored);
  }
  return NULL;
}

int main(void) {
  OK(hm_policy_preset(hm_str("owasp-19m"), &policy));
  CHECK(policy.variant == 2 && policy.memory_kib == 19456 && policy.passes == 2 && policy.lanes == 1);
  policy.memory_kib = 64, policy.lanes = 2;
  hm_pool *pool;
  OK(hm_pool_create(2, &pool));
  one_by_one();
  until(NULL);
  until(pool);
  together(NULL);
  together(pool);
  wrong_arguments();
  hm_passwords *shared = passwords_of(&policy, NULL, pool);
  hm_pool_free(pool);
  pthread_t threads[THREADS];
  for (int n = 0; n < THREADS; n++) CHECK(pthread_create(&threads[n], NULL, thread, shared) == 0);
  for (int n = 0; n < THREADS; n++) CHECK(pthread_join(threads[n], NULL) == 0);
  hm_passwords_free(shared);
  puts("done");
}
