/* pull_groups.c: to come. */
#include "consumer_impl.h"
