/* link.c: one connection to another server, from its first byte to its end.
 *
 * Happy path: bytes_in() parses whole commands; during the handshake dial.c or accept.c execute
 * them, and link_use() begins the exchange of interest and messages.
 * Failure: link_close() begins to end the interest of the peer (learn.c), sends -ERR, and closes;
 * finish_close() has a remote dial again; the later of both ends frees the link. Silence: a PING
 * each interval; any byte that arrives counts as an answer. */
#include "leaf/leaf_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rand.h"
#include "codec/hash.h"
#include "loop/work.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

#define LINGER_MS    1000
#define PATIENCE     16             /* commands between two looks at the clock */
#define PING_MOST_NS (30 * CLOCK_S) /* a dead link is noticed within three of them */

/* --- texts ------------------------------------------------------------------------------------ */

const char *link_keep(struct leaf_link *l, const char *text)
{
    return text == NULL || *text == '\0' ? NULL : arena_str(&l->mem, text);
}

const char *link_label(const struct leaf_link *l, char dst[LINK_LABEL])
{
    const char *ip = l->conn == NULL ? "" : net_conn_ip(l->conn);

    (void)snprintf(dst, LINK_LABEL,
                   strchr(ip, ':') != NULL ? "[%s]:%d - lid%s:%llu" : "%s:%d - lid%s:%llu", ip,
                   l->conn == NULL ? 0 : net_conn_port(l->conn), l->ws ? "_ws" : "",
                   (unsigned long long)l->id);
    return dst;
}

void link_log_error(const struct leaf_link *l, const char *fmt, ...)
{
    char label[LINK_LABEL], text[1024];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    log_error("%s - %s", link_label(l, label), text);
}

static void link_write(struct leaf_link *l, struct mf_slice line)
{
    if (MF_UNLIKELY(log_enabled(LOG_TRACE_)))
        show_sent(l, line);
    (void)net_write(l->conn, line.ptr, line.len);
}

void link_send_err(struct leaf_link *l, const char *fmt, ...)
{
    struct mf_buf line = MF_BUF_INIT;
    va_list ap;

    mf_buf_puts(&line, "-ERR '");
    va_start(ap, fmt);
    mf_buf_vprintf(&line, fmt, ap);
    va_end(ap);
    mf_buf_puts(&line, "'\r\n");
    if (!mf_buf_failed(&line) && l->phase != LEAF_CLOSING)
        link_write(l, mf_buf_slice(&line));
    mf_buf_fini(&line);
}

/* --- begin ------------------------------------------------------------------------------------ */

static void fire_timer(void *arg);

struct leaf_link *link_new(struct leaf *lf, struct leaf_remote *remote)
{
    struct leaf_link *l = calloc(1, sizeof *l);

    if (l == NULL)
        return NULL;
    l->leaf = lf;
    l->remote = remote;
    l->spoke = remote != NULL && !remote->opt->hub;
    l->phase = remote != NULL ? LEAF_DIALLING : LEAF_WAIT_LOGIN;
    l->id = lf->setup.next_id(lf->setup.arg);
    l->max_subs = -1;
    l->peer.takes = cross_takes;
    l->peer.send = cross_send;
    l->start_wall_ns = loop_wall_ns(lf->loop);
    l->start_mono_ns = loop_mono_ns(lf->loop);
    l->timer = loop_timer_new(lf->loop, fire_timer, l);
    mf_list_init(&l->in_realm);
    mf_list_init(&l->marks);
    if (l->timer == NULL) {
        free(l);
        return NULL;
    }
    mf_list_push(&lf->links, &l->all);
    lf->nlinks++;
    l->stranger = remote == NULL;
    lf->strangers += l->stranger;
    return l;
}

void link_free(struct leaf_link *l)
{
    struct leaf *lf = l->leaf;

    lf->strangers -= l->stranger;
    lf->nlinks--;
    mf_list_del(&l->all);
    loop_timer_free(l->timer);
    perms_release(l->perms);
    perms_release(l->denies);
    login_user_release(l->who);
    router_remote_fini(&l->peer);
    table_fini(&l->subs);
    arena_fini(&l->mem);
    free(l->queue);
    free(l->user);
    free(l);
    leaf_link_gone(lf);
}

void link_wait(struct leaf_link *l, int64_t ns)
{
    loop_timer_arm(l->timer, loop_mono_ns(l->leaf->loop) + ns);
}

void link_wait_ping(struct leaf_link *l, int64_t ns)
{
    int64_t left = l->deadline_wall_ns - loop_wall_ns(l->leaf->loop);

    link_wait(l, l->deadline_wall_ns != 0 && left < ns ? left : ns);
}

/* --- end -------------------------------------------------------------------------------------- */

