/* config_check.c: to come. */
#include "mayfly/consumer_config.h"
