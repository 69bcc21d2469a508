/* shim_disk.c: the copy of a folder as a power cut would leave it; see shim.h.
 *
 * Every file and folder below the root has a number, given when it is made (an inode's is used
 * again after an unlink).  Writes are noted as stretches; a sync copies them from the file. */
#include "shim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FDS   65536
#define FILES 65536
#define PATH  4096

struct stretch {
    off_t off, end;
};
/* What is known of a file: what was written and not synced. */
struct file {
    struct stretch *dirty;
    size_t count, cap;
    off_t least; /* the smallest size since the last sync; -1: never cut */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH], shadow[PATH];
static size_t root_len;
static dev_t root_dev;
static bool watching, copying;
static uint32_t id_of_fd[FDS]; /* 0: none of ours */
static struct {
    ino_t ino;
    uint32_t id;
} by_ino[FILES]; /* open addressing */
static struct file *files[FILES];
static uint32_t last_id;

/* The shim's own calls: straight to the kernel, past its own definitions. */
static int sys_open(const char *path, int flags)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}
static void sys_close(int fd)
{
    syscall(SYS_close, fd);
}

_Noreturn static void give_up(const char *what)
{
    fprintf(stderr, "shim: %s: %s\n", what, strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    _exit(99);
}

static void write_all(int fd, const char *src, size_t n, off_t off)
{
    while (n > 0) {
        ssize_t put = syscall(SYS_pwrite64, fd, src, n, off);
        if (put <= 0)
            give_up("write to the copy");
        src += put;
        n -= (size_t)put;
        off += put;
    }
}

static uint32_t *slot_of(ino_t ino)
{
    size_t i = (size_t)(ino * 0x9E3779B97F4A7C15u >> 40) % FILES;

    while (by_ino[i].ino != 0 && by_ino[i].ino != ino)
        i = (i + 1) % FILES;
    by_ino[i].ino = ino;
    return &by_ino[i].id;
}

/* A new number for what has this inode. */
static uint32_t number(ino_t ino)
{
    char name[PATH + 64], text[16];
    uint32_t id = ++last_id;

    if (id >= FILES) {
        errno = ENFILE;
        give_up("too many files");
    }
    *slot_of(ino) = id;
    files[id] = calloc(1, sizeof *files[id]);
    if (files[id] == NULL)
        give_up("memory");
    files[id]->least = -1;
    if (copying) {
        snprintf(name, sizeof name, "%s/i/%llu", shadow, (unsigned long long)ino);
        snprintf(text, sizeof text, "%u", id);
        syscall(SYS_unlink, name);
        if (syscall(SYS_symlink, text, name) != 0)
            give_up(name);
    }
    return id;
}

static uint32_t number_known(ino_t ino)
{
    uint32_t id = *slot_of(ino);

    return id == 0 ? number(ino) : id;
}

/* --- durable bytes and names --------------------------------------------------------------------
 */

static int open_copy(uint32_t id)
{
    char name[PATH + 64];

    snprintf(name, sizeof name, "%s/f/%u", shadow, id);
    int fd = sys_open(name, O_RDWR | O_CREAT);
    if (fd < 0)
        give_up(name);
    return fd;
}

static void copy_stretch(int from, int to, struct stretch s, char *buf, size_t cap)
{
    while (s.off < s.end) {
        size_t n = (size_t)(s.end - s.off) < cap ? (size_t)(s.end - s.off) : cap;
        ssize_t got = syscall(SYS_pread64, from, buf, n, s.off);
        if (got <= 0)
            return; /* cut short meanwhile */
        write_all(to, buf, (size_t)got, s.off);
        s.off += got;
    }
}

/* Everything written to this file up to now becomes durable, and its size. */
static void sync_file(int fd, uint32_t id)
{
    static __thread char buf[65536];
    struct stat st;

    pthread_mutex_lock(&lock);
    struct file mine = *files[id];
    *files[id] = (struct file){.least = -1};
    pthread_mutex_unlock(&lock);
    int to = open_copy(id);
    if (fstat(fd, &st) != 0)
        give_up("size");
    if (mine.least >= 0 && syscall(SYS_ftruncate, to, mine.least) != 0)
        give_up("cut the copy");
    if (syscall(SYS_ftruncate, to, st.st_size) != 0)
        give_up("size of the copy");
    for (size_t i = 0; i < mine.count; i++)
        copy_stretch(fd, to, mine.dirty[i], buf, sizeof buf);
    sys_close(to);
    free(mine.dirty);
}

/* The names in a folder become durable, all at once. */
static void sync_folder(int fd, uint32_t id)
{
    char name[PATH + 64], part[PATH + 80], line[600];
    int again = (int)syscall(SYS_openat, fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *walk = again < 0 ? NULL : fdopendir(again);
    struct dirent *e;
    struct stat st;
    off_t at = 0;

    if (walk == NULL)
        give_up("list a folder");
    pthread_mutex_lock(&lock);
    snprintf(name, sizeof name, "%s/d/%u", shadow, id);
    snprintf(part, sizeof part, "%s.part", name);
    int to = sys_open(part, O_RDWR | O_CREAT | O_TRUNC);
    if (to < 0)
        give_up(part);
    while ((e = readdir(walk)) != NULL) { // NOLINT(concurrency-mt-unsafe)
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        int n = snprintf(line, sizeof line, "%c %u %s\n", S_ISDIR(st.st_mode) ? 'd' : 'f',
                         number_known(st.st_ino), e->d_name);
        write_all(to, line, (size_t)n, at);
        at += n;
    }
    sys_close(to);
    if (syscall(SYS_rename, part, name) != 0)
        give_up(name);
    pthread_mutex_unlock(&lock);
    closedir(walk);
}

/* --- at the start: all there is is durable ------------------------------------------------------
 */

static void take_all(int fd)
{
    struct stat st;
    DIR *walk = fdopendir(dup(fd));
    struct dirent *e;

    if (walk == NULL || fstat(fd, &st) != 0)
        give_up("walk the root");
    uint32_t id = number_known(st.st_ino);
    while ((e = readdir(walk)) != NULL) { // NOLINT(concurrency-mt-unsafe)
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        int child = (int)syscall(SYS_openat, fd, e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
        if (child < 0 || fstat(child, &st) != 0)
            give_up(e->d_name);
        if (S_ISDIR(st.st_mode)) {
            take_all(child);
        } else {
            uint32_t file = number_known(st.st_ino);
            shim_disk_opened(child, false);
            shim_disk_wrote(child, 0, (size_t)st.st_size);
            sync_file(child, file);
            shim_disk_closed(child);
        }
        sys_close(child);
    }
    closedir(walk);
    sync_folder(fd, id);
}

void shim_disk_init(void)
{
    static const char *const parts[] = {"", "/d", "/f", "/i"};
    const char *r = getenv("SHIM_ROOT"), *s = getenv("SHIM_SHADOW");
    char name[PATH + 64];

    if (r == NULL)
        return;
    snprintf(root, sizeof root, "%s", r);
    root_len = strlen(root);
    watching = true;
    if (s == NULL)
        return;
    snprintf(shadow, sizeof shadow, "%s", s);
    copying = true;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(name, sizeof name, "%s%s", shadow, parts[i]);
        if (syscall(SYS_mkdir, name, 0700) != 0)
            give_up(name); /* it must be new */
    }
    struct stat st;
    int fd = sys_open(root, O_RDONLY | O_DIRECTORY);
    if (fd < 0 || fstat(fd, &st) != 0)
        give_up(root);
    root_dev = st.st_dev;
    take_all(fd);
    sys_close(fd);
}

/* --- what the calls tell ------------------------------------------------------------------------
 */

bool shim_disk_on(void)
{
    return copying;
}

bool shim_disk_watches(int fd)
{
    return watching && fd >= 0 && fd < FDS && id_of_fd[fd] != 0;
}

static bool is_below_root(int fd)
{
    char link[64], path[PATH];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < (ssize_t)root_len)
        return false;
    path[n] = '\0';
    return memcmp(path, root, root_len) == 0 && (path[root_len] == '/' || path[root_len] == '\0');
}

void shim_disk_hold(void)
{
    pthread_mutex_lock(&lock);
}

void shim_disk_release(void)
{
    pthread_mutex_unlock(&lock);
}

void shim_disk_opened(int fd, bool created)
{
    struct stat st;

    if (!watching || fd < 0 || fd >= FDS || !is_below_root(fd) || fstat(fd, &st) != 0)
        return;
    if (!created)
        pthread_mutex_lock(&lock);
    id_of_fd[fd] = created ? number(st.st_ino) : number_known(st.st_ino);
    if (!created)
        pthread_mutex_unlock(&lock);
}

void shim_disk_closed(int fd)
{
    if (watching && fd >= 0 && fd < FDS)
        id_of_fd[fd] = 0;
}

void shim_disk_made(int folder, const char *name)
{
    struct stat st;
    int fd = (int)syscall(SYS_openat, folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

    if (fd < 0)
        return;
    if (watching && is_below_root(fd) && fstat(fd, &st) == 0)
        number(st.st_ino);
    sys_close(fd);
}

ino_t shim_disk_inode(int folder, const char *name)
{
    struct stat st;

    if (!copying || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_dev != root_dev)
        return 0;
    return st.st_ino;
}

/* Else a power cut in the moment of its next use would take the new file for the old one. */
void shim_disk_gone(ino_t ino)
{
    char name[PATH + 64];

    if (ino == 0)
        return;
    *slot_of(ino) = 0;
    snprintf(name, sizeof name, "%s/i/%llu", shadow, (unsigned long long)ino);
    syscall(SYS_unlink, name);
}

void shim_disk_wrote(int fd, off_t off, size_t n)
{
    if (!copying || !shim_disk_watches(fd))
        return;
    pthread_mutex_lock(&lock);
    struct file *f = files[id_of_fd[fd]];
    struct stretch *last = f->count > 0 ? &f->dirty[f->count - 1] : NULL;
    if (last != NULL && last->end == off) {
        last->end += (off_t)n;
    } else {
        if (f->count == f->cap) {
            f->cap = f->cap == 0 ? 16 : f->cap * 2;
            f->dirty = realloc(f->dirty, f->cap * sizeof *f->dirty);
        }
        if (f->dirty == NULL)
            give_up("memory");
        f->dirty[f->count++] = (struct stretch){off, off + (off_t)n};
    }
    pthread_mutex_unlock(&lock);
}

void shim_disk_cut(int fd, off_t size)
{
    if (!copying || !shim_disk_watches(fd))
        return;
    pthread_mutex_lock(&lock);
    struct file *f = files[id_of_fd[fd]];
    if (f->least < 0 || size < f->least)
        f->least = size;
    pthread_mutex_unlock(&lock);
}

void shim_disk_synced(int fd)
{
    struct stat st;

    if (!shim_disk_watches(fd) || fstat(fd, &st) != 0)
        return;
    if (S_ISDIR(st.st_mode))
        sync_folder(fd, id_of_fd[fd]);
    else
        sync_file(fd, id_of_fd[fd]);
}

static void sync_below(int fd)
{
    DIR *walk = fdopendir(dup(fd));
    struct dirent *e;
    struct stat st;

    while (walk != NULL && (e = readdir(walk)) != NULL) { // NOLINT(concurrency-mt-unsafe)
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        int child = (int)syscall(SYS_openat, fd, e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
        if (child < 0 || fstat(child, &st) != 0) {
            sys_close(child); /* unlinked meanwhile */
            continue;
        }
        if (S_ISDIR(st.st_mode)) {
            sync_below(child);
        } else {
            pthread_mutex_lock(&lock);
            uint32_t id = number_known(st.st_ino);
            pthread_mutex_unlock(&lock);
            sync_file(child, id);
        }
        sys_close(child);
    }
    if (walk != NULL)
        closedir(walk);
}

void shim_disk_synced_all(void)
{
    int fd = copying ? sys_open(root, O_RDONLY | O_DIRECTORY) : -1;

    if (fd < 0)
        return;
    sync_below(fd);
    sys_close(fd);
}

bool shim_disk_begins_dirty(int fd)
{
    bool begins = false;

    if (!copying || !shim_disk_watches(fd))
        return false;
    pthread_mutex_lock(&lock);
    const struct file *f = files[id_of_fd[fd]];
    for (size_t i = 0; i < f->count && !begins; i++)
        begins = f->dirty[i].off == 0;
    pthread_mutex_unlock(&lock);
    return begins;
}

/* Bytes alone: a file system tells of a size or a name that it cannot write in other ways. */
void shim_disk_forgets(int fd)
{
    if (!copying || !shim_disk_watches(fd))
        return;
    pthread_mutex_lock(&lock);
    struct file *f = files[id_of_fd[fd]];
    free(f->dirty);
    f->dirty = NULL;
    f->count = f->cap = 0;
    pthread_mutex_unlock(&lock);
}
