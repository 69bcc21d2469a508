# mayflyd: main().  Wiring only.
sbin_PROGRAMS += mayflyd
mayflyd_SOURCES = %D%/mayflyd.c
mayflyd_LDADD = $(STATUS_LIBS) $(BACKUP_LIBS) $(SERVER_LIBS)
