/* callout.c: the JSON of requests and responses of auth callouts. */
#include "jwt/jwt_callout.h"

#include "codec/jsonw.h"

static void write_server(struct jsonw *w, const struct jwt_server_id *s)
{
    jsonw_object(w, "server_id");
    jsonw_str(w, "name", s->name);
    jsonw_str(w, "host", s->host);
    jsonw_str(w, "id", s->id);
    jsonw_opt_str(w, "version", s->version);
    jsonw_opt_str(w, "cluster", s->cluster);
    jsonw_opt_strs(w, "tags", &s->tags);
    jsonw_opt_str(w, "xkey", s->xkey);
    jsonw_end(w);
}

static void write_client(struct jsonw *w, const struct jwt_client_info *c)
{
    jsonw_object(w, "client_info");
    jsonw_opt_str(w, "host", c->host);
    jsonw_opt_u64(w, "id", c->id);
    jsonw_opt_str(w, "user", c->user);
    jsonw_opt_str(w, "name", c->name);
    jsonw_opt_strs(w, "tags", &c->tags);
    jsonw_opt_str(w, "name_tag", c->name_tag);
    jsonw_opt_str(w, "kind", c->kind);
    jsonw_opt_str(w, "type", c->type);
    jsonw_opt_str(w, "mqtt_id", c->mqtt_id);
    jsonw_opt_str(w, "nonce", c->nonce);
    jsonw_end(w);
}

static void write_connect(struct jsonw *w, const struct jwt_connect_opts *o)
{
    jsonw_object(w, "connect_opts");
    jsonw_opt_str(w, "jwt", o->jwt);
    jsonw_opt_str(w, "nkey", o->nkey);
    jsonw_opt_str(w, "sig", o->sig);
    jsonw_opt_str(w, "auth_token", o->auth_token);
    jsonw_opt_str(w, "user", o->user);
    jsonw_opt_str(w, "pass", o->pass);
    jsonw_opt_str(w, "name", o->name);
    jsonw_opt_str(w, "lang", o->lang);
    jsonw_opt_str(w, "version", o->version);
    jsonw_i64(w, "protocol", o->protocol);
    jsonw_end(w);
}

static void write_tls(struct jsonw *w, const struct jwt_client_tls *t)
{
    jsonw_object(w, "client_tls");
    jsonw_opt_str(w, "version", t->version);
    jsonw_opt_str(w, "cipher", t->cipher);
    jsonw_opt_strs(w, "certs", &t->certs);
    if (t->verified_chain.n > 0) {
        jsonw_array(w, "verified_chains");
        jsonw_array(w, NULL);
        for (size_t i = 0; i < t->verified_chain.n; i++)
            jsonw_str(w, NULL, t->verified_chain.at[i]);
        jsonw_end(w);
        jsonw_end(w);
    }
    jsonw_end(w);
}

void jwt_auth_request_write(struct mf_buf *out, const struct jwt_auth_request *r)
{
    struct jsonw w;

    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    write_server(&w, &r->server);
    jsonw_str(&w, "user_nkey", r->user_nkey);
    write_client(&w, &r->client);
    write_connect(&w, &r->connect);
    if (r->tls != NULL)
        write_tls(&w, r->tls);
    jsonw_str(&w, "type", "authorization_request");
    jsonw_i64(&w, "version", 2);
    jsonw_end(&w);
}

void jwt_auth_response_write(struct mf_buf *out, const struct jwt_auth_response *r)
{
    struct jsonw w;

    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_opt_str(&w, "jwt", r->jwt);
    jsonw_opt_str(&w, "error", r->error);
    jsonw_opt_str(&w, "issuer_account", r->issuer_account);
    jsonw_str(&w, "type", "authorization_response");
    jsonw_i64(&w, "version", 2);
    jsonw_end(&w);
}
