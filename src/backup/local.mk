# backup: STREAM.SNAPSHOT and STREAM.RESTORE: nats-server's archive out and in, its older backups in.
noinst_LIBRARIES += %D%/libbackup.a
%C%_libbackup_a_SOURCES = \
	%D%/backup.c %D%/backup.h %D%/backup_impl.h %D%/backup_advisory.c \
	%D%/snapshot.c %D%/restore.c %D%/restore_store.c %D%/restore_consumers.c %D%/restore_tar.c %D%/restore_budget.c \
	%D%/restore_read.c %D%/restore_impl.h %D%/consumer_backup.c \
	%D%/consumer_backup_impl.h
%C%_libbackup_a_CPPFLAGS = $(AM_CPPFLAGS)

BACKUP_LIBS = %D%/libbackup.a $(API_LIBS)

# restore: the cost of a hostile backup.
UNIT_TESTS += test/unit/backup/restore
test_unit_backup_restore_SOURCES = test/unit/backup/test_restore.c test/support/api_world.h test/support/must.c \
	test/support/must.h
test_unit_backup_restore_LDADD = $(BACKUP_LIBS) $(ACCOUNT_LIBS) $(UNITY_LIBS)
test_unit_backup_restore_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/src
