/* unity_build.c: compiles Unity from the folder --with-unity named; none of it lives here. */
#include "unity.c" /* NOLINT(bugprone-suspicious-include) */
