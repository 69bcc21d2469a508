/* fuzz_policy_json.c: a JSON pointer in the first line, a payload behind it.  In a payload that is
 * JSON the value that is found is JSON, too. */
#include "fuzz.h"
#include "codec/json.h"
#include "ttl/policy.h"
#include "ttl/policy_json_find_impl.h"

static bool is_json(struct mf_slice text)
{
    struct arena mem = {0};
    struct mf_slice *items;
    char *array = arena_printf(&mem, "[%.*s]", MF_FMT(text));
    size_t n = 0, offset;
    bool good = array != NULL && memchr(text.ptr, '\0', text.len) == NULL &&
                json_split_array(mf_str(array), &items, &n, &offset, &mem, NULL) == 0 && n == 1;

    arena_fini(&mem);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *lf = size == 0 ? NULL : memchr(data, '\n', size);
    char pointer[65];
    struct mf_slice payload, value = MF_SLICE_NONE;
    struct limit l = {0, 0, 0};
    uint32_t scanned = 0;

    if (lf == NULL || lf - data > 64)
        return 0;
    memcpy(pointer, data, (size_t)(lf - data));
    pointer[lf - data] = '\0';
    payload = mf_slice(lf + 1, size - (size_t)(lf + 1 - data));
    if (!policy_json_find(payload, pointer, &value, &scanned)) {
        FUZZ_CHECK(scanned <= POLICY_JSON_SCAN_MAX);
        return 0;
    }
    FUZZ_CHECK(scanned <= POLICY_JSON_SCAN_MAX && scanned <= payload.len);
    FUZZ_CHECK(value.len > 0 && value.ptr >= payload.ptr && value.len <= payload.len);
    FUZZ_CHECK(!is_json(payload) || is_json(value));
    scanned = 0;
    if (policy_json_find_fill(payload, pointer, &l, &scanned))
        FUZZ_CHECK(l.capacity > 0 && l.refill > 0 && l.period_s > 0);
    FUZZ_CHECK(scanned <= POLICY_JSON_SCAN_MAX && scanned <= payload.len);
    return 0;
}
