/* nats_source.c: how far a stream of nats-server had copied its sources.
 *
 * Each copied message has the header
 *     Nats-Stream-Source: STREAM SEQ FILTER DESTINATION SUBJECT[ IDENTITY]
 * and 2.15 keeps the places in sources.db too, for messages that are gone:
 *     1, u64 count, u64 last sequence + 1, then for each source: text "STREAM FILTER DESTINATION",
 *     uvarint SEQ, text IDENTITY (a text: uvarint length, bytes)
 * IDENTITY stands for the time at which the origin was created.  The imported origin is a new
 * stream with the same sequences: the identity is taken off, or everything were copied again. */
#include "cli/import/nats_store_impl.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MARK       "\r\nNats-Stream-Source: "
#define FILE_MAX   (1u << 20)
#define FILE_HEAD  17u
#define MARK_PARTS 6

/* --- marks ---------------------------------------------------------------------------------- */

/* The value of the header, in hdr. */
static bool find_mark(struct mf_slice hdr, struct mf_slice *value)
{
    const uint8_t *at = hdr.len == 0 ? NULL : memmem(hdr.ptr, hdr.len, MARK, sizeof MARK - 1);
    const uint8_t *end;

    if (at == NULL)
        return false;
    at += sizeof MARK - 1;
    end = memmem(at, (size_t)(hdr.ptr + hdr.len - at), "\r\n", 2);
    *value = mf_slice(at, (size_t)((end == NULL ? hdr.ptr + hdr.len : end) - at));
    return true;
}

/* Its parts; how many there are. */
static size_t split_mark(struct mf_slice value, struct mf_slice part[MARK_PARTS])
{
    size_t n = 0;

    while (n < MARK_PARTS) {
        const uint8_t *blank = value.len == 0 ? NULL : memchr(value.ptr, ' ', value.len);
        size_t len = blank == NULL ? value.len : (size_t)(blank - value.ptr);

        part[n++] = mf_slice(value.ptr, len);
        if (blank == NULL)
            break;
        value = mf_slice(blank + 1, value.len - len - 1);
    }
    return n;
}

/* A stream of the same account in the same store?  The last answer is kept. */
static bool is_sibling(struct nats_store *s, struct mf_slice name)
{
    char path[4096];
    struct stat st;

    if (name.len == 0 || name.len >= sizeof s->sibling || name.ptr[0] == '.' ||
        memchr(name.ptr, '/', name.len) != NULL)
        return false;
    if (!mf_eq_str(name, s->sibling)) {
        memcpy(s->sibling, name.ptr, name.len);
        s->sibling[name.len] = '\0';
        s->has_sibling = snprintf(path, sizeof path, "%s/../%s/meta.inf", s->dir, s->sibling) <
                             (int)sizeof path &&
                         stat(path, &st) == 0;
    }
    return s->has_sibling;
}

struct mf_slice nats_source_header(struct nats_store *s, struct mf_slice hdr)
{
    struct mf_slice value, part[MARK_PARTS];
    size_t cut;

    if (!json_is_array(json_object_get(s->config, "sources")) || !find_mark(hdr, &value) ||
        split_mark(value, part) < MARK_PARTS || !is_sibling(s, part[0]))
        return hdr;
    cut = (size_t)(part[5].ptr - 1 - hdr.ptr);
    mf_buf_clear(&s->header);
    mf_buf_append(&s->header, hdr.ptr, cut);
    mf_buf_append(&s->header, value.ptr + value.len,
                  (size_t)(hdr.ptr + hdr.len - (value.ptr + value.len)));
    return mf_buf_failed(&s->header) ? hdr : mf_buf_slice(&s->header);
}

void nats_source_see(struct nats_store *s, struct mf_slice hdr)
{
    struct mf_slice value, part[MARK_PARTS];
    char key[NATS_SOURCE_KEY];
    uint64_t seq;

    if (s->nsources == 0 || !find_mark(hdr, &value) || split_mark(value, part) < 4 ||
        mf_parse_u64(part[1], &seq) != 0 ||
        snprintf(key, sizeof key, "%.*s %.*s %.*s", (int)part[0].len, (const char *)part[0].ptr,
                 (int)part[2].len, (const char *)part[2].ptr, (int)part[3].len,
                 (const char *)part[3].ptr) >= (int)sizeof key)
        return;
    for (size_t i = 0; i < s->nsources; i++)
        if (strcmp(s->sources[i].key, key) == 0 && seq > s->sources[i].marked)
            s->sources[i].marked = seq;
}

/* --- sources.db ----------------------------------------------------------------------------- */

static bool take_text(struct mf_slice *in, struct mf_slice *text)
{
    uint64_t len;

    if (!natsfile_uvarint(in, &len) || len > in->len)
        return false;
    *text = mf_slice(in->ptr, (size_t)len);
    *in = mf_slice(in->ptr + len, in->len - (size_t)len);
    return true;
}

