/* nkeys.c: see nkeys.h. */
#include "cli/ops/nkeys.h"

#include "base/buf.h"
#include "base/rand.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <unistd.h>

#define FILE_MAX (64u << 10)

const struct cli_flag nkeys_make_flags[] = {
    {"output", 'o', CLI_TEXT, "FILE", "write the seed to a new file that only you can read"},
    {0},
};

static const struct {
    const char *name;
    enum nkey_kind kind;
} kinds[] = {{"user", NKEY_USER},         {"account", NKEY_ACCOUNT}, {"server", NKEY_SERVER},
             {"operator", NKEY_OPERATOR}, {"cluster", NKEY_CLUSTER}, {"curve", NKEY_CURVE}};

static const char *kind_name(enum nkey_kind kind)
{
    for (size_t i = 0; i < MF_COUNT(kinds); i++)
        if (kinds[i].kind == kind)
            return kinds[i].name;
    return "";
}

/* The public key of 32 random bytes: ed25519, for a curve key x25519. */
static int make_public(char dst[NKEY_TEXT], enum nkey_kind kind, const uint8_t seed[32])
{
    int type = kind == NKEY_CURVE ? EVP_PKEY_X25519 : EVP_PKEY_ED25519;
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(type, NULL, seed, 32);
    uint8_t raw[32];
    size_t n = sizeof raw;
    int ok = key != NULL && EVP_PKEY_get_raw_public_key(key, raw, &n) == 1 && n == sizeof raw;

    EVP_PKEY_free(key);
    if (!ok)
        return MF_UNSUPPORTED;
    nkey_encode(dst, kind, raw);
    return 0;
}

int nkeys_find_seed(struct mf_slice text, enum nkey_kind *kind, uint8_t seed[32])
{
    int found = MF_NOTFOUND;

    while (text.len > 0) {
        const uint8_t *end = memchr(text.ptr, '\n', text.len);
        size_t n = end == NULL ? text.len : (size_t)(end - text.ptr);
        struct mf_slice line = mf_trim(mf_slice(text.ptr, n));

        if (line.len == NKEY_SEED - 1 && line.ptr[0] == 'S') {
            if (nkey_decode_seed(line, kind, seed) == 0)
                return 0;
            found = MF_INVAL;
        }
        n += end != NULL;
        text = mf_slice(text.ptr + n, text.len - n);
    }
    return found;
}

/* --- make ------------------------------------------------------------------------------------- */

/* A new file of the owner's alone; an old one is never overwritten. */
static int write_seed(struct cli *c, const char *path, const char *seed)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    char line[NKEY_SEED + 1];
    int n = snprintf(line, sizeof line, "%s\n", seed);
    bool ok;

    if (fd < 0 && errno == EEXIST)
        return cli_fail(c, CLI_USAGE, "%s exists; it is not overwritten", path);
    if (fd < 0)
        return cli_fail(c, CLI_USAGE, "%s: %s", path, strerror(errno));
    ok = write(fd, line, (size_t)n) == n && fsync(fd) == 0;
    ok = close(fd) == 0 && ok;
    explicit_bzero(line, sizeof line);
    if (ok)
        return 0;
    (void)unlink(path);
    return cli_fail(c, CLI_USAGE, "%s could not be written", path);
}

static void print_key(struct cli *c, enum nkey_kind kind, const char *public, const char *seed,
                      const char *file)
{
    json_t *doc;

    if (c->json) {
        doc = json_pack("{s:s, s:s, s:s*, s:s*}", "kind", kind_name(kind), "public", public, "seed",
                        file == NULL ? seed : NULL, "file", file);
        (void)json_dumpf(doc, stdout, JSON_COMPACT);
        (void)putchar('\n');
        json_decref(doc);
        return;
    }
    if (seed != NULL && file == NULL)
        (void)puts(seed);
    (void)puts(public);
    if (c->term.tty && seed != NULL) {
        (void)printf("\nThe first line is the secret seed%s%s; the key is public.\n",
                     file == NULL ? "" : ", in ", file == NULL ? "" : file);
        if (kind == NKEY_USER)
            (void)printf("In the configuration:\n\nauthorization {\n  users: [ { nkey: %s } ]\n}\n",
                         public);
    }
}

int nkeys_make(struct cli *c)
{
    const char *file = cli_text(c, "output");
    char text[NKEY_SEED], public[NKEY_TEXT];
    uint8_t seed[32];
    size_t i;
    int rc = 0;

    for (i = 0; i < MF_COUNT(kinds) && strcmp(kinds[i].name, cli_arg(c, 0)) != 0; i++)
        continue;
    if (i == MF_COUNT(kinds))
        return cli_usage(c,
                         "there are no keys of kind %s; there are user, account, server, "
                         "operator, cluster and curve",
                         cli_arg(c, 0));
    rand_bytes(seed, sizeof seed);
    nkey_encode_seed(text, kinds[i].kind, seed);
    if (make_public(public, kinds[i].kind, seed) != 0)
        rc = cli_fail(c, CLI_USAGE, "OpenSSL made no key");
    else if (file != NULL)
        rc = write_seed(c, file, text);
    if (rc == 0)
        print_key(c, kinds[i].kind, public, text, file);
    explicit_bzero(seed, sizeof seed);
    explicit_bzero(text, sizeof text);
    return rc;
}

/* --- show ------------------------------------------------------------------------------------- */

static int read_file(struct cli *c, const char *path, struct mf_buf *out)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    uint8_t *room;

    if (f == NULL)
        return cli_fail(c, errno == ENOENT ? CLI_NOT_FOUND : CLI_USAGE, "%s: %s", path,
                        strerror(errno));
    room = mf_buf_reserve(out, FILE_MAX);
    if (room != NULL)
        out->len = fread(room, 1, FILE_MAX, f);
    if (f != stdin)
        (void)fclose(f);
    return room != NULL ? 0 : cli_fail(c, CLI_USAGE, "out of memory");
}

int nkeys_load(struct cli *c, const char *path, enum nkey_kind *kind, char public[NKEY_TEXT])
{
    struct mf_buf text = MF_BUF_INIT;
    uint8_t seed[32];
    int rc = read_file(c, path, &text), found;

    if (rc == 0) {
        found = nkeys_find_seed(mf_buf_slice(&text), kind, seed);
        if (found == MF_INVAL)
            rc = cli_fail(c, CLI_USAGE, "%s: the seed has a mistake (its checksum is wrong)", path);
        else if (found != 0)
            rc = cli_fail(c, CLI_USAGE,
                          "%s holds no seed (a line of 58 letters and digits that "
                          "begins with S)",
                          path);
        else if (make_public(public, *kind, seed) != 0)
            rc = cli_fail(c, CLI_USAGE, "OpenSSL made no key");
    }
    explicit_bzero(seed, sizeof seed);
    if (text.cap > 0)
        explicit_bzero(text.ptr, text.cap);
    mf_buf_fini(&text);
    return rc;
}

int nkeys_show(struct cli *c)
{
    char public[NKEY_TEXT];
    enum nkey_kind kind = NKEY_USER;
    int rc = nkeys_load(c, cli_arg(c, 0), &kind, public);

    if (rc == 0)
        print_key(c, kind, public, NULL, NULL);
    return rc;
}