/* Out of its account: its interest ends, nothing is sent to it any more. */
static void leave_account(struct leaf_link *l, bool now)
{
    struct account *a = l->account;

    now = now || l->leaf->leaving;
    if (!l->counted) {
        realm_leave(l, now);
        return;
    }
    l->counted = false;
    account_retain(a); /* the realm may hold the last reference */
    realm_leave(l, now);
    account_counters(a)->leafnodes--;
    l->leaf->usable--;
    if (l->shown)
        l->leaf->setup.changed(l->leaf->setup.arg, l, false);
    account_release(a);
}

void link_departed(struct leaf_link *l)
{
    if (l->gone)
        link_free(l);
}

void link_leave_now(struct leaf_link *l)
{
    leave_account(l, true);
    link_departed(l);
}

static bool too_much_waits(const struct leaf_link *l)
{
    return net_queued(l->conn) > (uint64_t)l->leaf->options->max_pending;
}

void link_close(struct leaf_link *l, const char *err, enum reason reason)
{
    if (l->phase == LEAF_CLOSING)
        return;
    if (err != NULL)
        link_send_err(l, "%s", err);
    l->reason = reason;
    l->phase = LEAF_CLOSING;
    loop_timer_stop(l->timer);
    login_abandon(l);
    leave_account(l, false);
    if (l->conn == NULL)
        return;
    if (too_much_waits(l))
        net_close(l->conn, 0);
    else
        net_close_heard(l->conn, LINGER_MS);
}

/* The same for callers that are inside the router or the realm: the interest ends with the
 * connection, in this turn. */
static void stop_sending(struct leaf_link *l, enum reason reason)
{
    l->reason = reason;
    l->phase = LEAF_CLOSING;
    loop_timer_stop(l->timer);
    net_close(l->conn, 0);
}

static void finish_close(void *arg, enum net_why why, const char *text)
{
    struct leaf_link *l = arg;
    bool dialling = l->phase == LEAF_DIALLING;
    char label[LINK_LABEL];

    if (l->reason == REASON_NONE)
        l->reason = reason_of_net(why);
    if (why == NET_CLOSED_SLOW)
        l->leaf->totals.slow++;
    if (why == NET_CLOSED_TLS)
        log_error("%s - TLS leafnode handshake error: %s", link_label(l, label), text);
    if (!dialling)
        log_info("%s - Leafnode connection closed: %s%s%s", link_label(l, label),
                 reason_text(l->reason), l->name != NULL ? " - Remote: " : "",
                 l->name != NULL ? l->name : "");
    l->phase = LEAF_CLOSING;
    loop_timer_stop(l->timer);
    login_abandon(l);
    leave_account(l, false);
    if (l->remote != NULL)
        dial_ended(l, dialling ? text : NULL);
    l->remote = NULL;
    l->conn = NULL;
    l->gone = true;
    if (l->realm == NULL)
        link_departed(l);
}

/* --- silence ---------------------------------------------------------------------------------- */

int64_t link_ping_every(const struct leaf_link *l)
{
    int64_t every = l->leaf->options->ping_interval_ns;

    return every < PING_MOST_NS ? every : PING_MOST_NS;
}

static void send_ping(struct leaf_link *l)
{
    l->pings_out++;
    if (l->ping_sent_ns == 0)
        l->ping_sent_ns = clock_mono_ns();
    link_write(l, mf_str("PING\r\n"));
}

static void receive_pong(struct leaf_link *l)
{
    if (l->ping_sent_ns != 0)
        l->rtt_ns = clock_mono_ns() - l->ping_sent_ns;
    link_choose_level(l);
    l->ping_sent_ns = 0;
    l->pings_out = 0;
}

static void check_pings(struct leaf_link *l)
{
    if (l->deadline_wall_ns != 0 && loop_wall_ns(l->leaf->loop) >= l->deadline_wall_ns) {
        link_close(l, "User Authentication Expired", REASON_AUTH_EXPIRED);
        return;
    }
    if (l->heard)
        l->pings_out = 0;
    l->heard = false;
    if (l->pings_out + 1 > (uint64_t)l->leaf->options->ping_max) {
        l->leaf->totals.stale++;
        link_close(l, "Stale Connection", REASON_STALE);
        return;
    }
    send_ping(l);
    link_wait_ping(l, link_ping_every(l));
}

static void fire_timer(void *arg)
{
    struct leaf_link *l = arg;

    switch (l->phase) {
    case LEAF_WAIT_LOGIN:
    case LEAF_CHECKING:
        link_close(l, "Authentication Timeout", REASON_AUTH_TIMEOUT);
        break;
    case LEAF_WAIT_ANSWER:
        link_close(l, "Stale Leaf Node Connection - Closing", REASON_STALE);
        break;
    case LEAF_PEEKING:
        accept_peeked(l, 0);
        break;
    case LEAF_SECURING:
        link_log_error(l, "TLS leafnode handshake error: timeout");
        link_close(l, NULL, REASON_TLS);
        break;
    case LEAF_DIALLING: /* stays so: the attempt failed, no link ended */
        net_close(l->conn, 0);
        break;
    case LEAF_WAIT_INFO:
        link_close(l, NULL, REASON_READ);
        break;
    case LEAF_USABLE:
        check_pings(l);
        break;
    case LEAF_CLOSING:
        break;
    }
}

