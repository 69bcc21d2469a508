/* mayfly.h: the C API of libmayfly, and the only header that is installed.
 *
 * A program that runs a Mayfly server needs nothing else: src/mayflyd.c is such a program.
 *
 * Threads: mayfly_main() runs the server on the calling thread and starts worker threads of its
 * own.  One server can run in a process at a time, because a server handles the signals of the
 * process.  mayfly_version() and mayfly_nats_version() may be called from any thread at any time.
 * Errors: functions that can fail return an exit status and write the reason to standard error, or
 * to the log once the log is open.
 * Ownership: strings that are returned are static; arguments are borrowed for the length of the
 * call. */
#ifndef MAYFLY_H
#define MAYFLY_H

#ifdef __cplusplus
extern "C" {
#endif

#define MAYFLY_VERSION "0.1.0"

/* The version of the library that is linked, for comparison with MAYFLY_VERSION. */
const char *mayfly_version(void);
/* The version of nats-server whose protocol and API this library serves. */
const char *mayfly_nats_version(void);

/* Runs what the command line asks for: a server, or one of --help, --version, -t (check of the
 * configuration) and -sl (a signal to a running server).  argv[0] names the program in messages and
 * in the ports file.  argv must stay unchanged until the call returns: a reload reads it again.
 *
 * A server runs until SIGINT, SIGTERM or the end of its lame duck mode.  SIGHUP reloads the
 * configuration, SIGUSR1 opens the log file again, SIGUSR2 begins lame duck mode.
 *
 * Returns the exit status of the program: 0, or 1 after an error. */
int mayfly_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
