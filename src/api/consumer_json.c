/* consumer_json.c: to come. */
#include "api_impl.h"
