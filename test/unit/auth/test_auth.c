/* test_auth.c: who may come in.  What is marked "asked" was put to nats-server 2.15.1 over a socket
 * first; where we differ on purpose, the test says so. */
#include "auth/auth.h"
#include "config/options_callout.h"

#include "base/clock.h"

#include "unity.h"

#define NKEY   "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
#define NONCE  "PXoWU7zWAMt75FY"
#define SIG    "zHsjAXoXbo2tbVRLf6_3-aHC2CGLiez1yMSLOyF4Z2wmzmO4ppyieii5IZsQSBgfdppsi6wMHWzYYXUv6A-8DQ"
#define BCRYPT "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW" /* "U*U" */

void setUp(void)
{
}

void tearDown(void)
{
}

static struct auth *table(const struct options *o)
{
    struct mf_error e = {0};
    struct auth *a = NULL;

    TEST_ASSERT_EQUAL_INT_MESSAGE(0, auth_new(&a, o, &e), e.text);
    return a;
}

static int check(const struct auth *a, struct auth_request r, struct auth_identity *who)
{
    struct auth_identity mine;
    int rc = auth_check(a, &r, who != NULL ? who : &mine);

    if (rc == 0)
        perms_release(who != NULL ? who->perms : mine.perms);
    return rc;
}
#define LOGIN(a, ...) check(a, (struct auth_request){__VA_ARGS__}, NULL)

static void test_without_configuration_everybody_is_global(void)
{
    struct options o = {0};
    struct auth *a = table(&o);
    struct auth_identity who;

    TEST_ASSERT_FALSE(auth_required(a));
    TEST_ASSERT_FALSE(auth_needs_nonce(a));
    TEST_ASSERT_EQUAL_INT(0, check(a, (struct auth_request){.user = "x", .pass = "y"}, &who));
    TEST_ASSERT_EQUAL_STRING("$G", who.account);
    TEST_ASSERT_EQUAL_STRING("", who.name);
    TEST_ASSERT_NULL(who.perms);
    auth_free(a);
}

/* Asked: with a token only the token counts, with a user only the user. */
static void test_one_token_or_one_user_for_everybody(void)
{
    struct options o = {.auth = {.set = true, .token = (char *)"t"}};
    struct auth *a = table(&o);

    TEST_ASSERT_TRUE(auth_required(a));
    TEST_ASSERT_EQUAL_INT(0, LOGIN(a, .token = "t"));
    TEST_ASSERT_EQUAL_INT(0, LOGIN(a, .token = "t", .user = "a", .pass = "b"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "a", .pass = "t"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .token = "T"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = NULL));
    auth_free(a);

    o = (struct options){.auth = {.set = true, .user = (char *)"u", .password = (char *)"p"}};
    a = table(&o);
    TEST_ASSERT_EQUAL_INT(0, LOGIN(a, .user = "u", .pass = "p"));
    TEST_ASSERT_EQUAL_INT(0, LOGIN(a, .user = "u", .pass = "p", .token = "z"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "U", .pass = "p"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "u"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .token = "p"));
    auth_free(a);
}

static struct options_permissions only_a = {
    .publish = {.allow_set = true, .allow = {(char *[]){(char *)"a"}, 1}}};
static struct options_user users[] = {
    {.user = (char *)"plain", .password = (char *)"p"},
    {.user = (char *)"hashed", .password = (char *)BCRYPT, .permissions = &only_a},
    {.nkey = (char *)NKEY},
    {.user = (char *)"web",
     .password = (char *)"w",
     .connection_types = {(char *[]){(char *)"WEBSOCKET"}, 1}},
    {.user = (char *)"soon", .password = (char *)"s", .connection_deadline_s = 100},
    {.user = (char *)"open"},
};
static struct options_user b_users[] = {{.user = (char *)"b", .password = (char *)"b"}};
static struct options_account accounts[] = {
    {.name = (char *)"B", .users = b_users, .nusers = 1, .default_permissions = &only_a}};

static struct options user_options(void)
{
    return (struct options){
        .auth = {.set = true, .users_set = true, .users = users, .nusers = MF_COUNT(users)},
        .accounts = accounts,
        .naccounts = 1,
    };
}

