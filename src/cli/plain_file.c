/* plain_file.c: see plain_file.h. */
#include "cli/plain_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *plain_file_open(const char *path, struct mf_error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    FILE *f = NULL;

    if (fd < 0) {
        (void)mf_fail_errno(e, errno == ENOENT ? MF_NOTFOUND : MF_IO, "%s", path);
        return NULL;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        (void)mf_fail(e, MF_IO, "%s is no plain file", path);
    else if ((f = fdopen(fd, "r")) == NULL)
        (void)mf_fail_errno(e, MF_IO, "%s", path);
    if (f == NULL)
        (void)close(fd);
    return f;
}
