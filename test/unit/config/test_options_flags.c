/* test_options_flags.c: the command line over the file, and what a reload can not change. */
#include "config/options.h"

#include "base/clock.h"

#include "unity.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct options *o;
static struct mf_error e;
static char conf[64];

void setUp(void)
{
    o = NULL;
    e = (struct mf_error){0, ""};
}
void tearDown(void)
{
    options_free(o);
    o = NULL;
    unlink(conf);
}

static void write_conf(const char *text)
{
    FILE *f = fopen(conf, "we");
    TEST_ASSERT_NOT_NULL(f);
    fputs(text, f);
    fclose(f);
}

/* Arguments separated by single spaces; %c stands for the file. */
static int run(const char *line)
{
    static char words[1024];
    char *argv[32], *save = NULL;
    int argc = 0;
    argv[argc++] = (char *)(uintptr_t) "mayflyd";
    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok_r(words, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
        argv[argc++] = strcmp(w, "%c") == 0 ? conf : w;
    argv[argc] = NULL;
    options_free(o);
    o = NULL;
    e = (struct mf_error){0, ""};
    return options_load(&o, argc, argv, &e);
}

static void ok(const char *line)
{
    TEST_ASSERT_EQUAL_MESSAGE(0, run(line), e.text);
}

static void bad(const char *line, const char *want)
{
    char both[1200];
    int rc = run(line);
    snprintf(both, sizeof both, "%s\n  gave: %s\n  want: %s", line, e.text, want);
    TEST_ASSERT_NOT_EQUAL_MESSAGE(0, rc, both);
    TEST_ASSERT_NULL(o);
    TEST_ASSERT_NOT_NULL_MESSAGE(strstr(e.text, want), both);
    TEST_ASSERT_NULL_MESSAGE(strstr(e.text, "hunter2"), both);
}

#define HOLDS(line, condition)                                                                     \
    do {                                                                                           \
        ok(line);                                                                                  \
        TEST_ASSERT_TRUE_MESSAGE(condition, line "   =>   " #condition);                           \
    } while (0)

static bool is(const char *a, const char *b)
{
    return a != NULL && strcmp(a, b) == 0;
}

/* --- flags ------------------------------------------------------------------------------------ */

static void test_go_flag_syntax_is_understood(void)
{
    HOLDS("", o->port == 4222);
    HOLDS("-p 5", o->port == 5);
    HOLDS("-p=5", o->port == 5);
    HOLDS("--p 5", o->port == 5);
    HOLDS("--port=-1", o->port == -1);
    HOLDS("-p 0x10", o->port == 16);
    HOLDS("-p 5 -port 6", o->port == 6); /* the last one wins */
    HOLDS("-js", o->jetstream.enabled);
    HOLDS("--jetstream=false", !o->jetstream.enabled);
    HOLDS("-js=T -D=0", o->jetstream.enabled && !o->debug);
    HOLDS("-a=", is(o->host, "0.0.0.0"));
    HOLDS("-p 5 --", o->port == 5);
}

static void test_every_flag_reaches_its_option(void)
{
    HOLDS("-a h -n s -P pid -m 8222", is(o->host, "h") && is(o->server_name, "s") &&
                                          is(o->pid_file, "pid") && o->http_port == 8222);
    HOLDS("--addr h --name s --pid p --http_port 1", is(o->http_host, "h"));
    HOLDS("--net h --server_name s", is(o->host, "h") && is(o->server_name, "s"));
    HOLDS("--client_advertise a:1 --ports_file_dir d",
          is(o->client_advertise, "a:1") && is(o->ports_file_dir, "d"));
    HOLDS("-l f -T=false --logtime_utc", is(o->log_file, "f") && !o->logtime && o->logtime_utc);
    HOLDS("-s -r udp://h:1 --log_size_limit 9 --max_traced_msg_len 8",
          o->syslog && is(o->remote_syslog, "udp://h:1") && o->log_size_limit == 9 &&
              o->max_traced_msg_len == 8);
    HOLDS("-D", o->debug && !o->trace);
    HOLDS("-V", o->trace && !o->trace_verbose);
    HOLDS("-VV", o->trace && o->trace_verbose && !o->debug);
    HOLDS("-DV", o->debug && o->trace && !o->trace_verbose);
    HOLDS("-DVV", o->debug && o->trace && o->trace_verbose);
    HOLDS("-js -sd d", is(o->jetstream.store_dir, "d"));
    HOLDS("--user u --pass p", is(o->auth.user, "u") && is(o->auth.password, "p") && o->auth.set);
    HOLDS("--auth t", is(o->auth.token, "t"));
    HOLDS("--tls --tlscert /dev/null --tlskey /dev/null",
          o->tls.set && o->tls.ncerts == 1 && !o->tls.verify);
    HOLDS("--tlscert /dev/null --tlskey /dev/null --tlsverify --tlscacert /dev/null",
          o->tls.verify && is(o->tls.ca_file, "/dev/null"));
    HOLDS("--cluster nats://u:hunter2@127.0.0.1:-1 --cluster_name c --routes nats://h:1,nats://k:2",
          o->cluster.listens && o->cluster.port == -1 && is(o->cluster.name, "c") &&
              o->cluster.remotes.n == 2 && o->warnings.n == 1);
    HOLDS("--cluster_listen nats://h:1 --no_advertise --connect_retries 3 --cluster_advertise x",
          o->cluster.port == 1);
    HOLDS("--profile 6060", o->warnings.n == 1);
}

static void test_words_that_end_the_program_win_over_the_rest(void)
{
    HOLDS("-h", o->help);
    HOLDS("--help -c /nope", o->help);
    HOLDS("help", o->help);
    HOLDS("-v", o->version);
    HOLDS("VERSION", o->version);
    HOLDS("--help_tls", o->help_tls);
    HOLDS("-sl reload=123 -c /nope", is(o->signal, "reload=123"));
    HOLDS("--signal ldm", is(o->signal, "ldm"));
}

static void test_wrong_flags_are_told_in_gos_words(void)
{
    bad("-x", "flag provided but not defined: -x; see mayflyd --help");
    bad("--prot 5", "flag provided but not defined: -prot; did you mean --port?");
    bad("--hunter3=1", "flag provided but not defined: -hunter3");
    bad("-p", "flag needs an argument: -p");
    bad("-p x", "invalid value \"x\" for flag -p: parse error");
    bad("-p 70000", "invalid value \"70000\" for flag -p: value out of range");
    bad("-p 99999999999999999999", "value out of range");
    bad("-js=maybe", "invalid boolean value \"maybe\" for -js: parse error");
    bad("---p 5", "bad flag syntax: ---p");
    bad("-=5", "bad flag syntax: -");
    bad("---pass=hunter2", "bad flag syntax: ---pass");
    bad("--user u --pass my hunter2", "unrecognized command after the flags");
    bad("start", "unrecognized command: \"start\"");
    bad("-p 5 start", "unrecognized command: \"start\"");
    bad("-c /nope/x.conf", "open /nope/x.conf: No such file");
    bad("-t", "must specify [-c, --config] option to check configuration file syntax");
    bad("--tls", "TLS Server certificate must be present and valid");
    bad("--tlscert /dev/null", "TLS Server private key must be present and valid");
    bad("--tlscert /nope --tlskey /dev/null", "open /nope: No such file");
    bad("--routes nats://h:1", "solicited routes require cluster capabilities");
    bad("--cluster nats://u@h:1", "expected cluster password to be set");
    bad("--cluster h:1", "expected nats://host:port");
    bad("--user u --auth hunter2", "Cannot have a user/pass and token");
    bad("-m 1 -ms 2", "TLS cert and key required for HTTPS");
}

/* --- file and flags --------------------------------------------------------------------------- */

static void test_flags_override_the_file_and_only_what_they_name(void)
{
    write_conf("port: 1, host: filehost, debug: true, logtime: false, jetstream { store_dir: d }");
    HOLDS("-c %c", o->port == 1 && o->debug && !o->logtime && is(o->config_file, conf));
    HOLDS("-c %c -p 2", o->port == 2 && is(o->host, "filehost"));
    HOLDS("--config %c -D=false -T", !o->debug && o->logtime);
    HOLDS("-p 3 -c %c", o->port == 3 && is(o->jetstream.store_dir, "d"));
    HOLDS("-c %c -js=false", !o->jetstream.enabled);
    write_conf("tls { cert_file: \"/dev/null\", key_file: \"/dev/null\" }");
    HOLDS("-c %c", o->tls.set);
    HOLDS("-c %c -tls=false", !o->tls.set);
    write_conf("authorization { users: [{user: a}] }");
    bad("-c %c --user u --pass hunter2", "Can not have --user or --auth and a users array");
    write_conf("cluster { port: 1 }");
    HOLDS("-c %c --routes nats://h:1", o->cluster.nremotes == 1);
}

/* nats-server's -t also fails on what it would only warn of; so does ours, but not on features
 * that are merely not active. */
static void test_checking_is_stricter_than_starting(void)
{
    write_conf("ping_interval: 10");
    HOLDS("-c %c", o->warnings.n == 1);
    bad("-t -c %c", "ping_interval should be converted to a duration");
    write_conf("");
    HOLDS("-c %c", o->warnings.n == 1);
    bad("-t -c %c", "config has no values or is empty");
    write_conf("cluster { port: 1 }");
    HOLDS("-t -c %c", o->check_config);
    write_conf("prot: 5");
    bad("-c %c", ":1:1: unknown field \"prot\"; did you mean \"port\"?");
}

static void test_usage_names_every_flag(void)
{
    static const char *const names[] = {
        "-a",        "--addr",    "--net",       "-p",          "--port",      "-n",
        "--name",    "-P",        "--pid",       "-m",          "-ms",         "-c",
        "-t",        "-sl",       "--signal",    "-l",          "-T",          "--logtime_utc",
        "-s",        "-r",        "-D",          "-V",          "-VV",         "-DV",
        "-DVV",      "-js",       "-sd",         "--user",      "--pass",      "--auth",
        "--tls",     "--tlscert", "--tlsverify", "--tlscacert", "--routes",    "--cluster",
        "--profile", "-h",        "-v",          "--help_tls",  "--http_port", "--ports_file_dir",
    };
    for (size_t i = 0; i < MF_COUNT(names); i++)
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(options_usage(), names[i]), names[i]);
    TEST_ASSERT_NOT_NULL(strstr(options_tls_usage(), "TLS_AES_128_GCM_SHA256"));
}

/* --- reload ----------------------------------------------------------------------------------- */

static const char *refusal(const char *before, const char *after)
{
    static char text[600];
    struct options *a = NULL, *b = NULL;
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&a, mf_str(before), "a", &e), e.text);
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&b, mf_str(after), "b", &e), e.text);
    const char *why = options_reload_refusal(a, b);
    snprintf(text, sizeof text, "%s", why == NULL ? "" : why);
    options_free(a);
    options_free(b);
    return text;
}

