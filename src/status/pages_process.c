/* pages_process.c: memory, CPU, descriptors and threads of this process, from /proc and getrusage.
 */
#include "status/pages_impl.h"

#include "base/clock.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t read_small(const char *path, char *dst, size_t cap)
{
    FILE *f = fopen(path, "re");
    size_t n = 0;

    if (f != NULL) {
        n = fread(dst, 1, cap - 1, f);
        fclose(f);
    }
    dst[n] = '\0';
    return n;
}

/* "pid (name) state ..."; the name may hold anything, so count from the last parenthesis. */
static uint64_t stat_field(const char *stat, int wanted)
{
    const char *at = strrchr(stat, ')');

    for (int field = 2; at != NULL && field < wanted; field++) {
        at = strchr(at + 1, ' ');
        if (at == NULL)
            return 0;
    }
    return at == NULL ? 0 : strtoull(at + 1, NULL, 10);
}
#define STAT_THREADS 20
#define STAT_VSIZE   23
#define STAT_RSS     24

static void read_proc(struct page_usage *u)
{
    char stat_text[1024];
    struct stat fds;

    if (read_small("/proc/self/stat", stat_text, sizeof stat_text) > 0) {
        u->threads = stat_field(stat_text, STAT_THREADS);
        u->vsize = stat_field(stat_text, STAT_VSIZE);
        u->rss = stat_field(stat_text, STAT_RSS) * (uint64_t)sysconf(_SC_PAGESIZE);
    }
    /* Since Linux 6.2 the size of this folder is their number; before, 0 says "unknown". */
    if (stat("/proc/self/fd", &fds) == 0)
        u->fds = (uint64_t)fds.st_size;
}

void page_usage(struct status *s, struct page_usage *out)
{
    struct rusage ru;
    struct rlimit files;
    int64_t now = clock_mono_ns(),
            since = s->cpu_at_ns != 0 ? s->cpu_at_ns : server_start_mono_ns(s->server);

    memset(out, 0, sizeof *out);
    read_proc(out);
    getrusage(RUSAGE_SELF, &ru);
    out->cpu_seconds = (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
                       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        out->max_fds = files.rlim_cur;
    /* Percent since the last sample that lies at least half a second back (or since the start), to
     * one place behind the point. */
    if (now - since >= CLOCK_S / 2) {
        double percent = (out->cpu_seconds - s->cpu_seconds) * 1e11 / (double)(now - since);
        s->cpu_percent = (double)(int64_t)(percent * 10 + 0.5) / 10;
        s->cpu_seconds = out->cpu_seconds;
        s->cpu_at_ns = now;
    }
    out->cpu_percent = s->cpu_percent;
}

/* --- /debug/vars ------------------------------------------------------------------------------ */

/* memstats is empty: Go's memory statistics do not exist here. */
void page_expvars(const struct status *s, struct jsonw *w)
{
    jsonw_array(w, "cmdline");
    jsonw_str(w, NULL, server_program(s->server));
    jsonw_end(w);
    jsonw_object(w, "memstats");
    jsonw_end(w);
}

/* --- /stacksz: names and states of threads ---------------------------------------------------- */

static void one_thread(struct mf_buf *out, const char *tid)
{
    char path[64], name[64], stat_text[1024];
    const char *state;

    snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", tid);
    read_small(path, name, sizeof name);
    name[strcspn(name, "\n")] = '\0';
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", tid);
    read_small(path, stat_text, sizeof stat_text);
    state = strrchr(stat_text, ')');
    mf_buf_printf(out, "thread %s [%s] state %c\n", tid, name,
                  state != NULL && state[1] == ' ' ? state[2] : '?');
}

void page_stacksz(struct mf_buf *out)
{
    DIR *d = opendir("/proc/self/task");
    struct dirent *entry;

    if (d == NULL)
        return;
    while ((entry = readdir(d)) != NULL)
        if (entry->d_name[0] != '.')
            one_thread(out, entry->d_name);
    closedir(d);
}
