/* login.c: users of login services are counted; the words for kinds of connections. */
#include "session/login.h"

const char *login_kind_text(enum login_kind k)
{
    static const char *const texts[] = {[LOGIN_STANDARD] = "STANDARD",
                                        [LOGIN_WEBSOCKET] = "WEBSOCKET",
                                        [LOGIN_LEAFNODE] = "LEAFNODE",
                                        [LOGIN_LEAFNODE_WS] = "LEAFNODE_WS",
                                        [LOGIN_IN_PROCESS] = "IN_PROCESS"};

    return texts[k];
}

struct login_user *login_user_retain(struct login_user *u)
{
    if (u != NULL)
        u->refs++;
    return u;
}

void login_user_release(struct login_user *u)
{
    if (u != NULL && --u->refs == 0)
        u->free(u);
}
