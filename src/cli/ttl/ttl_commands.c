/* ttl_commands.c: the table of commands about lifetimes: mayfly ttl, mayfly demo. */
#include "cli/ttl/ttl_commands.h"

#include "cli/ttl/ttl_impl.h"

#define FILTER                                                                                     \
    {                                                                                              \
        "filter", 0, CLI_TEXT, "KEY",                                                              \
            "only keys (or subjects) that match KEY, * and > are "                                 \
            "wildcards"                                                                            \
    }
static const struct cli_flag stats_flags[] = {
    FILTER,
    {"depth", 0, CLI_NUMBER, "N", "also groups by the first N tokens of the subjects (1 to 8)"},
    {"price", 0, CLI_TEXT, "AMOUNT",
     "of a GB (1024 MB) for a month: shows the cost of what is stored and of what has expired"},
    {0},
};
static const struct cli_flag list_flags[] = {
    {"within", 0, CLI_DURATION, "TIME", "only messages that expire within TIME"},
    {"state", 0, CLI_TEXT, "STATE",
     "with a deadline, without, infinite (on purpose), or never: both of these (with)"},
    FILTER,
    {"limit", 0, CLI_NUMBER, "N", "at most N messages (100)"},
    {"all", 0, CLI_SWITCH, NULL, "all messages, page after page"},
    {"fail-if-any", 0, CLI_SWITCH, NULL, "exit code 1 if there is such a message"},
    {0},
};
static const struct cli_flag set_flags[] = {
    {"at", 0, CLI_TEXT, "TIME", "expires at this time, 2026-12-01T00:00:00Z, instead of a TTL"},
    {"if", 0, CLI_TEXT, "COND",
     "only if it has a deadline (set), has none (unset), or if the new "
     "one is longer or shorter"},
    {"rev", 0, CLI_NUMBER, "N", "only if N is still the last revision of the key"},
    {0},
};
static const struct cli_flag rev_flags[] = {
    {"rev", 0, CLI_NUMBER, "N", "only if N is still the last revision of the key"},
    {0},
};
static const struct cli_flag forecast_flags[] = {
    {"within", 0, CLI_DURATION, "TIME", "how far to look ahead, 1m to 36500d (24h)"},
    {"buckets", 0, CLI_NUMBER, "N", "parts of that time, 1 to 200 (24)"},
    FILTER,
    {0},
};
static const struct cli_flag watch_flags[] = {
    {"warnings", 0, CLI_SWITCH, NULL, "also one line for each message that is about to expire"},
    {"count", 0, CLI_NUMBER, "N", "end after N events"},
    {0},
};
static const struct cli_flag top_flags[] = {
    {"count", 0, CLI_NUMBER, "N", "end after N rounds (without a terminal 1)"},
    {0},
};
static const struct cli_flag policy_flags[] = {
    {"test", 0, CLI_TEXT, "KEY", "shows which TTL a message on KEY would get, and why"},
    {"ttl", 0, CLI_TEXT, "TTL", "the test's header Nats-TTL"},
    {"header", 'H', CLI_TEXTS, "NAME:VALUE", "a header of the test"},
    {"payload", 0, CLI_TEXT, "TEXT", "payload of the test, or @FILE"},
    {"set", 0, CLI_TEXTS, "KEY=VALUE", "sets a policy key; KEY= removes it"},
    {"dry-run", 0, CLI_SWITCH, NULL, "shows what --set would change, and changes nothing"},
    {0},
};
static const struct cli_flag backfill_flags[] = {
    {"dry-run", 0, CLI_SWITCH, NULL, "counts, and changes nothing"},
    {"which", 0, CLI_TEXT, "WHICH", "messages without a deadline (without), or all (without)"},
    FILTER,
    {"from", 0, CLI_TEXT, "WHEN", "TTLs count from now, or from when it was written (now)"},
    {"spread", 0, CLI_DURATION, "TIME", "spreads the deadlines over TIME"},
    {"rate", 0, CLI_NUMBER, "N", "messages a second, 1 to 1000000 (50000)"},
    {"expire-now", 0, CLI_NUMBER, "N", "as many messages may expire at once (0)"},
    {"no-wait", 0, CLI_SWITCH, NULL, "does not wait for the end"},
    {0},
};
static const struct cli_flag demo_flags[] = {
    {"fast", 0, CLI_SWITCH, NULL, "seconds instead of half a minute"},
    {"keep", 0, CLI_SWITCH, NULL, "does not remove the bucket at the end"},
    {0},
};

