/* fuzz_json.c: a stream configuration as any client may send it.  What is taken is written, read
 * again and written again: the same configuration, the same bytes.  What the strict reading takes,
 * the lax one takes. */
#include "api/api_impl.h"
#include "fuzz.h"

static void write_config(struct mf_buf *out, const struct stream_config *c, bool server_metadata)
{
    struct jsonw w;

    mf_buf_clear(out);
    jsonw_begin(&w, out, JSONW_COMPACT);
    config_json_write(&w, NULL, c, server_metadata);
    FUZZ_CHECK(!mf_buf_failed(out));
}

static void check_sorted(const struct json_map *m)
{
    for (size_t i = 1; i < m->n; i++)
        FUZZ_CHECK(strcmp(m->at[i - 1].key, m->at[i].key) < 0);
}

static void check_again(const struct stream_config *c)
{
    struct mf_buf once = MF_BUF_INIT, twice = MF_BUF_INIT;
    struct stream_config again;
    struct mf_error e = {0, ""};

    write_config(&once, c, true);
    FUZZ_CHECK(json_is_document(mf_buf_slice(&once)));
    write_config(&once, c, false);
    stream_config_init(&again);
    FUZZ_CHECK(config_json_codec.decode(mf_buf_slice(&once), &again, &e) == 0);
    write_config(&twice, &again, false);
    FUZZ_CHECK(mf_eq(mf_buf_slice(&once), mf_buf_slice(&twice)));
    FUZZ_CHECK(stream_config_equal(c, &again));
    stream_config_fini(&again);
    mf_buf_fini(&once);
    mf_buf_fini(&twice);
}

static bool is_refusal(int rc)
{
    return rc == MF_INVAL || rc == MF_UNSUPPORTED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mf_slice text = mf_slice(data, size);
    struct stream_config c, lax;
    struct mf_error e = {0, ""};

    stream_config_init(&c);
    stream_config_init(&lax);
    int rc = config_json_decode(text, true, &c, &e);
    FUZZ_CHECK(rc == 0 ? e.text[0] == '\0' : is_refusal(rc) && e.text[0] != '\0');
    check_sorted(&c.metadata);
    int lax_rc = config_json_decode(text, false, &lax, &e);
    FUZZ_CHECK(lax_rc == 0 || (is_refusal(lax_rc) && is_refusal(rc)));
    if (rc == 0)
        check_again(&c);
    stream_config_fini(&c);
    stream_config_fini(&lax);
    return 0;
}
