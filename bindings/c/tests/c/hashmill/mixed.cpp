// One of two units of a program, each compiled with another standard: results are passed between them.
#include <hashmill.hpp>

#include <cstdio>

hashmill::result<hashmill::digest> hash_elsewhere(hashmill::view input, hm_function function);
hashmill::result<hashmill::hasher> hasher_elsewhere(hm_function function);

#ifdef SECOND_UNIT
hashmill::result<hashmill::digest> hash_elsewhere(hashmill::view input, hm_function function) {
  return hashmill::hash(input, function);
}

hashmill::result<hashmill::hasher> hasher_elsewhere(hm_function function) { return hashmill::hasher::create(function); }
#else
int main() {
  auto here = hashmill::hash("abc"), there = hash_elsewhere("abc", hm_blake3());
  if (!here || !there || *here != *there) return 1;
  auto wrong = hash_elsewhere("abc", hm_blake3_keyed(hm_str("short")));
  if (wrong || wrong.error().code() != HM_ARGUMENT) return 2;
  auto hasher = hasher_elsewhere(hm_blake3()), other = hashmill::hasher::create(hm_blake3());
  if (!hasher || !other || !hasher->update("abc") || !other->update("abc")) return 3;
  hashmill::digest first, second;
  if (!hasher->finalize(first) || !other->finalize(second) || first != *here || second != *here) return 4;
  auto refused = hasher_elsewhere(hm_blake3_keyed(hm_str("short")));
  if (refused || refused.error().code() != HM_ARGUMENT) return 5;
  std::puts("done");
}
#endif
