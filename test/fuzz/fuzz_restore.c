/* fuzz_restore.c: whole restores: chunks, S2, archives and tars, the stream that is made.  The
 * first byte chooses: 's' the rest is the S2 stream, 'a' it is what such a stream holds; the second
 * one, how long the chunks are.  Whatever comes: there is an answer, and nothing is left but the
 * stream it tells of. */
#include "fuzz.h"
#include "support/api_world.h"

#include "codec/s2.h"

static void begin(void)
{
    static bool begun;

    if (begun)
        return;
    begun = true;
    must_quiet();
    api_up(", max_mem: 16M");
    (void)atexit(api_down);
}

static void check_nothing_left(void)
{
    const struct api_account *aa = api_world_account();

    FUZZ_CHECK(mf_list_empty(&backup_account(aa)->restores) && backup_account(aa)->nrestores == 0);
    FUZZ_CHECK(aa->creating == 0 && backup_account(aa)->restore_memory == 0);
    FUZZ_CHECK(catalog_count(aa->ja->catalog) == 0);
    FUZZ_CHECK(aa->ja->usage.memory == 0 && aa->api->js->usage.memory == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mf_buf s2 = MF_BUF_INIT;
    struct mf_slice left;
    char to[128];

    if (size < 2)
        return 0;
    begin();
    left = mf_slice(data + 2, size - 2);
    if (data[0] == 'a') {
        s2_frame_begin(&s2);
        s2_frame_add(&s2, left);
        left = mf_buf_slice(&s2);
    }
    restore_begin("\"subjects\":[\"s.>\"],\"storage\":\"memory\",\"allow_msg_ttl\":true,"
                  "\"allow_msg_schedules\":true",
                  to);
    while (left.len > 0) {
        size_t n = 1 + data[1] * (size_t)16;

        n = n < left.len ? n : left.len;
        FUZZ_CHECK(request(to, mf_slice(left.ptr, n)));
        left = mf_slice(left.ptr + n, left.len - n);
    }
    FUZZ_CHECK(request(to, MF_SLICE_NONE));
    if (strstr(answer, "\"error\"") == NULL) {
        FUZZ_CHECK(request("$JS.API.CONSUMER.LIST.S", MF_SLICE_NONE));
        FUZZ_CHECK(request("$JS.API.STREAM.INFO.S", MF_LIT("{\"deleted_details\":true}")));
        FUZZ_CHECK(request("$JS.API.STREAM.DELETE.S", MF_SLICE_NONE));
    }
    for (int i = 0; i < 100 && catalog_count(api_world_account()->ja->catalog) > 0; i++)
        loop_turn(loop);
    check_nothing_left();
    mf_buf_fini(&s2);
    return 0;
}
