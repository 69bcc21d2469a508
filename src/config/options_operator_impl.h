/* options_operator_impl.h: reading operator mode: options_operator.c and options_resolver.c.
 * Private to config. */
#ifndef MAYFLY_CONFIG_OPTIONS_OPERATOR_IMPL_H
#define MAYFLY_CONFIG_OPTIONS_OPERATOR_IMPL_H

#include "config/options_impl.h"
#include "config/options_operator.h"
#include "jwt/jwt_user.h"

/* Fills the defaults of the resolver and checks it against the rest of the file. */
void opt_finish_resolver(struct opt *c);

#endif
