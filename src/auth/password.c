/* password.c: stored passwords and tokens: bcrypt or plain, compared in a time that does not depend
 * on the number of equal characters. */
#include "auth/auth.h"

#include <crypt.h>
#include <sodium.h>
#include <stdlib.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool password_is_bcrypt(const char *s)
{
    return s != NULL && s[0] == '$' && s[1] == '2' && s[2] != '\0' &&
           strchr("abxy", s[2]) != NULL && s[3] == '$' && is_digit(s[4]) && is_digit(s[5]) &&
           s[6] == '$';
}

#define BCRYPT_LEN 60
#define MINOR      2 /* where the letter of "$2b$" stands */

static bool bcrypt_matches(const char *stored, const char *given)
{
    char setting[BCRYPT_LEN + 1];
    struct crypt_data *work;
    const char *hash;
    bool ok = false;

    if (strlen(stored) != BCRYPT_LEN)
        return false;
    memcpy(setting, stored, sizeof setting);
    /* nats-server computes every letter the same, correct way; libcrypt would reproduce old bugs
     * for 2a and 2x.  So ask for 2b, and leave the letter out when comparing. */
    setting[MINOR] = 'b';
    work = calloc(1, sizeof *work);
    if (work == NULL)
        return false;
    hash = crypt_r(given, setting, work);
    if (hash != NULL && strlen(hash) == BCRYPT_LEN)
        ok = sodium_memcmp(hash + MINOR + 1, stored + MINOR + 1, BCRYPT_LEN - MINOR - 1) == 0;
    sodium_memzero(work, sizeof *work);
    free(work);
    return ok;
}

/* The time depends on the length of the given text, not on the stored one. */
static bool plain_matches(const char *stored, const char *given)
{
    size_t ns = strlen(stored), ng = strlen(given);
    volatile uint8_t differs = ns != ng;

    for (size_t i = 0; i < ng; i++)
        differs |= (uint8_t)(given[i] ^ stored[ns == 0 ? 0 : i % ns]);
    return differs == 0;
}

bool password_matches(const char *stored, const char *given)
{
    if (stored == NULL)
        stored = "";
    if (given == NULL)
        given = "";
    return password_is_bcrypt(stored) ? bcrypt_matches(stored, given)
                                      : plain_matches(stored, given);
}
