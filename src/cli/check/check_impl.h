/* check_impl.h: shared by the files of `mayfly check`. */
#ifndef CLI_CHECK_IMPL_H
#define CLI_CHECK_IMPL_H

#include "cli/check/check.h"
#include "cli/check/check_model.h"

#include "codec/seal.h"

#define HEADER_PAGE     4096u
#define HEADER_COPY     2048u /* where the second copy stands */
#define HEADER_BYTES    64u
#define MAX_SEGMENT     (UINT64_C(1) << 27) /* a checkpoint's place cannot name what lies behind */
#define FORMAT_VERSION  4u                  /* of segments */
#define SEALED_VERSION  4u                  /* its messages and blobs are sealed */
#define FLAGS_VERSION   3u                  /* from here on a re-deadline may have flags */
#define CP_VERSION      3u                  /* of checkpoints */
#define MAX_FIXED       80u
#define CHECKPOINT_NAME "checkpoint"
#define KEY_NAME        "store.key"
#define KEY_BYTES       (4096u + 512u)

static inline uint16_t rd16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}
static inline uint32_t rd32(const uint8_t *p)
{
    return (uint32_t)rd16(p) | (uint32_t)rd16(p + 2) << 16;
}
static inline uint64_t rd64(const uint8_t *p)
{
    return (uint64_t)rd32(p) | (uint64_t)rd32(p + 4) << 32;
}

struct check_pos {
    uint64_t segment, offset;
};
static inline bool pos_before(struct check_pos a, struct check_pos b)
{
    return a.segment != b.segment ? a.segment < b.segment : a.offset < b.offset;
}
static inline bool pos_equal(struct check_pos a, struct check_pos b)
{
    return a.segment == b.segment && a.offset == b.offset;
}

/* --- records (check_record.c) ----------------------------------------------------------------- */

enum rec_type {
    REC_MESSAGE = 1,
    REC_COPY,
    REC_REMOVAL,
    REC_RANGE,
    REC_SET,
    REC_DEADLINE,
    REC_MARK,
    REC_COMMIT,
    REC_SEAL,
    REC_BLOB,
    REC_ERASE
};
enum rec_why { REC_OK, REC_NO_ROOM, REC_NO_RECORD, REC_BAD_CHECK, REC_BAD_DATA, REC_OUT_OF_CHAIN };

/* A record whose fixed part is in order; p borrows from the segment's buffer. */
struct rec {
    const uint8_t *p;
    uint64_t offset;
    uint32_t length, padded, fixed, check, chain;
    uint8_t type;
    bool last; /* of its batch */
    uint16_t flags;
};

uint64_t check_rec_key(const uint8_t store_id[16], uint64_t segment);
/* The fixed part at p; room: bytes up to the segment's end (80 or all of them can be read).  At
 * most 80 bytes are hashed, so trying every offset of a segment stays linear. */
enum rec_why check_rec_fixed(const uint8_t *p, uint64_t room, uint64_t offset, uint64_t key,
                             struct rec *out);
/* Then, with all r->padded bytes there: the data. */
enum rec_why check_rec_data(const struct rec *r, uint64_t key);
const char *check_rec_why_text(enum rec_why why);
const char *check_rec_type_text(uint8_t type);

/* --- files (check_segments.c) ----------------------------------------------------------------- */

struct seg {
    uint64_t number;
    uint64_t actual; /* the file's size */
    uint64_t size;   /* as the header says; actual when there is no usable header */
    uint8_t id[16];
    uint32_t version; /* 0: unknown */
    bool copy_ok[2];  /* header copies */
    bool usable;      /* one of them is right and of this store */
    bool differ;      /* both right, not the same */
};

struct ctx {
    const struct check_source *src;
    const struct check_opts *o;
    struct check_result *res;
    struct seg *seg; /* ascending */
    size_t segs, seg_cap;
    bool has_checkpoint, nomem;
    uint64_t done, total; /* progress */
    /* The segment being read: bytes [0, loaded) of buf are there, up to limit. */
    uint8_t *buf;
    size_t buf_cap;
    size_t cur;
    uint64_t loaded, limit, key;
    /* The sequences that erase records name, ascending: of the reading before this one. */
    uint64_t *erased;
    size_t erased_count;
    struct crypt {  /* check_crypt.c */
        bool there; /* the key file, */
        uint8_t file[KEY_BYTES];
        int good;     /* copies in it */
        bool foreign; /* it is that of another store */
        uint64_t bad_at;
        struct seal *seal; /* NULL: nothing is sealed, or no key was given */
        bool unread;       /* something is sealed and was not opened */
        uint64_t plain_records;
        uint8_t *plain; /* what was opened last */
        size_t plain_cap;
    } crypt;
};

