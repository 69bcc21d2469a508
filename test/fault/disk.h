/* disk.h: the files of a closed store as plain bytes, to be changed at will and turned into a disk.
 */
#ifndef TEST_DISK_H
#define TEST_DISK_H

#include "cli/check/check.h"

#include "store/store_io.h"

#define DISK_FILES 128

struct disk_file {
    char name[40];
    uint8_t *bytes;
    size_t size;
};
struct disk {
    struct disk_file file[DISK_FILES];
    size_t files;
    const char *without; /* a file that is left out; NULL: none */
};

/* All files of io (not locked). */
void disk_take(struct disk *d, struct store_io *io);
void disk_take_open(struct disk *d, struct store_io *io); /* the caller has entered it */
void disk_free(struct disk *d);
/* New files in memory with these bytes. */
struct store_io *disk_make(const struct disk *d);
/* The same for `mayfly check`. */
struct check_source disk_source(struct disk *d);
struct disk_file *disk_find(struct disk *d, const char *name);

/* A record on the disk, found by walking the segments. */
struct disk_span {
    size_t file;
    uint64_t offset, size;
    uint8_t type;
    uint64_t first, last; /* sequences it speaks of; 0, 0: none */
    uint64_t batch;       /* records of one batch share it */
    uint64_t segment;
    uint64_t synced_segment, synced_offset; /* a commit's */
    uint64_t *set;                          /* a set's sequences; its own */
    uint32_t count;
};
/* malloc'd, in no order of files. */
struct disk_span *disk_spans(const struct disk *d, size_t *n);
void disk_spans_free(struct disk_span *spans, size_t n);

#endif