const struct cli_command ttl_commands[] = {
    {.name = "ttl stats",
     .args = "[STREAM]",
     .about = "what a stream holds and costs: with TTL, without, expired, to expire",
     .help = "Without STREAM: the sum of all streams of the account.\n"
             "What does a stream cost?  --price 0.10 at 0.10 a GB and month.\n",
     .flags = stats_flags,
     .example = "mayfly ttl stats drafts\nmayfly ttl stats drafts --price 0.10\n"
                "mayfly ttl stats EVENTS --depth 1\n",
     .run = ttl_stats_run},
    {.name = "ttl ls",
     .args = "[STREAM]",
     .about = "what expires next, what within the hour, which keys never expire",
     .help = "Without STREAM: of all streams of the account.\n"
             "What expires in the next hour?  --within 1h.  Which keys never expire?  --state "
             "never.\n"
             "A full bar is --within, else the longest time left of the list.\n",
     .flags = list_flags,
     .example = "mayfly ttl ls --within 1h\nmayfly ttl ls drafts --state never\n"
                "mayfly ttl ls EVENTS --state without --all\n",
     .run = ttl_list_run},
    {.name = "ttl show",
     .args = "STREAM KEY",
     .about = "the life of one message: its deadline, who decided, its end",
     .example = "mayfly ttl show drafts alice.7f3a\n",
     .run = ttl_show_run},
    {.name = "ttl set",
     .args = "STREAM KEY [TTL]",
     .about = "give a message a new deadline",
     .help = "KEY may have wildcards: then the last message of each key that matches is changed.\n"
             "A deadline in the past ends a message at once, with its delete marker.\n",
     .flags = set_flags,
     .example = "mayfly ttl set drafts key123 1h\n"
                "mayfly ttl set drafts key123 --at 2026-12-01T00:00:00Z --if longer\n",
     .run = ttl_set_run},
    {.name = "ttl touch",
     .args = "STREAM KEY",
     .about = "renew a message: its TTL counts from now",
     .help =
         "Value and revision do not change, and watchers see nothing.  KEY may have wildcards.\n",
     .flags = rev_flags,
     .example = "mayfly ttl touch drafts alice.7f3a\nmayfly ttl touch drafts 'alice.>'\n",
     .run = ttl_touch_run},
    {.name = "ttl persist",
     .args = "STREAM KEY",
     .about = "take the deadline away: the message does not expire any more",
     .help = "KEY may have wildcards.\n",
     .flags = rev_flags,
     .example = "mayfly ttl persist drafts key456\n",
     .run = ttl_persist_run},
    {.name = "ttl forecast",
     .args = "STREAM",
     .about = "how many messages expire when",
     .flags = forecast_flags,
     .example = "mayfly ttl forecast drafts --within 24h --buckets 8\n",
     .run = ttl_forecast_run},
    {.name = "ttl watch",
     .args = "[STREAM]",
     .about = "events about lifetimes as they happen",
     .help = "Streams with a policy in force send events, each kind at most once a second.\n"
             "--json prints one document a line.\n",
     .flags = watch_flags,
     .example = "mayfly ttl watch drafts --warnings\n",
     .run = ttl_watch_run},
    {.name = "ttl top",
     .about = "streams by the rate of their expiries, redrawn each second",
     .help = "q or Ctrl-C leaves.  --json prints one document a line.\n",
     .flags = top_flags,
     .example = "mayfly ttl top\nmayfly ttl top --count 3 --json\n",
     .run = ttl_top_run},
    {.name = "ttl policy",
     .args = "[STREAM]",
     .about = "the policy in force, its origin; try it, change it",
     .help =
         "Keys: default pattern rules min max bounds never scope slide warn on_expire enforce.\n"
         "A change applies to new messages; `mayfly ttl backfill` applies it to stored ones.\n"
         "--test ends with 1 if the message would be refused.\n",
     .flags = policy_flags,
     .example = "mayfly ttl policy drafts\n"
                "mayfly ttl policy drafts --test alice.x --ttl 48h\n"
                "mayfly ttl policy drafts --set default=12h --set max=30d --dry-run\n",
     .run = ttl_policy_run},
    {.name = "ttl backfill",
     .args = "STREAM [ACTION]",
     .about = "apply the policy to stored messages",
     .help = "ACTION is start (unless given), status, pause, resume or stop.  start waits for the "
             "end;\n"
             "Ctrl-C leaves, and the job goes on in the server.\n",
     .flags = backfill_flags,
     .example = "mayfly ttl backfill EVENTS --dry-run\nmayfly ttl backfill EVENTS --spread 1h\n"
                "mayfly ttl backfill EVENTS status\n",
     .run = ttl_backfill_run},
    {.name = "ttl doctor",
     .args = "[STREAM]",
     .about = "look for mistakes with lifetimes; exit code 1 if there are any",
     .example = "mayfly ttl doctor\n",
     .run = ttl_doctor_run},
    {.name = "demo",
     .about = "a bucket whose keys die in front of your eyes, in under a minute",
     .help = "Makes a bucket demo_<random> on the server, and removes it at the end.\n",
     .flags = demo_flags,
     .example = "mayfly demo\n",
     .run = demo_run},
    {0},
};
