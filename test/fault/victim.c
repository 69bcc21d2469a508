/* victim.c: see victim.h. */
#include "victim.h"

#include "support/must.h"
#include "support/store_script.h"

#define SECOND 1000000000ll
#define START  (1700000000 * SECOND)

struct store_opts victim_options(void)
{
    return (struct store_opts){
        .segment_min = 16u << 10, .segment_max = 16u << 10, .now_ns = START, .name = "victim"};
}

static bool every_kind(void)
{
    unsigned seen = 0;

    for (size_t i = 0; i < spans_count; i++)
        seen |= 1u << spans[i].type;
    return seen == 0xffe; /* 1 to 11 */
}

int64_t victim_build(struct loop *loop, uint64_t seed, struct model_state *want)
{
    struct store_opts o = victim_options();
    struct script p = {.keys = 25,
                       .live_max = 45,
                       .body_max = 4000,
                       .step_ns = SECOND,
                       .no_reopen = true,
                       .rest = 40};
    struct store_io *io;
    struct mf_error e;
    struct drive d;
    uint64_t bytes = 0;
    int64_t now_ns;
    int tries = 0;

    MUST(store_io_memory(&io, &e) == 0, "%s", e.text);
    drive_init(&d, loop, io, &o, seed);
    do {
        MUST(tries++ < 40, "no store with every kind of record after %d attempts", tries);
        disk_free(&disk);
        disk_spans_free(spans, spans_count);
        drive_open(&d);
        for (int i = 0; i < 150; i++)
            script_step(&d, &p);
        drive_close(&d);
        disk_take(&disk, io);
        spans = disk_spans(&disk, &spans_count);
    } while (!every_kind() || disk_find(&disk, "checkpoint") == NULL);
    state_copy(want, &d.model.committed);
    now_ns = d.now_ns;
    drive_fini(&d);
    excuse_init(want->last_seq);
    for (size_t i = 0; i < disk.files; i++)
        bytes += disk.file[i].size;
    script_print(&p, stdout);
    printf("\n%zu files, %llu bytes, %zu records, %zu live messages, %zu blobs\n", disk.files,
           (unsigned long long)bytes, spans_count, want->msgs, want->blobs);
    fflush(stdout);
    return now_ns;
}