static int add_source(struct nats_store *s, struct mf_slice key, uint64_t seq)
{
    struct nats_source *x;

    if (mf_array_reserve(&s->sources, &s->sources_cap, s->nsources + 1, sizeof *s->sources) != 0)
        return MF_NOMEM;
    x = &s->sources[s->nsources++];
    *x = (struct nats_source){.seq = seq};
    (void)snprintf(x->key, sizeof x->key, "%.*s", (int)key.len, (const char *)key.ptr);
    return 0;
}

static int read_sources(struct nats_store *s, struct mf_slice in)
{
    struct mf_slice key, ident;
    uint64_t seq;
    int rc = 0;

    if (in.len < FILE_HEAD || in.ptr[0] != 1)
        return MF_CORRUPT;
    in = mf_slice(in.ptr + FILE_HEAD, in.len - FILE_HEAD);
    while (rc == 0 && in.len > 0) {
        if (!take_text(&in, &key) || !natsfile_uvarint(&in, &seq) || !take_text(&in, &ident) ||
            seq > INT64_MAX - 1)
            return MF_CORRUPT;
        rc = add_source(s, key, seq);
    }
    return rc;
}

int nats_source_load(struct nats_store *s, struct mf_error *e)
{
    struct mf_buf file = MF_BUF_INIT;
    int rc = nats_store_read(s->dir, "sources.db", FILE_MAX, &file, e);

    if (rc == 0)
        rc = read_sources(s, mf_buf_slice(&file));
    mf_buf_fini(&file);
    if (rc == MF_CORRUPT)
        nats_notes_add(&s->remarks, "sources.db cannot be read; the messages tell the places of "
                                    "the sources");
    return rc == MF_NOTFOUND || rc == MF_CORRUPT ? 0 : rc;
}

/* --- places without messages ---------------------------------------------------------------- */

/* "FILTER DESTINATION" of a source in the configuration. */
static void describe_source(const json_t *source, struct mf_buf *out)
{
    const json_t *list = json_object_get(source, "subject_transforms"), *t;
    const char *filter = json_string_value(json_object_get(source, "filter_subject")), *text;
    size_t i;

    mf_buf_byte(out, ' ');
    json_array_foreach(list, i, t)
    {
        text = json_string_value(json_object_get(t, "src"));
        mf_buf_printf(out, "%s%s", i > 0 ? "\f" : "", text == NULL ? "" : text);
    }
    if (json_array_size(list) == 0)
        mf_buf_puts(out, filter == NULL || *filter == '\0' ? ">" : filter);
    mf_buf_byte(out, ' ');
    json_array_foreach(list, i, t)
    {
        text = json_string_value(json_object_get(t, "dest"));
        mf_buf_printf(out, "%s%s", i > 0 ? "\f" : "", text == NULL || *text == '\0' ? ">" : text);
    }
    if (json_array_size(list) == 0)
        mf_buf_byte(out, '>');
}

static bool is_source(const json_t *source, const char *key)
{
    const char *name = json_string_value(json_object_get(source, "name"));
    size_t len = name == NULL ? 0 : strlen(name);
    struct mf_buf rest = MF_BUF_INIT;
    const char *blank = strchr(key, ' ');
    bool same;

    if (len == 0 || blank == NULL || strncmp(key, name, len) != 0 ||
        (key[len] != ' ' && key[len] != ':'))
        return false;
    describe_source(source, &rest);
    same = strcmp(mf_buf_cstr(&rest), blank) == 0;
    mf_buf_fini(&rest);
    return same;
}

/* No message of it is left: it goes on by its configuration. */
static bool start_behind(struct nats_store *s, const struct nats_source *x)
{
    json_t *source;
    size_t i;

    json_array_foreach(json_object_get(s->config, "sources"), i,
                       source) if (is_source(source, x->key))
    {
        json_object_del(source, "opt_start_time");
        json_object_set_new(source, "opt_start_seq", json_integer((json_int_t)x->seq + 1));
        return true;
    }
    return false;
}

void nats_source_settle(struct nats_store *s)
{
    for (size_t i = 0; i < s->nsources; i++) {
        const struct nats_source *x = &s->sources[i];
        unsigned long long place = x->seq, marked = x->marked;

        if (x->seq <= x->marked)
            continue;
        if (x->marked > 0)
            nats_notes_add(&s->remarks,
                           "source %.100s: copied up to %llu, and messages up to %llu are left: "
                           "the ones between are copied again",
                           x->key, place, marked);
        else if (start_behind(s, x))
            nats_notes_add(&s->remarks,
                           "source %.100s: copied up to %llu, and no message is left: "
                           "opt_start_seq becomes %llu",
                           x->key, place, place + 1);
    }
}
