/* crash_io.h: files that remember every change, so that the power can be cut after any of them.
 *
 * A crash_io stands in front of other files (in memory, or an image made before) and numbers every
 * change that succeeds: create, pwrite, truncate, rename, unlink, sync, syncdir.  Reading, opening
 * and locking are not counted.  Afterwards (or in between) it builds what a disk may hold when the
 * power fails right after change number N:
 *
 *     crash_io_new(&rec, NULL, &e);                       empty files in memory, recorded
 *     ... run the script on rec; at each acknowledgement note crash_io_ops(rec) ...
 *     for (uint64_t at = 0; at <= crash_io_ops(rec); at++) {
 *         struct crash_unsynced u;
 *         crash_io_unsynced(rec, at, &u);                 nothing pending: one mode says it all
 *         for (int mode = 0; mode < (u.writes + u.names == 0 ? 1 : CRASH_MODES); mode++) {
 *             crash_io_image(rec, at, mode, seed, &disk);
 *             ... open a store on disk: everything acknowledged at or before `at` is there ...
 *             disk->free(disk);
 *         }
 *     }
 *
 * An acknowledgement noted as n must survive every cut at >= n: it was given when change n was
 * done. An image is a plain read-write io, not locked, that shares nothing with the recorder and
 * may outlive it.  For a crash during recovery hand it to crash_io_new(): what it then holds counts
 * as synced, as change 0.
 *
 * What is modelled.  Bytes and size of a file are durable once a sync() of it follows; names
 * (create, rename, unlink) once a syncdir() follows, and not by a sync() of the file.  A file whose
 * unlink is lost comes back with its contents; a lost rename leaves the old name.  Sectors are 512
 * bytes of the file: the disk holds each as it was at some moment since the last sync, never a
 * later write without an earlier one of the same sector.  The size is that of some moment since the
 * last sync, whatever became of the bytes: zeros where none were written.
 *
 * Cost.  The recorder keeps all bytes written and moves one cut along them: an image costs the
 * changes since the last one asked for, plus copying the files as they are at the cut.  So ask in
 * ascending order of `at`; to step back replays from the start.
 * (Measured at -O2, CPU time: 20 us for five files of 64 KB, 110 us for five of 256 KB; 80 us and
 * more with ASan.)
 * Thread-safe, as a store_io is and for images too. */
#ifndef TEST_CRASH_IO_H
#define TEST_CRASH_IO_H

#include "store/store_io.h"

#define CRASH_SECTOR 512

/* What became of writes (and truncates) and of names that were not synced. */
#define CRASH_MODE_LIST(X)                                                                         \
    X(CRASH_DROP, "drop")               /* all lost, names too: just what was synced */            \
    X(CRASH_KEEP, "keep")               /* all there */                                            \
    X(CRASH_ZEROS, "zeros")             /* names and sizes there, bytes lost: grown by zeros */    \
    X(CRASH_PREFIX, "prefix")           /* writes and names up to one of them, in their order */   \
    X(CRASH_SECTORS, "sectors")         /* each sector by itself; a prefix of the names */         \
    X(CRASH_TORN, "torn")               /* all there, the last write cut inside its last sector */ \
    X(CRASH_LOST_NAMES, "lost-names")   /* a prefix of the names; writes all kept or all lost */   \
    X(CRASH_MIXED_NAMES, "mixed-names") /* any subset of the names; writes as before */            \
    X(CRASH_REORDERED, "reordered")     /* per file all or nothing; a prefix of the names */

enum crash_mode {
#define CRASH_MODE_ENUM(name, text) name,
    CRASH_MODE_LIST(CRASH_MODE_ENUM)
#undef CRASH_MODE_ENUM
        CRASH_MODES
};
const char *crash_mode_name(enum crash_mode mode);

/* Takes `under` over (freed with io; on failure it stays the caller's); NULL: new files in memory.
 * What `under` holds counts as synced; nothing else may write to it. */
MF_MUSTCHECK int crash_io_new(struct store_io **out, struct store_io *under, struct mf_error *e);
uint64_t crash_io_ops(struct store_io *io); /* changes so far; the last one has this number */
/* The disk after change `at` (0: before the first).  The same seed gives the same image; DROP, KEEP
 * and ZEROS do not depend on it.  MF_INVAL: no such change yet; MF_NOMEM. */
MF_MUSTCHECK int crash_io_image(struct store_io *io, uint64_t at, enum crash_mode mode,
                                uint64_t seed, struct store_io **out);
/* What was not yet durable after change `at`.  Both 0: every mode builds the same image. */
struct crash_unsynced {
    size_t writes, names;
};
MF_MUSTCHECK int crash_io_unsynced(struct store_io *io, uint64_t at, struct crash_unsynced *out);
/* "write 300 bytes at 4096 of 00000001.seg", for the text of a failure; returns dst. */
const char *crash_io_describe(struct store_io *io, uint64_t op, char *dst, size_t cap);

#endif
