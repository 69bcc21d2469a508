/* jwt_activation.h: claims of an activation token: an exporting account lets another one import. */
#ifndef MAYFLY_JWT_ACTIVATION_H
#define MAYFLY_JWT_ACTIVATION_H

#include "jwt/jwt_account.h"

struct jwt_activation {
    char *subject; /* an import must lie inside it */
    enum jwt_share kind;
    char *issuer_account; /* "": the signer is the exporting account */
};

#endif
