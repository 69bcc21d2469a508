/* use.c: what two servers agree on, and the moment from which a link is usable. */
#include "leaf/leaf_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"
#include "codec/hash.h"

/* The kernel's own probes, for a peer that is gone without a word. */
#define KEEP_IDLE_S  15
#define KEEP_EVERY_S 5
#define KEEP_COUNT   3

/* --- compression ------------------------------------------------------------------------------ */

#define STRANGER_CHUNK (256u << 10) /* the largest that a peer without a login may send */

const struct options_compression *link_compression(const struct leaf_link *l)
{
    return l->remote != NULL ? &l->remote->opt->compression : &leaf_options(l->leaf)->compression;
}

static void set_level(struct leaf_link *l, enum options_compress level)
{
    l->level = level;
    l->compression = options_compress_name(level);
}

bool link_compress(struct leaf_link *l, enum options_compress mode)
{
    if (mode == OPTIONS_COMPRESS_AUTO)
        mode = options_compress_level(link_compression(l), l->rtt_ns);
    l->pipe = s2_pipe_start(l->conn, mode != OPTIONS_COMPRESS_UNCOMPRESSED, STRANGER_CHUNK);
    l->refilter = true;
    if (l->pipe == NULL)
        return false;
    set_level(l, mode);
    return true;
}

/* A slow link is worth more work. */
void link_choose_level(struct leaf_link *l)
{
    const struct options_compression *o = link_compression(l);
    enum options_compress level;

    if (l->pipe == NULL || o->mode != OPTIONS_COMPRESS_AUTO)
        return;
    level = options_compress_level(o, l->rtt_ns);
    if (level == l->level)
        return;
    set_level(l, level);
    s2_pipe_set_level(l->pipe, level != OPTIONS_COMPRESS_UNCOMPRESSED);
}

/* --- the usable link -------------------------------------------------------------------------- */

static void warn_of_names(const struct leaf_link *l)
{
    const char *own = leaf_domain(l->leaf), *domain = l->domain != NULL ? l->domain : "";
    struct mf_list *pos;
    char label[LINK_LABEL];

    if (l->name != NULL && strcmp(l->name, l->leaf->setup.server_name) == 0)
        log_warn("%s - The other server has the same server_name \"%s\": give each server a name "
                 "of its own",
                 link_label(l, label), l->name);
    if (*own != '\0' && strcmp(own, domain) == 0)
        log_warn(
            "%s - Both servers have the JetStream domain \"%s\": neither can reach the streams "
            "of the other one",
            link_label(l, label), own);
    mf_list_each(pos, &l->realm->links)
    {
        const struct leaf_link *other = mf_container(pos, struct leaf_link, in_realm);
        if (other == l || *domain == '\0' || other->domain == NULL ||
            strcmp(other->domain, domain) != 0 || other->cluster_hash == l->cluster_hash)
            continue;
        log_warn("%s - Server \"%s\" has the JetStream domain \"%s\", too: requests reach both",
                 link_label(l, label), other->name != NULL ? other->name : "", domain);
        return;
    }
}

static void log_usable(const struct leaf_link *l)
{
    const char *own = leaf_domain(l->leaf), *domain = l->domain != NULL ? l->domain : "";
    struct net_tls_peer peer = {.version = ""};
    bool tls = net_conn_is_secure(l->conn);
    char label[LINK_LABEL];

    if (tls)
        net_conn_tls_peer(l->conn, &peer);
    if (strcmp(own, domain) != 0)
        log_info("%s - JetStream using domains: local \"%s\", remote \"%s\"", link_label(l, label),
                 own, domain);
    log_info(
        "%s - Leaf link to \"%s\" is usable: this server is the %s; account %s here, %s there; "
        "cluster \"%s\", domain \"%s\", version %s; %s%s, compression %s, %s%s",
        link_label(l, label), l->name != NULL ? l->name : "", l->spoke ? "spoke" : "hub",
        account_name(l->account), l->remote_account != NULL ? l->remote_account : "unknown",
        l->cluster != NULL ? l->cluster : "", domain, l->version != NULL ? l->version : "?",
        tls ? "TLS " : "no TLS", tls ? peer.version : "",
        l->compression != NULL ? l->compression : "off",
        l->perms != NULL ? "permissions of the hub's user apply" : "no permissions apply",
        l->isolated ? ", isolated" : "");
}

void link_use(struct leaf_link *l)
{
    struct leaf *lf = l->leaf;
    int64_t every = link_ping_every(l), first = every < CLOCK_S ? every : CLOCK_S;

    l->cluster_hash = l->cluster == NULL ? 0 : hash_slice(mf_str(l->cluster));
    l->phase = LEAF_USABLE;
    l->counted = true;
    lf->strangers -= l->stranger;
    l->stranger = false;
    lf->usable++;
    lf->totals.established++;
    account_counters(l->account)->leafnodes++;
    net_conn_set_lane(l->conn, account_name(l->account));
    net_set_kept_max(l->conn, 0);
    net_conn_keep_alive(l->conn, KEEP_IDLE_S, KEEP_EVERY_S, KEEP_COUNT);
    if (l->pipe != NULL)
        s2_pipe_set_most(l->pipe, 0);
    if (realm_enter(l) != 0) {
        link_close(l, NULL, REASON_NO_MEMORY);
        return;
    }
    if (l->phase != LEAF_USABLE)
        return;
    log_usable(l);
    warn_of_names(l);
    link_wait_ping(l, first + (int64_t)rand_below((uint32_t)(first / 5 / CLOCK_US) + 1) * CLOCK_US);
    l->shown = true;
    lf->setup.changed(lf->setup.arg, l, true);
    account_linked(l->account);
}
