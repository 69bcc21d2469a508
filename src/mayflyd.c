/* mayflyd.c: main(): prepares the process and runs the server. */
#include "mayfly.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

/* A process without standard descriptors would give their numbers to its first sockets, and write
 * log lines to a client. */
static void fill_descriptors(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* glibc keeps small freed blocks in lists and merges all of them at once, inside some later free():
 * a million blocks take a third of a second.  Merged one by one they cost a few nanoseconds each.
 */
static void merge_freed_blocks_at_once(void)
{
#ifdef M_MXFAST
    (void)mallopt(M_MXFAST, 0);
#endif
}

int main(int argc, char **argv)
{
    merge_freed_blocks_at_once();
    fill_descriptors();
    return mayfly_main(argc, argv);
}
