/* hello.c: INFO and CONNECT of a link, written in nats-server's order, read by tables. */
#include "leaf/hello_impl.h"

#include "codec/jsonw.h"

#include <stdio.h>

/* --- INFO ------------------------------------------------------------------------------------- */

#define SUBJECTS(member) offsetof(struct hello_subjects, member)
static const struct json_field subject_fields[] = {
    {"allow", JSON_STRS, SUBJECTS(allow), NULL, NULL, 0},
    {"deny", JSON_STRS, SUBJECTS(deny), NULL, NULL, 0},
};
static const struct json_type subjects_type = {"SubjectPermission", sizeof(struct hello_subjects),
                                               subject_fields, MF_COUNT(subject_fields)};

#define INFO(name, kind, member)                                                                   \
    {                                                                                              \
        name, kind, offsetof(struct hello_info, member), NULL, NULL, 0                             \
    }
static const struct json_field info_fields[] = {
    INFO("server_id", JSON_STR, server_id),
    INFO("server_name", JSON_STR, server_name),
    INFO("version", JSON_STR, version),
    INFO("proto", JSON_INT, proto),
    INFO("go", JSON_STR, go),
    INFO("host", JSON_STR, host),
    INFO("port", JSON_INT, port),
    INFO("headers", JSON_BOOL, headers),
    INFO("auth_required", JSON_BOOL, auth_required),
    INFO("tls_required", JSON_BOOL, tls_required),
    INFO("tls_verify", JSON_BOOL, tls_verify),
    INFO("max_payload", JSON_I64, max_payload),
    INFO("jetstream", JSON_BOOL, jetstream),
    INFO("ip", JSON_STR, ip),
    INFO("client_id", JSON_I64, client_id),
    INFO("nonce", JSON_STR, nonce),
    INFO("cluster", JSON_STR, cluster),
    INFO("domain", JSON_STR, domain),
    INFO("compression", JSON_STR, compression),
    INFO("api_lvl", JSON_INT, api_level),
    INFO("info_on_connect", JSON_BOOL, info_on_connect),
    INFO("connect_info", JSON_BOOL, connect_info),
    INFO("remote_account", JSON_STR, remote_account),
    INFO("acc_is_sys", JSON_BOOL, system),
    INFO("leafnode_urls", JSON_STRS, urls),
    INFO("ws_connect_urls", JSON_STRS, ws_urls),
    {"import", JSON_POINTER, offsetof(struct hello_info, import), &subjects_type, NULL, 0},
    {"export", JSON_POINTER, offsetof(struct hello_info, export), &subjects_type, NULL, 0},
};
static const struct json_type info_type = {"Info", sizeof(struct hello_info), info_fields,
                                           MF_COUNT(info_fields)};

int hello_info_read(struct mf_slice json, struct hello_info *out, struct arena *mem,
                    struct mf_error *e)
{
    memset(out, 0, sizeof *out);
    return json_unmarshal(json, &info_type, out, mem, e);
}

static void write_subjects(struct jsonw *w, const char *key, const struct hello_subjects *s)
{
    if (s == NULL)
        return;
    jsonw_object(w, key);
    jsonw_opt_strs(w, "allow", &s->allow);
    jsonw_opt_strs(w, "deny", &s->deny);
    jsonw_end(w);
}

void hello_info_write(struct mf_buf *out, const struct hello_info *i)
{
    struct jsonw w;

    mf_buf_puts(out, "INFO ");
    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "server_id", i->server_id);
    jsonw_str(&w, "server_name", i->server_name);
    jsonw_str(&w, "version", i->version);
    jsonw_i64(&w, "proto", i->proto);
    jsonw_str(&w, "go", i->go);
    jsonw_str(&w, "host", i->host);
    jsonw_i64(&w, "port", i->port);
    jsonw_bool(&w, "headers", i->headers);
    jsonw_opt_bool(&w, "auth_required", i->auth_required);
    jsonw_opt_bool(&w, "tls_required", i->tls_required);
    jsonw_opt_bool(&w, "tls_verify", i->tls_verify);
    jsonw_i64(&w, "max_payload", i->max_payload);
    jsonw_opt_bool(&w, "jetstream", i->jetstream);
    jsonw_opt_str(&w, "ip", i->ip);
    jsonw_opt_i64(&w, "client_id", i->client_id);
    jsonw_opt_str(&w, "nonce", i->nonce);
    jsonw_opt_str(&w, "cluster", i->cluster);
    jsonw_opt_str(&w, "domain", i->domain);
    jsonw_opt_str(&w, "compression", i->compression);
    jsonw_opt_bool(&w, "connect_info", i->connect_info);
    jsonw_opt_str(&w, "remote_account", i->remote_account);
    jsonw_opt_bool(&w, "acc_is_sys", i->system);
    jsonw_opt_i64(&w, "api_lvl", i->api_level);
    write_subjects(&w, "import", i->import);
    write_subjects(&w, "export", i->export);
    jsonw_opt_bool(&w, "info_on_connect", i->info_on_connect);
    jsonw_opt_strs(&w, "leafnode_urls", &i->urls);
    jsonw_opt_strs(&w, "ws_connect_urls", &i->ws_urls);
    jsonw_end(&w);
    mf_buf_puts(out, " \r\n");
}

