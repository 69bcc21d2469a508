/* ack.c: to come. */
#include "consumer_impl.h"
