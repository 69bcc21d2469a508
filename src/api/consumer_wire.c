/* consumer_wire.c: to come. */
#include "api_impl.h"
