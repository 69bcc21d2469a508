/* consumer_admin.c: to come. */
#include "api_impl.h"