static void test_users_enter_their_account_with_their_permissions(void)
{
    struct options o = user_options();
    struct auth *a = table(&o);
    struct auth_identity who;

    TEST_ASSERT_TRUE(auth_needs_nonce(a));
    TEST_ASSERT_EQUAL_INT(0, check(a, (struct auth_request){.user = "plain", .pass = "p"}, &who));
    TEST_ASSERT_EQUAL_STRING("$G", who.account);
    TEST_ASSERT_EQUAL_STRING("plain", who.name);
    TEST_ASSERT_NULL(who.perms);
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "plain", .pass = "P"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "nobody", .pass = "p"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .token = "p"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = NKEY)); /* a name is no proof of a key */
    TEST_ASSERT_EQUAL_INT(0, LOGIN(a, .user = "open"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "open", .pass = "x"));

    TEST_ASSERT_EQUAL_INT(
        0, auth_check(a, &(struct auth_request){.user = "hashed", .pass = "U*U"}, &who));
    TEST_ASSERT_FALSE(perms_can_publish(who.perms, MF_LIT("b")));
    perms_release(who.perms);
    TEST_ASSERT_EQUAL_INT(0, auth_check(a, &(struct auth_request){.user = "b", .pass = "b"}, &who));
    TEST_ASSERT_EQUAL_STRING("B", who.account);
    TEST_ASSERT_NOT_NULL(who.perms); /* the account's default */
    auth_free(a);
    TEST_ASSERT_TRUE(perms_can_publish(who.perms, MF_LIT("a"))); /* outlives the table */
    perms_release(who.perms);
}

static void test_only_bcrypt_is_slow(void)
{
    struct options o = user_options();
    struct auth *a = table(&o);

    TEST_ASSERT_TRUE(auth_is_slow(a, &(struct auth_request){.user = "hashed", .pass = "x"}));
    TEST_ASSERT_FALSE(auth_is_slow(a, &(struct auth_request){.user = "plain", .pass = "x"}));
    TEST_ASSERT_FALSE(auth_is_slow(a, &(struct auth_request){.user = "none", .pass = "x"}));
    TEST_ASSERT_FALSE(auth_is_slow(a, &(struct auth_request){.nkey = NKEY, .sig = SIG}));
    auth_free(a);
}

static void test_nkey_needs_a_signature_of_this_nonce(void)
{
    struct options o = user_options();
    struct auth *a = table(&o);
    struct auth_identity who;
    struct auth_request r = {.nkey = NKEY, .sig = SIG, .nonce = MF_LIT(NONCE)};

    TEST_ASSERT_EQUAL_INT(0, check(a, r, &who));
    TEST_ASSERT_EQUAL_STRING(NKEY, who.name);
    r.nonce = MF_LIT("other");
    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(a, r, NULL));
    r.sig = NULL;
    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(a, r, NULL));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .nkey = "plain", .pass = "p"));
    auth_free(a);
}

static void test_connection_type_and_deadline_are_minded(void)
{
    struct options o = user_options();
    struct auth *a = table(&o);
    struct auth_identity who;
    struct auth_request r = {.user = "soon", .pass = "s", .now_ns = 99 * CLOCK_S};

    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "web", .pass = "w"));
    TEST_ASSERT_EQUAL_INT(0, LOGIN(a, .user = "web", .pass = "w", .kind = AUTH_WEBSOCKET));
    TEST_ASSERT_EQUAL_INT(0, check(a, r, &who));
    TEST_ASSERT_EQUAL_INT64(100 * CLOCK_S, who.deadline_ns);
    r.now_ns = 100 * CLOCK_S;
    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(a, r, NULL));
    auth_free(a);
}

/* Asked.  (nats-server refuses a no_auth_user with a bcrypt password; we let it in.) */
static void test_no_auth_user_stands_in_for_missing_credentials_only(void)
{
    struct options o = user_options();
    struct auth *a = table(&o);
    struct auth_identity who;
    struct auth_request r = {.no_auth_user = "hashed"};

    TEST_ASSERT_EQUAL_INT(0, check(a, r, &who));
    TEST_ASSERT_EQUAL_STRING("hashed", who.name);
    r.user = r.pass = "";
    TEST_ASSERT_EQUAL_INT(0, check(a, r, &who));
    r.user = "plain";
    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(a, r, NULL));
    r = (struct auth_request){.no_auth_user = "plain", .pass = "x"};
    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(a, r, NULL));
    r = (struct auth_request){.no_auth_user = "plain", .token = "x"};
    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(a, r, NULL));
    r = (struct auth_request){.no_auth_user = "web"};
    TEST_ASSERT_EQUAL_INT(MF_DENIED, check(a, r, NULL));
    r = (struct auth_request){.no_auth_user = NKEY};
    TEST_ASSERT_EQUAL_INT(0, check(a, r, &who));
    TEST_ASSERT_EQUAL_STRING(NKEY, who.name);
    auth_free(a);
}

