/* fuzz_connect.c: the JSON of a CONNECT, from clients that are not yet known.  A second CONNECT is
 * read into what the first one left, as a session does it. */
#include "fuzz.h"
#include "session/connect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct connect_opts opts = CONNECT_OPTS_INIT;
    struct mf_error e = {0, ""};
    int rc = connect_parse(mf_slice(data, size), &opts, &e);

    FUZZ_CHECK(rc == 0 || (rc < 0 && e.text[0] != '\0'));
    FUZZ_CHECK(opts.protocol >= -1);
    connect_opts_forget(&opts);
    FUZZ_CHECK(opts.pass == NULL && opts.token == NULL && opts.sig == NULL && opts.jwt == NULL);
    FUZZ_CHECK(connect_parse(mf_slice(data, size), &opts, &e) == rc);
    connect_opts_fini(&opts);
    return 0;
}
