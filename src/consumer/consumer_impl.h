/* consumer_impl.h: to come. */
#include "mayfly/consumer.h"
