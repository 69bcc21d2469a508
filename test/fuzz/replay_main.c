/* replay_main.c: runs a harness over stored inputs, for builds without libFuzzer.
 *
 *   fuzz_x [FILE|FOLDER]...     default: $srcdir/test/fuzz/corpus/x, with x from the program's name
 *
 * Each input is handed over in a block of exactly its size, so that a sanitizer sees a read behind
 * it.  Exits 1 when there was nothing to run: an empty corpus proves nothing. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

static unsigned long ran;

static int replay_file(const char *path, size_t size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = malloc(size > 0 ? size : 1);
    int rc = 1;

    if (f == NULL || data == NULL || fread(data, 1, size, f) != size) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        goto out;
    }
    if (getenv("REPLAY_VERBOSE") != NULL)
        fprintf(stderr, "%s\n", path);
    (void)LLVMFuzzerTestOneInput(data, size);
    ran++;
    rc = 0;
out:
    free(data);
    if (f != NULL)
        fclose(f);
    return rc;
}

static int replay(const char *path);

static int replay_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int rc = 0;

    if (dir == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    while ((entry = readdir(dir)) != NULL) {
        char file[4096];

        if (entry->d_name[0] == '.')
            continue;
        if (snprintf(file, sizeof file, "%s/%s", path, entry->d_name) >= (int)sizeof file)
            rc = 1;
        else
            rc |= replay(file);
    }
    closedir(dir);
    return rc;
}

static int replay(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    return S_ISDIR(st.st_mode) ? replay_folder(path) : replay_file(path, (size_t)st.st_size);
}

static int replay_default(const char *program)
{
    const char *base = strrchr(program, '/'), *top = getenv("srcdir");
    char path[4096];

    base = base == NULL ? program : base + 1;
    if (strncmp(base, "fuzz_", 5) == 0)
        base += 5;
    if (snprintf(path, sizeof path, "%s/test/fuzz/corpus/%s", top == NULL ? "." : top, base) >=
        (int)sizeof path)
        return 1;
    return replay(path);
}

int main(int argc, char **argv)
{
    int rc = 0;

    for (int i = 1; i < argc; i++)
        rc |= replay(argv[i]);
    if (argc == 1)
        rc = replay_default(argv[0]);
    printf("%s: %lu inputs replayed\n", argv[0], ran);
    return rc != 0 || ran == 0;
}
