/* jwt_operator.h: claims of an operator. */
#ifndef MAYFLY_JWT_OPERATOR_H
#define MAYFLY_JWT_OPERATOR_H

#include "jwt/jwt.h"

struct jwt_operator { /* absent texts are "" */
    struct json_strs signing_keys, operator_service_urls;
    char *account_server_url, *system_account, *assert_server_version;
    bool strict_signing_key_usage;
};

#endif