/* Asked: a user for $SYS alone does not lock everybody else out. */
static void test_users_of_the_system_account_alone_keep_the_door_open(void)
{
    struct options_user admin = {.user = (char *)"s", .password = (char *)"s"};
    struct options_account acc[2] = {{.name = (char *)"$SYS", .users = &admin, .nusers = 1},
                                     {.name = (char *)"B"}};
    struct options o = {.accounts = acc, .naccounts = 1};
    struct auth *a = table(&o);
    struct auth_identity who;

    TEST_ASSERT_EQUAL_INT(0, check(a, (struct auth_request){.user = NULL}, &who));
    TEST_ASSERT_EQUAL_STRING("$G", who.account);
    TEST_ASSERT_EQUAL_INT(0, check(a, (struct auth_request){.user = "s", .pass = "s"}, &who));
    TEST_ASSERT_EQUAL_STRING("$SYS", who.account);
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "x", .pass = "y"));
    auth_free(a);
    o.naccounts = 2; /* another account: no longer open */
    a = table(&o);
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = NULL));
    auth_free(a);
}

static void test_websocket_may_ask_for_credentials_of_its_own(void)
{
    struct options o = {.websocket = {.set = true, .auth = {.token = (char *)"w"}}};
    struct auth *a = table(&o);

    TEST_ASSERT_FALSE(auth_required(a));
    TEST_ASSERT_TRUE(auth_required_kind(a, AUTH_WEBSOCKET));
    TEST_ASSERT_EQUAL_INT(0, LOGIN(a, .user = NULL));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .kind = AUTH_WEBSOCKET));
    TEST_ASSERT_EQUAL_INT(0, LOGIN(a, .kind = AUTH_WEBSOCKET, .token = "w"));
    auth_free(a);
}

static int cert_login(const struct auth *a, const char *const *names, size_t n, const char **user)
{
    struct auth_identity who;
    int rc =
        check(a,
              (struct auth_request){
                  .cert_names = names, .ncert_names = n, .has_subject = names[n - 1][0] != '\0'},
              &who);

    *user = rc == 0 ? who.name : NULL;
    return rc;
}
#define CERT(...)                                                                                  \
    cert_login(a, (const char *const[]){__VA_ARGS__}, MF_COUNT(((const char *[]){__VA_ARGS__})),   \
               &name)

