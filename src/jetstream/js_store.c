/* js_store.c: the store directory, the folders of accounts in it, and limits that the machine sets.
 */
#include "jetstream/js_store_impl.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

char *js_store_folder(const char *account)
{
    struct mf_buf b = MF_BUF_INIT;
    char *path;

    for (const char *c = account; *c != '\0'; c++) {
        if (*c == '/' || *c == '%' || (*c == '.' && c == account))
            mf_buf_printf(&b, "%%%02X", (unsigned)(unsigned char)*c);
        else
            mf_buf_byte(&b, (uint8_t)*c);
    }
    mf_buf_puts(&b, "/streams");
    path = mf_buf_failed(&b) ? NULL : mf_slice_dup(mf_buf_slice(&b));
    mf_buf_fini(&b);
    return path;
}

/* Default limits: three quarters of the memory and of the free disk space. */
static void machine_limits(struct jetstream *js)
{
    const struct options_jetstream *o = &js->options->jetstream;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
    struct statvfs v;

    js->max = (struct stream_usage){o->max_memory, o->max_store, o->max_index};
    if (js->max.memory < 0 && pages > 0 && size > 0)
        js->max.memory = (int64_t)pages / 4 * 3 * size;
    if (js->max.file < 0 && (statvfs(js->store_dir, &v) == 0 || statvfs("/", &v) == 0))
        js->max.file = (int64_t)(v.f_bavail / 4 * 3) * (int64_t)v.f_frsize;
}

/* As configured, for pages and the log: links are not resolved. */
static char *shown_dir(const char *store_dir)
{
    struct mf_buf b = MF_BUF_INIT;
    char *dir;

    mf_buf_puts(&b, store_dir);
    while (b.len > 1 && b.ptr[b.len - 1] == '/')
        b.len--;
    mf_buf_puts(&b, b.len == 1 && b.ptr[0] == '/' ? "jetstream" : "/jetstream");
    dir = mf_buf_failed(&b) ? NULL : mf_slice_dup(mf_buf_slice(&b));
    mf_buf_fini(&b);
    return dir;
}

#define KEY_SHORT 16 /* a text of fewer characters is tried out soon */

/* The configuration is another one after a reload, so the keys are copied. */
static int secret_open(struct jetstream *js, struct mf_error *e)
{
    const struct options_jetstream *o = &js->options->jetstream;
    bool aes = o->cipher != NULL && strcmp(o->cipher, "aes") == 0;

    if (!o->enabled || o->key == NULL || o->key[0] == '\0')
        return 0;
    jetstream_impl(js)->secret =
        store_secret_new(aes ? STORE_AES : STORE_CHACHA, mf_str(o->key),
                         o->prev_key == NULL ? MF_SLICE_NONE : mf_str(o->prev_key));
    if (jetstream_impl(js)->secret == NULL)
        return mf_fail(e, MF_NOMEM, "jetstream key");
    log_info("JetStream encrypts streams on disk: %s", aes ? "AES-256-GCM" : "XChaCha20-Poly1305");
    if (strlen(o->key) < KEY_SHORT)
        log_warn("jetstream key has fewer than %d characters: it is soon found by trying; make "
                 "one with: openssl rand -base64 32",
                 KEY_SHORT);
    return 0;
}

int js_store_open(struct jetstream *js, struct mf_error *e)
{
    char *dir = options_store_dir(js->options);
    int rc = 0;

    js->journal = NULL;
    js->store_dir = dir == NULL ? NULL : shown_dir(dir);
    if (js->store_dir == NULL) {
        free(dir);
        return mf_fail(e, MF_NOMEM, "store directory");
    }
    rc = secret_open(js, e);
    if (rc == 0 && js->options->jetstream.enabled)
        rc = catalog_root_open(&jetstream_impl(js)->root, dir, e);
    if (rc == 0 && js->options->jetstream.enabled)
        rc = store_journal_open(&js->journal, js->loop, jetstream_impl(js)->root, e);
    free(dir);
    if (rc == 0 && js->options->files_kept > 0)
        catalog_root_files(jetstream_impl(js)->root, js->options->files_kept);
    if (rc == 0)
        machine_limits(js);
    return rc;
}

void js_store_close(struct jetstream *js)
{
    catalog_root_close(jetstream_impl(js)->root);
    store_secret_free(jetstream_impl(js)->secret);
    free(js->store_dir);
}

void jetstream_shared(const struct jetstream *js, struct jetstream_shared *out)
{
    struct store_journal_stats s = {0};

    if (js->journal != NULL)
        store_journal_stats(js->journal, &s);
    *out = (struct jetstream_shared){
        .syncs = s.entries, .commits = s.groups, .bytes = s.bytes, .turned_away = s.turned_away};
}

int jetstream_check(const struct options *o, struct mf_error *e)
{
    char *dir;
    int rc;

    if (!o->jetstream.enabled)
        return 0;
    if ((dir = options_store_dir(o)) == NULL)
        return mf_fail(e, MF_NOMEM, "store directory");
    rc = catalog_root_check(dir, e);
    free(dir);
    return rc == 0 ? 0 : mf_wrap(e, "JetStream");
}

bool jetstream_stored(struct jetstream *js, const char *account)
{
    char *dir = js_store_folder(account);
    bool there = dir != NULL && catalog_root_has(jetstream_impl(js)->root, dir);

    free(dir);
    return there;
}