/* --- output ----------------------------------------------------------------------------------- */

void link_check_queue(struct leaf_link *l, const void *origin)
{
    size_t queued = net_queued(l->conn), max = (size_t)l->leaf->options->max_pending;
    char label[LINK_LABEL];

    if (MF_LIKELY(queued < max / 4 * 3))
        return;
    if (queued > max) {
        l->leaf->totals.slow++;
        account_counters(l->account)->slow_consumers++;
        log_info("%s - Slow Consumer Detected: MaxPending of %lld Exceeded", link_label(l, label),
                 (long long)l->leaf->options->max_pending);
        stop_sending(l, REASON_SLOW_PENDING);
    } else if (origin != NULL &&
               delivery_is_read(&l->output, queued, loop_mono_ns(l->leaf->loop))) {
        l->leaf->setup.stall(l->leaf->setup.arg, origin);
    }
}

/* --- commands --------------------------------------------------------------------------------- */

static void find_loop(struct leaf_link *l)
{
    const char *name = account_name(l->account);

    link_log_error(l,
                   "Loop detected for leafnode account=\"%s\": what this server announces comes "
                   "back from \"%s\". Delaying attempt to reconnect for 30s",
                   name, l->name != NULL ? l->name : "");
    if (l->remote != NULL)
        l->remote->delay_ns = LEAF_PENALTY_NS;
    link_send_err(l,
                  "Loop detected for leafnode account=\"%s\". Delaying attempt to reconnect for "
                  "30s",
                  name);
    link_close(l, NULL, REASON_LOOP);
}

static void learn_interest(struct leaf_link *l, struct verb_cmd *cmd)
{
    if (!subject_valid(cmd->subject)) {
        link_send_err(l, "Invalid Subscription");
        return;
    }
    if (mf_eq_str(cmd->subject, l->realm->lds)) {
        find_loop(l);
        return;
    }
    switch (rules_learn(l, cmd->subject)) {
    case RULES_YES:
        realm_learn(l, cmd);
        break;
    case RULES_IGNORE:
        log_debug("lid:%llu - Permissions Violation for Subscription to \"%.*s\"",
                  (unsigned long long)l->id, MF_FMT(cmd->subject));
        break;
    case RULES_VIOLATION:
        link_log_error(l, "Subscription Violation on \"%.*s\" - Check other side configuration",
                       MF_FMT(cmd->subject));
        link_send_err(l, "Permissions Violation for Subscription to \"%.*s\"",
                      MF_FMT(cmd->subject));
        link_close(l, NULL, REASON_PROTOCOL);
        break;
    }
}

static void receive_error(struct leaf_link *l, struct mf_slice text)
{
    int64_t now = loop_mono_ns(l->leaf->loop);

    if (l->error_ns == 0 || now - l->error_ns >= CLOCK_S) /* a peer cannot fill the log */
        link_log_error(l, "Leafnode Error '%.*s'", MF_FMT(text));
    l->error_ns = now;
    if (mf_eq_str(text, "Maximum Payload Violation"))
        accept_too_large(l);
    if (l->remote != NULL)
        dial_refused(l, text);
}

static void run_usable(struct leaf_link *l, struct verb_cmd *cmd)
{
    switch (cmd->op) {
    case VERB_MSG:
        cross_receive(l, cmd);
        break;
    case VERB_SUB:
        learn_interest(l, cmd);
        break;
    case VERB_UNSUB:
        realm_forget(l, cmd);
        break;
    case VERB_INFO:
        if (l->remote != NULL)
            dial_info(l, cmd->args);
        break;
    case VERB_CONNECT:
        link_log_error(l, "second CONNECT");
        link_close(l, NULL, REASON_PROTOCOL);
        break;
    default:
        break;
    }
}

static void run_handshake(struct leaf_link *l, struct verb_cmd *cmd)
{
    if (l->remote == NULL) {
        accept_command(l, cmd);
        return;
    }
    if (cmd->op == VERB_INFO) {
        dial_info(l, cmd->args);
    } else if (cmd->op == VERB_CONNECT || cmd->op == VERB_MSG || cmd->op == VERB_SUB) {
        link_log_error(l, "the first line is no INFO: this is no port for leaf nodes");
        link_close(l, NULL, l->phase == LEAF_WAIT_INFO ? REASON_WRONG_PORT : REASON_PROTOCOL);
    }
}