/* Where the record of a message lies; 0, 0: nowhere. */
static inline struct check_pos entry_pos(const struct ctx *c, const struct entry *en)
{
    if (en->segment == NO_SEGMENT)
        return (struct check_pos){0, 0};
    return (struct check_pos){c->seg[en->segment].number, (uint64_t)en->off8 * 8};
}

/* --- encryption (check_crypt.c) ------------------------------------------------------------- */

/* Reads the key file, if there is one, and opens it with o->key.  MF_DENIED: it does not open. */
MF_MUSTCHECK int check_crypt_begin(struct ctx *c, struct mf_error *e);
void check_crypt_compare(struct ctx *c); /* with the store's id, once that is known */
void check_crypt_report(struct ctx *c);
const uint8_t *check_crypt_owner(const struct crypt *k); /* the store's id; of a good file */
void check_crypt_copies(const struct crypt *k, uint8_t file[KEY_BYTES]); /* both good */
void check_crypt_end(struct ctx *c);
enum seal_cipher check_rec_cipher(const struct rec *r);
uint32_t check_rec_length(const struct rec *r); /* of key, head and body; of name and body */
#define CHECK_REC_AD 25
struct mf_slice check_rec_ad(const uint8_t *p, uint8_t ad[CHECK_REC_AD]);
enum check_opened { CHECK_OPENED, CHECK_UNREAD, CHECK_UNOPENED, CHECK_OPEN_NOMEM };
/* *data: check_rec_length() bytes, until the next call.  UNREAD: there is no key. */
enum check_opened check_rec_open(struct ctx *c, const struct rec *r, const uint8_t **data);
/* Opens a block in place; *length is what it has then. */
enum check_opened check_cp_open_block(struct ctx *c, enum seal_cipher cipher, uint8_t *block,
                                      uint64_t *length, uint64_t offset);

void check_seg_name(char dst[24], uint64_t number);
/* Lists the files, reads the headers. */
MF_MUSTCHECK int check_seg_scan(struct ctx *c, struct mf_error *e);
/* Decides on the store's id (cp_id: the checkpoint's, or NULL) and which headers are usable. */
void check_seg_choose_id(struct ctx *c, const uint8_t *cp_id);
/* Reports findings about headers and sizes, after the log was read. */
void check_seg_report(struct ctx *c, struct check_pos synced, uint64_t first);
MF_MUSTCHECK int check_seg_begin(struct ctx *c, size_t index, struct mf_error *e);
MF_MUSTCHECK int check_seg_load(struct ctx *c, uint64_t upto, struct mf_error *e);
/* The first segment not below number; c->segs when there is none. */
size_t check_seg_at_or_after(const struct ctx *c, uint64_t number);
void check_progress(struct ctx *c, uint64_t bytes);

/* --- the checkpoint (check_checkpoint.c, check_compare.c) ------------------------------------- */

struct cp {
    bool header_ok;  /* and with it all below */
    bool usable;     /* all of it is in order */
    bool bits;       /* entries may have some */
    uint8_t cipher;  /* enum seal_cipher: of its blocks */
    bool unread;     /* they are sealed, and there is no key */
    const char *why; /* it is not; NULL while it is */
    uint64_t why_offset, why_length;
    uint8_t id[16];
    struct check_pos pos;
    uint32_t chain;
    uint64_t messages, blobs, last_seq, mark_s, first, size;
    int64_t mark_t, clock;
    bool at_record;     /* the log has a record boundary at pos */
    bool chain_differs; /* and the record before it is another one */
};

/* The header. */
MF_MUSTCHECK int check_cp_open(struct ctx *c, struct cp *cp, struct mf_error *e);
/* Reads the blocks into m; clears cp->usable where one is damaged. */
MF_MUSTCHECK int check_cp_load(struct ctx *c, struct cp *cp, struct model *m, struct mf_error *e);
void check_cp_bad(struct cp *cp, uint64_t offset, uint64_t length, const char *why);

#include "cli/check/check_log_impl.h"

/* --- findings (check_store.c) ----------------------------------------------------------------- */

/* NULL when the list is full or memory is out (then c->nomem); it is counted all the same. */
struct check_damage *check_found(struct ctx *c, enum check_kind kind, uint64_t segment,
                                 uint64_t offset, uint64_t length, const char *fmt, ...)
    MF_PRINTF(6, 7);
void check_note(struct ctx *c, const char *fmt, ...) MF_PRINTF(2, 3);

#endif
