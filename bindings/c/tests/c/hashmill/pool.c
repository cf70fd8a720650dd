// Starts a pool, uses it and frees it; valgrind checks for leaks.
#include "check.h"

int main(void) {
  static uint8_t large[1 << 20];
  hm_pool *pool;
  uint8_t digest[32];
  OK(hm_pool_create(2, &pool));
  OK(hm_hash(hm_blake3(), hm_span_of(large, sizeof large), pool, hm_room_of(digest, 32)));
  hm_pool_free(pool);
  puts("done");
  return 0;
}