static void test_certificate_names_a_user(void)
{
    struct options_user list_[] = {
        {.user = (char *)"mail@x"},
        {.user = (char *)"CN=first, O=Acme"},
        {.user = (char *)"O=Acme,CN=second"},
        {.user = (char *)"cn=dc,dc=example,dc=com"},
        {.user = (char *)"OU=b+CN=multi,O=Acme"},
        {.user = (char *)"CN=a\\,b,O=Acme"},
        {.user = (char *)"host.example", .password = (char *)"pw"},
        {.user = (char *)"CN=web", .connection_types = {(char *[]){(char *)"WEBSOCKET"}, 1}},
    };
    struct options o = {.auth = {.set = true, .users = list_, .nusers = MF_COUNT(list_)},
                        .tls = {.set = true, .verify_and_map = true}};
    struct auth *a = table(&o);
    const char *name;

    TEST_ASSERT_EQUAL_INT(0, CERT("other", "mail@x", "CN=first,O=Acme"));
    TEST_ASSERT_EQUAL_STRING("mail@x", name); /* alternative names come before the subject */
    TEST_ASSERT_EQUAL_INT(0, CERT("CN=first  ,  O=Acme "));
    TEST_ASSERT_EQUAL_INT(0, CERT("CN=first,O=Acme"));
    TEST_ASSERT_EQUAL_STRING("CN=first, O=Acme", name);
    TEST_ASSERT_EQUAL_INT(0, CERT("CN=second,O=Acme")); /* another order */
    TEST_ASSERT_EQUAL_STRING("O=Acme,CN=second", name);
    TEST_ASSERT_EQUAL_INT(0, CERT("CN=dc,DC=example,DC=com"));
    TEST_ASSERT_EQUAL_INT(0, CERT("CN=multi+OU=b,O=Acme"));
    TEST_ASSERT_EQUAL_INT(0, CERT("CN=a\\2Cb,O=Acme"));
    TEST_ASSERT_EQUAL_INT(0, CERT("CN=first,O=Acme,DC=com")); /* Go's text leaves DC out */
    TEST_ASSERT_EQUAL_INT(MF_DENIED, CERT("CN=first"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, CERT("CN=First,O=Acme"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, CERT("CN=first,O=Acme,OU=more"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, CERT("O=Acme,CN=first", "nothing")); /* not the subject */
    TEST_ASSERT_EQUAL_INT(MF_DENIED, CERT("O=Acme,CN=first", ""));        /* there is no subject */
    TEST_ASSERT_EQUAL_INT(MF_DENIED, CERT("host.example", "CN=x"));       /* its password is due */
    TEST_ASSERT_EQUAL_INT(MF_DENIED, CERT("CN=web"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "mail@x")); /* no certificate */
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .no_auth_user = "mail@x"));
    /* A listener that does not map must not take the missing password for an empty one. */
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "mail@x", .kind = AUTH_WEBSOCKET));
    auth_free(a);
}

static void test_same_name_twice_or_a_bad_nkey_is_refused(void)
{
    struct options_user twice[] = {{.user = (char *)"x"}, {.user = (char *)"x"}};
    struct options_user bad = {.nkey = (char *)"UABC"};
    struct options o = {.auth = {.set = true, .users = twice, .nusers = 2}};
    struct mf_error e;
    struct auth *a;

    TEST_ASSERT_EQUAL_INT(MF_EXISTS, auth_new(&a, &o, &e));
    TEST_ASSERT_EQUAL_STRING("Duplicate user \"x\" detected", e.text);
    o.auth.users = &bad;
    o.auth.nusers = 1;
    TEST_ASSERT_EQUAL_INT(MF_INVAL, auth_new(&a, &o, &e));
}

static bool same(const struct auth *old, const struct auth *now, const char *name,
                 const char *account)
{
    return auth_same(old, now, &(struct auth_present){name, account, AUTH_STANDARD, false});
}

/* A token of the websocket listener is no reason for a TCP client to stay; a user who may now only
 * come by WebSocket may not stay on TCP. */
static void test_reload_minds_the_kind_of_connection(void)
{
    struct options ws_token = {
        .websocket = {.set = true, .auth = {.set = true, .token = (char *)"t"}}};
    struct options locked = ws_token;
    struct options_user web[] = {{.user = (char *)"u", .password = (char *)"p"}};
    struct options before = {.auth = {.set = true, .users = web, .nusers = 1}};
    char *types[] = {(char *)"WEBSOCKET"};
    struct auth *old = table(&ws_token), *now;
    struct auth_present tcp = {"", "$G", AUTH_STANDARD, false},
                        ws = {"", "$G", AUTH_WEBSOCKET, false};
    struct auth_present user = {"u", "$G", AUTH_STANDARD, false};

    locked.auth = (struct options_auth){.set = true, .user = (char *)"a", .password = (char *)"b"};
    now = table(&locked);
    TEST_ASSERT_FALSE(auth_same(old, now, &tcp));
    TEST_ASSERT_TRUE(auth_same(old, now, &ws));
    auth_free(old);
    auth_free(now);
    old = table(&before);
    web[0].connection_types = (struct options_list){types, 1};
    now = table(&before);
    TEST_ASSERT_TRUE(auth_same(old, old, &user));
    TEST_ASSERT_FALSE(auth_same(old, now, &user));
    user.kind = AUTH_WEBSOCKET;
    TEST_ASSERT_TRUE(auth_same(old, now, &user));
    auth_free(old);
    auth_free(now);
}

