/* unity_build.c: compiles Unity from the folder --with-unity named; none of it lives here. */
/* A test that crashes must not take the results before it along. */
#define UNITY_USE_FLUSH_STDOUT

#include "unity.c" /* NOLINT(bugprone-suspicious-include) */
