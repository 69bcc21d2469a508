# Torture: trials of `./dev torture` and of the step `torture` of `./dev test` (README.md here).
EXTRA_DIST += %D%/README.md %D%/run.mjs %D%/lib %D%/trials

# Preloaded into the server (shim.h).  Shared objects, built like programs: there is no libtool here, and the
# sanitizers stay out of them.
SHIM_CFLAGS = -std=c11 -Wall -Wextra -Wshadow -Wmissing-prototypes -fPIC -U_FORTIFY_SOURCE
check_PROGRAMS += %D%/shim.so %D%/shim_memory.so
%C%_shim_so_SOURCES = %D%/shim.c %D%/shim_disk.c %D%/shim.h
%C%_shim_so_CFLAGS = $(SHIM_CFLAGS)
%C%_shim_so_LDFLAGS = -shared
%C%_shim_so_LDADD = -ldl -lpthread
%C%_shim_memory_so_SOURCES = $(%C%_shim_so_SOURCES) %D%/shim_memory.c
%C%_shim_memory_so_CFLAGS = $(SHIM_CFLAGS)
%C%_shim_memory_so_LDFLAGS = -shared
%C%_shim_memory_so_LDADD = -ldl -lpthread

# A program that holds a server by libmayfly: --mayflyd=BUILD/mayfly_host runs the trials through the library.
check_PROGRAMS += mayfly_host
mayfly_host_SOURCES = %D%/host.c
mayfly_host_LDADD = $(MAYFLY_LIBS)

.PHONY: torture-programs
torture-programs: $(FAULT_TESTS) mayfly_host$(EXEEXT) %D%/shim.so %D%/shim_memory.so

# Deliberate bugs, and the script that shows who finds them.
EXTRA_DIST += %D%/mutants
