/* restore_budget.c: limits of a restore within its account and the server.
 *
 * From its start a restore counts as one of the account's streams, its max_bytes as reserved, and
 * the bytes of its messages by its own account (state.json) as used.  So room that was checked at
 * the start is still there at the end, as in nats-server.  Stored messages turn held bytes into
 * used ones. */
#include "backup/restore_impl.h"

#define RESTORES_MAX 16 /* under way in an account */
/* Consumers, the state, names and padding of an archive, beside its messages. */
#define BESIDE (16u << 20)
/* Of all restores of an account: chunks that wait, entries that are not complete, consumers. */
#define RESTORE_MEMORY_MAX (256u << 20)

static bool in_memory(const struct restore *r)
{
    return r->cfg.storage == STORAGE_MEMORY;
}

static int64_t by_storage(const struct restore *r, const struct stream_usage *u)
{
    return in_memory(r) ? u->memory : u->file;
}

/* Bytes that are free under a limit; INT64_MAX: there is no limit. */
static int64_t free_under(const struct restore *r, const struct stream_usage *max,
                          const struct stream_usage *used)
{
    int64_t m = by_storage(r, max), u = by_storage(r, used);

    return m < 0 ? INT64_MAX : u < m ? m - u : 0;
}

static int64_t free_bytes(const struct restore *r)
{
    const struct stream_host *h = &r->aa->ja->host;
    int64_t account = free_under(r, &h->account_max, h->account_usage);
    int64_t server = free_under(r, &h->server_max, h->server_usage);

    return account < server ? account : server;
}

static void use_bytes(struct restore *r, int64_t bytes)
{
    const struct stream_host *h = &r->aa->ja->host;

    r->held += bytes;
    if (in_memory(r)) {
        h->account_usage->memory += bytes;
        h->server_usage->memory += bytes;
    } else {
        h->account_usage->file += bytes;
        h->server_usage->file += bytes;
    }
}

static bool no_room(struct restore *r)
{
    struct js_error e;

    js_error_set(&e, in_memory(r) ? JS_MEMORY_RESOURCES_EXCEEDED : JS_STORAGE_RESOURCES_EXCEEDED);
    restore_fail_with(r, &e);
    return false;
}

int restore_reserve(struct restore *r, struct js_error *e)
{
    const struct options_js_limits *l = r->aa->ja->limits;
    int64_t stream_max = in_memory(r) ? l->mem_max_stream_bytes : l->disk_max_stream_bytes;
    int64_t room = free_bytes(r);

    if (backup_account(r->aa)->nrestores >= RESTORES_MAX)
        return js_error_set(e, JS_STREAM_RESTORE, "too many restores are under way");
    if (stream_max > 0 && room > stream_max)
        room = stream_max;
    r->allow = (uint64_t)room + BESIDE;
    r->promised = r->cfg.max_bytes > 0 ? r->cfg.max_bytes : 0;
    r->counted = true;
    r->aa->creating++;
    return 0;
}

void restore_counted(struct restore *r)
{
    r->aa->creating -= r->counted;
    r->counted = false;
}

void restore_unreserve(struct restore *r)
{
    restore_counted(r);
    use_bytes(r, -r->held);
    r->promised = 0;
    backup_account(r->aa)->restore_memory -= r->memory;
    r->memory = 0;
}

void restores_reserved(const struct api_account *aa, struct stream_usage *out)
{
    const struct mf_list *pos;

    mf_list_each(pos, &backup_account(aa)->restores)
    {
        const struct restore *r = mf_container(pos, struct restore, link);
        int64_t *sum = in_memory(r) ? &out->memory : &out->file;

        *sum = *sum > INT64_MAX - r->promised ? INT64_MAX : *sum + r->promised;
    }
}

int restore_allowed(struct restore *r, struct js_error *e)
{
    struct stream_config c = r->cfg; /* looked at only */
    int64_t promised = r->promised, bytes = (int64_t)r->state.bytes;
    int rc;

    if (c.max_bytes < bytes && bytes > 0)
        c.max_bytes = bytes;
    r->promised = 0;
    r->aa->creating -= r->counted;
    rc = limits_allow(r->aa, &c, NULL, e);
    r->aa->creating += r->counted;
    r->promised = promised;
    return rc;
}

bool restore_hold(struct restore *r, uint64_t bytes)
{
    if (bytes > (uint64_t)free_bytes(r))
        return no_room(r);
    use_bytes(r, (int64_t)bytes);
    return true;
}

bool restore_room(struct restore *r, uint64_t bytes)
{
    uint64_t held = (uint64_t)r->held;

    if (bytes > held && bytes - held > (uint64_t)free_bytes(r))
        return no_room(r);
    use_bytes(r, -(int64_t)(bytes < held ? bytes : held));
    return true;
}

bool restore_within(struct restore *r)
{
    size_t now = r->waiting + r->archive.in.len + r->s2.in.len + r->consumer_bytes +
                 restore_read_memory(r->read) + restore_tar_memory(r->tar);

    backup_account(r->aa)->restore_memory += now - r->memory;
    r->memory = now;
    if (backup_account(r->aa)->restore_memory > RESTORE_MEMORY_MAX)
        restore_fail(r, "too much is waiting to be stored");
    else if (r->unpacked > r->allow)
        return no_room(r);
    return !r->failed;
}
