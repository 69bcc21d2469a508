/* ops_commands.c: the table of commands about servers, backups, measurements, keys. */
#include "cli/ops/ops_commands.h"

#include "cli/ops/backup.h"
#include "cli/ops/bench.h"
#include "cli/ops/nkeys.h"
#include "cli/ops/passwd.h"
#include "cli/ops/server_info.h"
#include "cli/ops/server_report.h"
#include "cli/ops/top.h"
#include "cli/server_check.h"

const struct cli_command ops_commands[] = {
    {.name = "backup",
     .args = "[STREAM] DIR",
     .about = "copy a stream, or with --all every stream, into a folder",
     .help =
         "The folder is as `nats stream backup` makes it: backup.json and stream.tar.s2.  The\n"
         "archive is verified while it is received and is named *.partial until all of it is\n"
         "on disk.  With --all finished backups in DIR are kept as they are, so an interrupted\n"
         "run goes on with the streams that are left; a new backup needs a new folder, or\n"
         "--force.",
     .flags = backup_flags,
     .example = "mayfly backup ORDERS /backup/orders\nmayfly backup kv:sessions /backup/sessions\n"
                "mayfly backup --all /backup/monday\n",
     .run = backup_run},
    {.name = "restore",
     .args = "DIR",
     .about = "make a stream from a folder of backup, here or on a nats-server",
     .help = "The archive is verified before the server hears of it: its S2 frames, its end, and\n"
             "size and digest if backup.json records them.  A stream that exists is never\n"
             "overwritten.  A restore that fails or is interrupted leaves no stream behind.",
     .flags = restore_flags,
     .example = "mayfly restore /backup/orders\nmayfly restore /backup/orders --stream "
                "ORDERS_COPY\nmayfly restore --all /backup/monday\nmayfly restore --verify "
                "/backup/orders\n",
     .run = restore_run},
    {.name = "server check",
     .args = "[URL]",
     .about = "show whether a server is well, from its monitoring port",
     .help = "URL is http://HOST[:PORT][/BASE] or https://..., by default http://127.0.0.1:8222.\n"
             "The certificate of https is verified: --tlsca, --tlscert and --tlskey name files.\n"
             "Exit code: 0 well, 1 not well, 2 could not be asked.",
     .example = "mayfly server check\nmayfly server check http://10.0.0.5:8222 --json\n",
     .run = server_check_run},
    {.name = "server info",
     .about = "show the connected server and the user's account",
     .example = "mayfly server info -s nats://10.0.0.5:4222\n",
     .run = server_info_run},
    {.name = "server ls",
     .about = "list the servers that answer the system account",
     .help = "Other users than those of the system account see the connected server alone.",
     .example = "mayfly server ls --user admin --password secret\n",
     .run = server_info_list},
    {.name = "server report",
     .args = "KIND [URL]",
     .about = "a table of streams, consumers, connections or accounts",
     .help = "KIND is streams, consumers, connections or accounts.  URL is the address of the\n"
             "monitoring port, by default http://127.0.0.1:8222.",
     .flags = server_report_flags,
     .example = "mayfly server report streams --sort bytes\nmayfly server report connections "
                "http://10.0.0.5:8222\n",
     .run = server_report_run},
    {.name = "top",
     .args = "[URL]",
     .about = "connections, streams, rates and expiries per second, live",
     .help =
         "URL is the address of the monitoring port, by default http://127.0.0.1:8222.  q or\n"
         "Ctrl-C leaves.  A server that restarts meanwhile is asked until it answers.  Without\n"
         "a terminal, or with --json, it prints one snapshot over one interval; --count N\n"
         "prints N of them, one JSON document a line.  mayfly ttl top has lateness and\n"
         "forecast of each stream.",
     .flags = top_flags,
     .example = "mayfly top\nmayfly top http://10.0.0.5:8222 --interval 5s\nmayfly top --json\n",
     .run = top_run},
    {.name = "bench pub",
     .about = "measure publishes: core NATS, or with -J into a stream",
     .help = "Makes its own stream bench_<random> and removes it at the end, also after Ctrl-C.",
     .flags = bench_pub_flags,
     .example = "mayfly bench pub --msgs 1000000 --size 256\nmayfly bench pub -J --clients 4 "
                "--window 1000\nmayfly bench pub --sync --msgs 2000\n",
     .run = bench_pub_run},
    {.name = "bench kv",
     .about = "measure puts and gets of a KV bucket",
     .help = "Makes its own bucket bench_<random> and removes it at the end, also after Ctrl-C.\n"
             "Gets are direct gets.",
     .flags = bench_kv_flags,
     .example = "mayfly bench kv --keys 10000 --ttl 1h\nmayfly bench kv --window 1 --puts 2000\n",
     .run = bench_kv_run},
    {.name = "bench expiry",
     .about = "measure the time from a key's deadline to the watcher that hears of it",
     .help = "Puts keys with a TTL into its own bucket bench_<random> and watches it with an\n"
             "ordered push consumer, as KV clients do.  The clocks of both machines must agree.",
     .flags = bench_expiry_flags,
     .example = "mayfly bench expiry\nmayfly bench expiry --keys 100000 --ttl 5s --spread 0s\n",
     .run = bench_expiry_run},
    {.name = "passwd",
     .about = "make the bcrypt text of a password, for a configuration",
     .help = "Asks twice, without echo; --stdin reads one line instead.  Prints one line that\n"
             "mayflyd and nats-server accept as a password.",
     .flags = passwd_flags,
     .example = "mayfly passwd\nprintf 's3cret\\n' | mayfly passwd --stdin --cost 10\n",
     .run = passwd_run},
    {.name = "nkey make",
     .args = "KIND",
     .about = "make a key pair: user, account, server, operator, cluster or curve",
     .help = "Prints the secret seed and the public key, one a line.  With --output the seed goes\n"
             "to a new file that only its owner can read, and the public key alone is printed.",
     .flags = nkeys_make_flags,
     .example = "mayfly nkey make user --output alice.nk\n",
     .run = nkeys_make},
    {.name = "nkey show",
     .args = "FILE",
     .about = "print the public key of the seed in a file; - reads standard input",
     .example = "mayfly nkey show alice.nk\nmayfly nkey show - < alice.nk\n",
     .run = nkeys_show},
    {0},
};
