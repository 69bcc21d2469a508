/* consumer_advisory.c: to come. */
#include "api_impl.h"
