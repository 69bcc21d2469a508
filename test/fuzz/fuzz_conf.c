/* fuzz_conf.c: a configuration file.  It loads or it is refused with a text; nothing leaks. */
#include "fuzz.h"
#include "config/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct options *o = NULL;
    struct mf_error e = {0, ""};
    int rc;

    /* `include` reads whatever file the fuzzer invents, a pipe or a device too. */
    for (size_t i = 0; i + 7 <= size; i++) {
        if (mf_eq_nocase(mf_slice(data + i, 7), "include"))
            return 0;
    }
    rc = options_parse(&o, mf_slice(data, size), "fuzz.conf", &e);
    if (rc == 0) {
        FUZZ_CHECK(o != NULL);
        options_free(o);
    } else {
        FUZZ_CHECK(rc < 0 && e.text[0] != '\0');
    }
    return 0;
}
