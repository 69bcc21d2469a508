/* unmask.c: removes the masks from frame headers and payloads. */
#include "ws/unmask_impl.h"

bool ws_unmask_idle(const struct ws_unmask *u)
{
    return u->head_len == 0 && u->payload_left == 0;
}

static size_t length_bytes(const uint8_t *head)
{
    unsigned short_length = head[1] & 0x7f;

    return short_length == 126 ? 2 : short_length == 127 ? 8 : 0;
}

/* Bytes that the header needs, as far as that is known. */
static size_t head_size(const struct ws_unmask *u)
{
    if (u->head_len < 2)
        return 2;
    return 2 + length_bytes(u->head) + ((u->head[1] & 0x80) != 0 ? 4 : 0);
}

/* Takes header bytes from the wire; whether the header is whole. */
static bool take_head(struct ws_unmask *u)
{
    while (u->head_len < head_size(u)) {
        size_t want = head_size(u) - u->head_len, n = want < u->left ? want : u->left;
        if (n == 0)
            return false;
        memcpy(u->head + u->head_len, u->in, n);
        u->head_len += (uint8_t)n;
        u->in += n;
        u->left -= n;
    }
    return true;
}

/* Hands the header on; its length without the key. */
static size_t give_head(struct ws_unmask *u, uint8_t *dst)
{
    size_t extra = length_bytes(u->head), n = 2 + extra;

    memset(u->key, 0, sizeof u->key);
    if ((u->head[1] & 0x80) != 0)
        memcpy(u->key, u->head + n, 4);
    else if (u->demand)
        u->violated = true;
    memcpy(dst, u->head, n);
    dst[1] &= 0x7f;
    u->payload_left = extra == 0 ? dst[1] : 0;
    for (size_t i = 0; i < extra; i++)
        u->payload_left = u->payload_left << 8 | u->head[2 + i];
    u->phase = 0;
    u->head_len = 0;
    return n;
}

static void give_payload(struct ws_unmask *u, uint8_t *dst, size_t n)
{
    uint8_t key[8];
    uint64_t wide, word;
    size_t i = 0;

    for (size_t k = 0; k < sizeof key; k++)
        key[k] = u->key[(u->phase + k) % 4];
    memcpy(&wide, key, sizeof wide);
    for (; i + sizeof word <= n; i += sizeof word) {
        memcpy(&word, u->in + i, sizeof word);
        word ^= wide;
        memcpy(dst + i, &word, sizeof word);
    }
    for (; i < n; i++)
        dst[i] = u->in[i] ^ key[i % 8];
    u->phase = (u->phase + n) % 4;
    u->in += n;
    u->left -= n;
    u->payload_left -= n;
}

size_t ws_unmask_give(struct ws_unmask *u, uint8_t *dst, size_t n)
{
    size_t done = 0;

    while (u->left > 0 && !u->violated) {
        size_t room = n - done, piece = room < u->left ? room : u->left;
        if (u->payload_left > 0) {
            piece = u->payload_left < piece ? (size_t)u->payload_left : piece;
            if (piece == 0)
                break;
            give_payload(u, dst + done, piece);
            done += piece;
            continue;
        }
        if (room < WS_HEAD_MAX || !take_head(u))
            break;
        piece = give_head(u, dst + done);
        if (!u->violated)
            done += piece;
    }
    u->given += done;
    return done;
}
