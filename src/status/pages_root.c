/* pages_root.c: the page at "/": the most important numbers and links to the other pages.
 * Self-contained (no scripts, no external resources), refreshed every 5 seconds. */
#include "status/pages_impl.h"

#include "base/clock.h"

static const char head[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta http-equiv=\"refresh\" content=\"5\">"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
    "<title>mayflyd</title><style>"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;"
    "color:#222;background:#fff}"
    "h1{font-size:1.4rem;margin:0}p{margin:.2rem 0 1rem;color:#666}"
    "table{border-collapse:collapse;width:100%}td{padding:.25rem .5rem;border-bottom:1px solid "
    "#eee}"
    "td:last-child{text-align:right;font-variant-numeric:tabular-nums}"
    "nav{display:flex;flex-wrap:wrap;gap:.5rem;margin:1.5rem 0}"
    "nav a{padding:.25rem .6rem;border:1px solid #bbb;border-radius:.4rem;color:#134;"
    "text-decoration:none}nav a:hover{background:#eef4ff}"
    "@media(prefers-color-scheme:dark){body{background:#16181c;color:#e6e6e6}p{color:#999}"
    "td{border-color:#2a2d33}nav a{color:#9cc4ff;border-color:#444}nav a:hover{background:#22262e}}"
    "</style></head><body>\n";

static void write_escaped(struct mf_buf *b, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            mf_buf_puts(b, "&lt;");
            break;
        case '>':
            mf_buf_puts(b, "&gt;");
            break;
        case '&':
            mf_buf_puts(b, "&amp;");
            break;
        case '"':
            mf_buf_puts(b, "&quot;");
            break;
        default:
            mf_buf_byte(b, (uint8_t)*text);
        }
    }
}

static void write_number(struct mf_buf *b, const char *what, uint64_t value)
{
    mf_buf_printf(b, "<tr><td>%s</td><td>%llu</td></tr>\n", what, (unsigned long long)value);
}

static void write_numbers(struct status *s, struct mf_buf *b)
{
    struct page_usage u;

    page_usage(s, &u);
    mf_buf_puts(b, "<table>\n");
    write_number(b, "connections", server_clients(s->server));
    write_number(b, "subscriptions", server_subs(s->server));
    write_number(b, "messages in", server_counters(s->server)->in_msgs);
    write_number(b, "messages out", server_counters(s->server)->out_msgs);
    write_number(b, "bytes in", server_counters(s->server)->in_bytes);
    write_number(b, "bytes out", server_counters(s->server)->out_bytes);
    write_number(b, "slow consumers", server_counters(s->server)->slow_consumers);
    write_number(b, "memory (KB)", u.rss / 1024);
    mf_buf_printf(b, "<tr><td>CPU</td><td>%.1f %%</td></tr>\n</table>\n", u.cpu_percent);
}

void page_root(struct status *s, const char *base_path, struct mf_buf *out)
{
    static const char *const links[] = {"varz",     "connz",   "subsz",  "accountz",
                                        "accstatz", "jsz",     "routez", "gatewayz",
                                        "leafz",    "healthz", "metrics"};
    char text[CLOCK_TEXT];

    mf_buf_puts(out, head);
    mf_buf_puts(out, "<h1>");
    write_escaped(out, server_name(s->server));
    mf_buf_printf(out, "</h1>\n<p>mayflyd %s (NATS %s), up %s%s</p>\n", SERVER_MAYFLY_VERSION,
                  SERVER_NATS_VERSION,
                  clock_uptime(text, clock_mono_ns() - server_start_mono_ns(s->server)),
                  server_is_lame_duck(s->server) ? ", leaving (lame duck)" : "");
    write_numbers(s, out);
    mf_buf_puts(out, "<nav>\n");
    for (size_t i = 0; i < MF_COUNT(links); i++) {
        mf_buf_puts(out, "<a href=\"");
        write_escaped(out, base_path);
        mf_buf_printf(out, "/%s\">/%s</a>\n", links[i], links[i]);
    }
    mf_buf_puts(out, "</nav>\n</body></html>\n");
}