/* --- CONNECT ---------------------------------------------------------------------------------- */

#define CONNECT(name, kind, member)                                                                \
    {                                                                                              \
        name, kind, offsetof(struct hello_connect, member), NULL, NULL, 0                          \
    }
static const struct json_field connect_fields[] = {
    CONNECT("version", JSON_STR, version),
    CONNECT("nkey", JSON_STR, nkey),
    CONNECT("jwt", JSON_STR, jwt),
    CONNECT("sig", JSON_STR, sig),
    CONNECT("proxy_sig", JSON_STR, proxy_sig),
    CONNECT("user", JSON_STR, user),
    CONNECT("pass", JSON_STR, pass),
    CONNECT("auth_token", JSON_STR, token),
    CONNECT("server_id", JSON_STR, server_id),
    CONNECT("name", JSON_STR, name),
    CONNECT("domain", JSON_STR, domain),
    CONNECT("cluster", JSON_STR, cluster),
    CONNECT("compress_mode", JSON_STR, compress_mode),
    CONNECT("remote_account", JSON_STR, remote_account),
    CONNECT("lang", JSON_STR, lang),
    CONNECT("gateway", JSON_STR, gateway),
    CONNECT("is_hub", JSON_BOOL, is_hub),
    CONNECT("headers", JSON_BOOL, headers),
    CONNECT("jetstream", JSON_BOOL, jetstream),
    CONNECT("isolate", JSON_BOOL, isolate),
    CONNECT("protocol", JSON_INT, protocol),
    CONNECT("max_payload", JSON_I64, max_payload),
    CONNECT("deny_pub", JSON_STRS, deny_pub),
};
static const struct json_type connect_type = {"leafConnectInfo", sizeof(struct hello_connect),
                                              connect_fields, MF_COUNT(connect_fields)};

int hello_connect_read(struct mf_slice json, struct hello_connect *out, struct arena *mem,
                       struct mf_error *e)
{
    memset(out, 0, sizeof *out);
    return json_unmarshal(json, &connect_type, out, mem, e);
}

void hello_connect_write(struct mf_buf *out, const struct hello_connect *c)
{
    struct jsonw w;

    mf_buf_puts(out, "CONNECT ");
    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_opt_str(&w, "version", c->version);
    jsonw_opt_str(&w, "nkey", c->nkey);
    jsonw_opt_str(&w, "jwt", c->jwt);
    jsonw_opt_str(&w, "sig", c->sig);
    jsonw_opt_str(&w, "user", c->user);
    jsonw_opt_str(&w, "pass", c->pass);
    jsonw_opt_str(&w, "auth_token", c->token);
    jsonw_opt_str(&w, "server_id", c->server_id);
    jsonw_opt_str(&w, "domain", c->domain);
    jsonw_opt_str(&w, "name", c->name);
    jsonw_opt_bool(&w, "is_hub", c->is_hub);
    jsonw_opt_str(&w, "cluster", c->cluster);
    jsonw_opt_bool(&w, "headers", c->headers);
    jsonw_opt_bool(&w, "jetstream", c->jetstream);
    jsonw_opt_strs(&w, "deny_pub", &c->deny_pub);
    jsonw_opt_bool(&w, "isolate", c->isolate);
    jsonw_opt_str(&w, "compress_mode", c->compress_mode);
    jsonw_opt_str(&w, "remote_account", c->remote_account);
    jsonw_opt_i64(&w, "protocol", c->protocol);
    jsonw_opt_i64(&w, "max_payload", c->max_payload);
    jsonw_end(&w);
    mf_buf_puts(out, "\r\n");
}

/* --- versions --------------------------------------------------------------------------------- */

int hello_version(const char *text, unsigned parts[3])
{
    char rest = '\0';
    int n;

    if (text == NULL)
        return MF_INVAL;
    n = sscanf(text + (*text == 'v'), "%9u.%9u.%9u%c", &parts[0], &parts[1], &parts[2], &rest);
    return n == 3 || (n == 4 && (rest == '-' || rest == '+')) ? 0 : MF_INVAL;
}
