/* fixed_rand.c: the same "random" bytes in every run (store ids, the seed of hash tables), so that
 * a run is repeated to the byte by its seed.  For programs linked with --wrap=rand_bytes. */
#include "pick.h"

void __wrap_rand_bytes(void *dst, size_t n);

void __wrap_rand_bytes(void *dst, size_t n)
{
    static struct pick pick = {1};

    pick_bytes(&pick, dst, n);
}