static void test_reload_keeps_those_whose_secret_and_account_stayed(void)
{
    struct options_user now_users[] = {
        {.user = (char *)"plain", .password = (char *)"p", .permissions = &only_a},
        {.user = (char *)"hashed", .password = (char *)"changed"},
        {.user = (char *)"b", .password = (char *)"b"}, /* moved to $G */
        {.nkey = (char *)NKEY},
    };
    struct options before = user_options(), none = {0};
    struct options after = {.auth = {.set = true, .users = now_users, .nusers = 4}};
    struct auth *old = table(&before), *now = table(&after), *open = table(&none);
    struct auth_identity who;

    TEST_ASSERT_TRUE(same(old, now, "plain", "$G"));
    TEST_ASSERT_TRUE(same(old, now, NKEY, "$G"));
    TEST_ASSERT_FALSE(same(old, now, "hashed", "$G"));
    TEST_ASSERT_FALSE(same(old, now, "b", "B"));
    TEST_ASSERT_FALSE(same(old, now, "web", "$G"));
    TEST_ASSERT_TRUE(same(open, open, "", "$G"));
    TEST_ASSERT_FALSE(same(open, now, "", "$G"));
    TEST_ASSERT_FALSE(same(old, open, "plain", "$G"));
    TEST_ASSERT_EQUAL_INT(0,
                          auth_renew(now, &(struct auth_present){"plain", "$G", 0, false}, &who));
    TEST_ASSERT_FALSE(perms_can_publish(who.perms, MF_LIT("b")));
    perms_release(who.perms);
    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND,
                          auth_renew(now, &(struct auth_present){"web", "$G", 0, false}, &who));
    TEST_ASSERT_EQUAL_INT(0, auth_renew(open, &(struct auth_present){NULL, "$G", 0, false}, &who));
    TEST_ASSERT_NULL(who.perms);
    auth_free(old);
    auth_free(now);
    auth_free(open);
}

/* A configuration that leaves the decision to JWTs or a callout must not run open. */
static void test_decisions_left_to_others_refuse_everybody(void)
{
    struct options_user one[] = {{.user = (char *)"u", .password = (char *)"p"}};
    struct options jwt = {.operator_set = true};
    struct options_callout k = {.issuer = (char *)"A", .account = (char *)"$G"};
    struct options callout = {.auth = {.set = true, .callout = &k, .users = one, .nusers = 1}};
    struct auth *a;

    a = table(&jwt);
    TEST_ASSERT_TRUE(auth_required(a));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "u", .pass = "p"));
    auth_free(a);
    a = table(&callout);
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "u", .pass = "p"));
    auth_free(a);
}

/* What nats-server answers before it looks at a password.  Of the block it is said of all its
 * users, which is more than nats-server does. */
static void test_users_who_need_a_proxy(void)
{
    struct options_user some[] = {
        {.user = (char *)"u", .password = (char *)"p"},
        {.user = (char *)"h", .password = (char *)BCRYPT, .proxy_required = true},
        {.user = (char *)"p", .password = (char *)"p", .proxy_required = true}};
    struct options o = {.auth = {.set = true, .users = some, .nusers = 3}};
    struct auth_request p = {.user = "p", .pass = "x"}, h = {.user = "h", .pass = "x"};
    struct auth_request u = {.user = "u", .pass = "p"};
    struct auth_identity who;
    struct auth *a = table(&o), *b;

    TEST_ASSERT_TRUE(auth_wants_proxy(a, &p));
    p.pass = "p";
    TEST_ASSERT_EQUAL_INT(MF_DENIED, auth_check(a, &p, &who));
    TEST_ASSERT_FALSE(auth_is_slow(a, &h));
    TEST_ASSERT_FALSE(auth_wants_proxy(a, &u));
    TEST_ASSERT_EQUAL_INT(0, auth_check(a, &u, &who));
    p.through_proxy = h.through_proxy = true;
    TEST_ASSERT_EQUAL_INT(0, auth_check(a, &p, &who));
    TEST_ASSERT_TRUE(auth_is_slow(a, &h));
    TEST_ASSERT_FALSE(auth_wants_proxy(a, &p));
    o.auth.proxy_required = true;
    b = table(&o);
    TEST_ASSERT_TRUE(auth_wants_proxy(b, &u));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, auth_check(b, &u, &who));
    TEST_ASSERT_FALSE(same(a, b, "u", "$G"));
    TEST_ASSERT_TRUE(auth_same(a, b, &(struct auth_present){"u", "$G", AUTH_STANDARD, true}));
    auth_free(a);
    auth_free(b);
}