static void run_command(struct leaf_link *l, struct verb_cmd *cmd)
{
    if (cmd->op == VERB_PING && l->phase != LEAF_WAIT_LOGIN)
        link_write(l, mf_str("PONG\r\n"));
    else if (cmd->op == VERB_PONG && l->phase != LEAF_WAIT_LOGIN)
        receive_pong(l);
    else if (cmd->op == VERB_ERR && l->phase != LEAF_WAIT_LOGIN)
        receive_error(l, cmd->args);
    else if (l->phase == LEAF_USABLE)
        run_usable(l, cmd);
    else
        run_handshake(l, cmd);
}

/* The beginning of a line, for the log.  CONNECT holds a password. */
static size_t shown_length(struct mf_slice line)
{
    static const char connect[] = "connect";
    size_t same = 0;

    while (same < line.len && same + 1 < sizeof connect && (line.ptr[same] | 0x20) == connect[same])
        same++;
    return same + 1 == sizeof connect ? same : line.len < 64 ? line.len : 64;
}

static void parse_failed(struct leaf_link *l, ssize_t why, struct mf_slice line)
{
    size_t shown = shown_length(line);

    link_log_error(l, "Leafnode parser error: '%.*s'", (int)shown, (const char *)line.ptr);
    if (l->phase == LEAF_WAIT_LOGIN && why == VERB_E_UNKNOWN) {
        link_close(l, "Authorization Violation", REASON_AUTH_FAILURE);
        return;
    }
    switch (why) {
    case VERB_E_UNKNOWN:
        link_close(l, "Unknown Protocol Operation", REASON_PROTOCOL);
        break;
    case VERB_E_LINE:
        link_close(l, "maximum control line exceeded", REASON_MAX_CONTROL_LINE);
        break;
    case VERB_E_PAYLOAD:
        link_close(l, "Maximum Payload Violation", REASON_MAX_PAYLOAD);
        break;
    default:
        link_close(l, NULL, REASON_PROTOCOL);
    }
}

static size_t largest_payload(const struct leaf_link *l)
{
    const struct options_account *o = l->account == NULL ? NULL : account_options(l->account);
    size_t max = (size_t)l->leaf->options->max_payload;

    return o != NULL && o->max_payload >= 0 && (size_t)o->max_payload < max ? (size_t)o->max_payload
                                                                            : max;
}

static bool turn_is_over(struct leaf_link *l, unsigned commands)
{
    struct loop *lo = l->leaf->loop;

    return work_turn_spent(lo) || (commands % PATIENCE == 0 && work_spent(lo));
}

static size_t bytes_in(void *arg, const uint8_t *p, size_t n)
{
    struct leaf_link *l = arg;
    size_t done = 0;
    unsigned commands = 0;

    if (MF_UNLIKELY(l->phase == LEAF_PEEKING)) {
        accept_peeked(l, p[0]);
        if (l->phase != LEAF_WAIT_LOGIN)
            return 0; /* it is TLS's now */
    }
    l->refilter = false; /* a filter that was set outside of this call is in place */
    l->heard = true;
    l->last_wall_ns = loop_wall_ns(l->leaf->loop);
    while (done < n && l->phase != LEAF_CLOSING) {
        struct verb_cmd cmd;
        ssize_t used;
        if (l->phase == LEAF_CHECKING)
            return done; /* paused, but net may pass on bytes it had read */
        if (n - done < l->whole)
            return done; /* a large payload arrives in many pieces */
        cmd.whole = 0;
        used = verb_parse(p + done, n - done, largest_payload(l), &cmd);
        if (used == 0) {
            l->whole = cmd.whole;
            return done;
        }
        l->whole = 0;
        if (used < 0) {
            parse_failed(l, used, mf_slice(p + done, n - done));
            return n;
        }
        if (MF_UNLIKELY(log_enabled(LOG_TRACE_)))
            show_received(l, &cmd, mf_slice(p + done, (size_t)used));
        done += (size_t)used;
        run_command(l, &cmd);
        if (l->refilter) { /* what follows has another form */
            l->refilter = false;
            return done;
        }
        if (MF_UNLIKELY(turn_is_over(l, ++commands))) {
            net_yield(l->conn);
            break;
        }
    }
    if (l->phase == LEAF_CLOSING)
        return n;
    if (MF_UNLIKELY(too_much_waits(l))) /* it sends PINGs and reads no PONG */
        link_check_queue(l, NULL);
    return done;
}

static void finish_tls(void *arg)
{
    struct leaf_link *l = arg;

    if (l->phase != LEAF_SECURING)
        return;
    if (l->remote != NULL)
        dial_secured(l);
    else
        accept_secured(l);
}

static void on_drained(void *arg)
{
    realm_announce_more(arg);
}

const struct net_handler link_handler = {
    .bytes = bytes_in, .drained = on_drained, .secured = finish_tls, .closed = finish_close};
