# libmayfly: the C API, wiring only; mayflyd: main().
include_HEADERS += include/mayfly.h
noinst_LIBRARIES += %D%/libwiring.a
%C%_libwiring_a_SOURCES = %D%/mayfly.c %D%/mayfly_calls.c %D%/mayfly_source.c %D%/mayfly_impl.h %D%/program.c \
	%D%/wiring.c %D%/wiring.h

MAYFLY_LIBS = %D%/libwiring.a src/callout/libcallout.a src/backup/libbackup.a src/leaf/libleaf.a $(STATUS_LIBS)

sbin_PROGRAMS += mayflyd
mayflyd_SOURCES = %D%/mayflyd.c
mayflyd_LDADD = $(MAYFLY_LIBS)

# --- the library, shared and static ------------------------------------------------------------------
# Programs and library are made of the same objects, so mayflyd is what tells that an archive has changed.
# The first number of the soname rises with each change that breaks a program linked before: tools/abi.mjs.
SONAME = libmayfly.so.0
SOFILE = libmayfly.so.$(PACKAGE_VERSION)
noinst_DATA = $(SOFILE) libmayfly.a
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = %D%/mayfly.pc
CLEANFILES += libmayfly.so $(SONAME) $(SOFILE) libmayfly.a libmayfly.o
EXTRA_DIST += %D%/mayfly.abi examples/mayfly.hpp examples/sessions.c examples/sessions.cpp examples/sessions.py

$(SOFILE): mayflyd$(EXEEXT)
	$(AM_V_CCLD)$(CC) $(AM_CFLAGS) $(CFLAGS) $(MF_SO_LDFLAGS) -Wl,-soname,$(SONAME) $(LDFLAGS) -o $@ \
	    -Wl,--whole-archive %D%/libwiring.a -Wl,--no-whole-archive $(MAYFLY_LIBS) $(LIBS)
	$(AM_V_at)$(LN_S) -f $(SOFILE) $(SONAME) && $(LN_S) -f $(SONAME) libmayfly.so

# One object, in which every symbol but those of mayfly.h is local: nothing clashes with the program's own.
libmayfly.a: mayflyd$(EXEEXT)
	$(AM_V_AR)ours=; for lib in $(MAYFLY_LIBS); do case $$lib in *.a) ours="$$ours $$lib" ;; esac; done; \
	    $(CC) $(CFLAGS) -fno-lto -r -nostdlib -o libmayfly.o -Wl,--whole-archive %D%/libwiring.a \
	        -Wl,--no-whole-archive -Wl,--start-group $$ours -Wl,--end-group && \
	    $(OBJCOPY) --localize-hidden libmayfly.o && rm -f $@ && $(AR) rc $@ libmayfly.o && $(RANLIB) $@

install-exec-local: $(SOFILE) libmayfly.a
	$(MKDIR_P) '$(DESTDIR)$(libdir)'
	$(INSTALL_PROGRAM) $(SOFILE) '$(DESTDIR)$(libdir)/$(SOFILE)'
	cd '$(DESTDIR)$(libdir)' && $(LN_S) -f $(SOFILE) $(SONAME) && $(LN_S) -f $(SONAME) libmayfly.so
	$(INSTALL_DATA) libmayfly.a '$(DESTDIR)$(libdir)/libmayfly.a'
uninstall-local:
	for file in $(SOFILE) $(SONAME) libmayfly.so libmayfly.a; do rm -f '$(DESTDIR)$(libdir)'/$$file; done

UNIT_TESTS += test/unit/mayfly/mayfly test/unit/mayfly/process test/unit/mayfly/idle test/unit/mayfly/unix \
	test/unit/mayfly/budgets
test_unit_mayfly_mayfly_SOURCES = test/unit/mayfly/test_mayfly.c test/unit/mayfly/mayfly_fixture.h test/support/fd_client.h
test_unit_mayfly_mayfly_LDADD = $(MAYFLY_LIBS) $(UNITY_LIBS)
test_unit_mayfly_mayfly_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_mayfly_process_SOURCES = test/unit/mayfly/test_process.c test/unit/mayfly/mayfly_fixture.h test/support/fd_client.h
test_unit_mayfly_process_LDADD = $(MAYFLY_LIBS) $(UNITY_LIBS)
test_unit_mayfly_process_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_mayfly_idle_SOURCES = test/unit/mayfly/test_idle.c test/unit/mayfly/mayfly_fixture.h test/support/fd_client.h
test_unit_mayfly_idle_LDADD = $(MAYFLY_LIBS) $(UNITY_LIBS)
test_unit_mayfly_idle_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_mayfly_unix_SOURCES = test/unit/mayfly/test_unix.c test/unit/mayfly/mayfly_fixture.h test/support/fd_client.h
test_unit_mayfly_unix_LDADD = $(MAYFLY_LIBS) $(UNITY_LIBS)
test_unit_mayfly_unix_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_mayfly_budgets_SOURCES = test/unit/mayfly/test_budgets.c test/unit/mayfly/mayfly_fixture.h test/support/fd_client.h
test_unit_mayfly_budgets_LDADD = $(MAYFLY_LIBS) $(UNITY_LIBS)
test_unit_mayfly_budgets_CPPFLAGS = $(TEST_CPPFLAGS)