/* Anybody may come, but through a proxy. */
static void test_a_proxy_may_be_all_that_is_needed(void)
{
    struct options o = {.auth = {.set = true, .proxy_required = true}};
    struct auth_request r = {.user = NULL};
    struct auth_identity who;
    struct auth *a = table(&o);

    TEST_ASSERT_TRUE(auth_required(a));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, auth_check(a, &r, &who));
    TEST_ASSERT_TRUE(auth_wants_proxy(a, &r));
    r.through_proxy = true;
    TEST_ASSERT_EQUAL_INT(0, auth_check(a, &r, &who));
    TEST_ASSERT_FALSE(same(a, a, "", "$G"));
    TEST_ASSERT_TRUE(auth_same(a, a, &(struct auth_present){"", "$G", AUTH_STANDARD, true}));
    auth_free(a);
}

/* An auth callout decides about everybody but those whom it must not: the table lets nobody else
 * in, whatever the caller does. */
static void test_a_callout_leaves_its_own_users_and_other_accounts_to_the_table(void)
{
    struct options_user one[] = {{.user = (char *)"u", .password = (char *)"p"},
                                 {.user = (char *)"svc", .password = (char *)"p"}};
    struct options_user two[] = {{.user = (char *)"o", .password = (char *)"p"}};
    struct options_account both[] = {{.name = (char *)"AUTH", .users = one, .nusers = 2},
                                     {.name = (char *)"OTHER", .users = two, .nusers = 1}};
    char *listed[] = {(char *)"svc"}, *allowed[] = {(char *)"AUTH"};
    struct options_callout k = {
        .issuer = (char *)"A", .account = (char *)"AUTH", .users = {listed, 1}};
    struct options o = {.auth = {.set = true, .callout = &k}, .accounts = both, .naccounts = 2};
    struct auth_identity who;
    struct auth *a = table(&o);

    TEST_ASSERT_TRUE(auth_required(a));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = NULL));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "u", .pass = "p"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "o", .pass = "p"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "svc", .pass = "x"));
    TEST_ASSERT_EQUAL_INT(0,
                          auth_check(a, &(struct auth_request){.user = "svc", .pass = "p"}, &who));
    TEST_ASSERT_FALSE(perms_can_publish(who.perms, mf_str(AUTH_CALLOUT_SUBJECT)));
    TEST_ASSERT_TRUE(perms_can_publish(who.perms, mf_str("other")));
    perms_release(who.perms);
    auth_free(a);
    k.allowed = (struct options_list){allowed, 1};
    a = table(&o);
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "u", .pass = "p"));
    TEST_ASSERT_EQUAL_INT(0, LOGIN(a, .user = "o", .pass = "p"));
    TEST_ASSERT_EQUAL_INT(MF_DENIED, LOGIN(a, .user = "o", .pass = "p", .kind = AUTH_LEAFNODE));
    auth_free(a);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_a_callout_leaves_its_own_users_and_other_accounts_to_the_table);
    RUN_TEST(test_without_configuration_everybody_is_global);
    RUN_TEST(test_one_token_or_one_user_for_everybody);
    RUN_TEST(test_users_enter_their_account_with_their_permissions);
    RUN_TEST(test_only_bcrypt_is_slow);
    RUN_TEST(test_nkey_needs_a_signature_of_this_nonce);
    RUN_TEST(test_connection_type_and_deadline_are_minded);
    RUN_TEST(test_no_auth_user_stands_in_for_missing_credentials_only);
    RUN_TEST(test_users_of_the_system_account_alone_keep_the_door_open);
    RUN_TEST(test_websocket_may_ask_for_credentials_of_its_own);
    RUN_TEST(test_certificate_names_a_user);
    RUN_TEST(test_same_name_twice_or_a_bad_nkey_is_refused);
    RUN_TEST(test_reload_keeps_those_whose_secret_and_account_stayed);
    RUN_TEST(test_reload_minds_the_kind_of_connection);
    RUN_TEST(test_decisions_left_to_others_refuse_everybody);
    RUN_TEST(test_users_who_need_a_proxy);
    RUN_TEST(test_a_proxy_may_be_all_that_is_needed);
    return UNITY_END();
}