static void test_reloadable_changes_are_not_refused(void)
{
    static const char *const changes[][2] = {
        {"debug: true", "debug: false"},
        {"trace: true", "logfile: x"},
        {"max_payload: 1k", "max_payload: 2k"},
        {"max_connections: 1", "max_connections: 2"},
        {"ping_interval: 1s", "ping_interval: 2s"},
        {"authorization { user: a, pass: b }", "authorization { users: [{user: c}] }"},
        {"accounts { A {} }", "accounts { B { users: [{user: c}] } }"},
        {"server_tags: a", "server_tags: [b, c]"},
        {"pid_file: a", "pid_file: b"},
        {"tls { cert_file: \"/dev/null\", key_file: \"/dev/null\" }", "debug: true"},
        {"port: 4222", "port: -1"}, /* any port will do: it has one */
        {"jetstream { max_mem: 1G, max_file: 1G }", "jetstream { max_mem: 2G, max_file: 1G }"},
        {"authorization { users: [{user: a}] }\nno_auth_user: a",
         "authorization { users: [{user: b}] }"},
    };
    for (size_t i = 0; i < MF_COUNT(changes); i++)
        TEST_ASSERT_EQUAL_STRING("", refusal(changes[i][0], changes[i][1]));
}

static void test_fixed_settings_are_refused_by_name(void)
{
    static const char *const changes[][3] = {
        {"port: 1", "port: 2", "config reload not supported for Port: old=1, new=2"},
        {"host: a", "host: b", "config reload not supported for Host: old=a, new=b"},
        {"server_name: a", "server_name: b", "ServerName: old=a, new=b"},
        {"http_port: 1", "http_port: 2", "HTTPPort: old=1, new=2"},
        {"max_subs: 1", "max_subs: 2", "MaxSubs: old=1, new=2"},
        {"max_pending: 2MB", "max_pending: 3MB", "MaxPending: old=2097152, new=3145728"},
        {"lame_duck_duration: 30s", "lame_duck_duration: 40s",
         "LameDuckDuration: old=30s, new=40s"},
        {"debug: true", "jetstream: true", "JetStream: old=false, new=true"},
        {"jetstream {store_dir: a}", "jetstream {store_dir: b}", "jetstream storage directory"},
        {"jetstream {max_mem: 2G}", "jetstream {max_mem: 1G}",
         "decreasing jetstream max memory and store"},
        {"jetstream {}", "jetstream {max_mem: 1G}", "jetstream dynamic max memory and store"},
        {"jetstream {domain: a}", "jetstream {domain: b}", "JetStreamDomain: old=a, new=b"},
        {"websocket {port: 1, no_tls: true}", "websocket {port: 2, no_tls: true}", "Websocket"},
        {"cluster {port: 1}", "cluster {port: 2}", "cluster port: old=1, new=2"},
        {"authorization { users: [{user: a}] }\nno_auth_user: a",
         "authorization { users: [{user: a}] }", "NoAuthUser: old=a, new="},
        {"accounts {S {}}\nsystem_account: S", "accounts {S {}}", "SystemAccount: old=S, new=$SYS"},
    };
    for (size_t i = 0; i < MF_COUNT(changes); i++) {
        const char *why = refusal(changes[i][0], changes[i][1]);
        TEST_ASSERT_NOT_NULL_MESSAGE(strstr(why, changes[i][2]), why);
        TEST_ASSERT_EQUAL_STRING("", refusal(changes[i][0], changes[i][0]));
    }
}

int main(void)
{
    snprintf(conf, sizeof conf, "flags_test_%ld.conf", (long)getpid());
    UNITY_BEGIN();
    RUN_TEST(test_go_flag_syntax_is_understood);
    RUN_TEST(test_every_flag_reaches_its_option);
    RUN_TEST(test_words_that_end_the_program_win_over_the_rest);
    RUN_TEST(test_wrong_flags_are_told_in_gos_words);
    RUN_TEST(test_flags_override_the_file_and_only_what_they_name);
    RUN_TEST(test_checking_is_stricter_than_starting);
    RUN_TEST(test_usage_names_every_flag);
    RUN_TEST(test_reloadable_changes_are_not_refused);
    RUN_TEST(test_fixed_settings_are_refused_by_name);
    return UNITY_END();
}
