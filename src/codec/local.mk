# codec: JSON, S2, checksums and hashes, tar, archives, the texts of nkeys.  Knows bytes, not servers.
noinst_LIBRARIES += %D%/libcodec.a
%C%_libcodec_a_SOURCES = \
	%D%/archive.c %D%/archive.h %D%/base64.c %D%/base64.h %D%/checksum.c %D%/checksum.h %D%/float_text.c %D%/float_text_impl.h %D%/hash.c %D%/hash.h %D%/natsfile.c %D%/natsfile.h \
	%D%/highway.c %D%/highway.h %D%/json.c %D%/json.h %D%/json_map.c %D%/json_plain.c \
	%D%/json_read_impl.h %D%/json_scan.c %D%/json_scan_impl.h %D%/json_text.c %D%/json_time.c \
	%D%/jsonw.c %D%/jsonw.h %D%/log_json.c %D%/log_json.h %D%/nkey.c %D%/nkey.h %D%/s2.c %D%/s2.h %D%/s2_frame.c %D%/seal.c %D%/seal.h %D%/sha256.c %D%/sha256.h %D%/tar.c \
	%D%/tar.h
%C%_libcodec_a_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS) $(SODIUM_CFLAGS) $(OPENSSL_CFLAGS)

# Programs that use sha256.h or natsfile.h add $(SODIUM_LIBS), those that use seal.h also $(OPENSSL_LIBS); the others do without them.
CODEC_LIBS = %D%/libcodec.a $(BASE_LIBS)

UNIT_TESTS += test/unit/codec/jsonw
test_unit_codec_jsonw_SOURCES = test/unit/codec/test_jsonw.c
test_unit_codec_jsonw_LDADD = $(CODEC_LIBS) $(UNITY_LIBS) -lm
test_unit_codec_jsonw_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/codec/json
test_unit_codec_json_SOURCES = test/unit/codec/test_json.c test/support/json_cases.h test/unit/codec/json_time_cases.h \
	test/support/guard.c test/support/guard.h test/support/no_memory.h
test_unit_codec_json_LDADD = $(CODEC_LIBS) $(UNITY_LIBS) -lm
test_unit_codec_json_CPPFLAGS = $(TEST_CPPFLAGS)
test_unit_codec_json_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
UNIT_TESTS += test/unit/codec/s2
test_unit_codec_s2_SOURCES = test/unit/codec/test_s2.c test/support/guard.c test/support/guard.h
test_unit_codec_s2_LDADD = $(CODEC_LIBS) $(UNITY_LIBS)
test_unit_codec_s2_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/codec/highway
test_unit_codec_highway_SOURCES = test/unit/codec/test_highway.c
test_unit_codec_highway_LDADD = $(CODEC_LIBS) $(UNITY_LIBS)
test_unit_codec_highway_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/codec/sha256
test_unit_codec_sha256_SOURCES = test/unit/codec/test_sha256.c
test_unit_codec_sha256_LDADD = $(CODEC_LIBS) $(SODIUM_LIBS) $(UNITY_LIBS)
test_unit_codec_sha256_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/codec/archive
test_unit_codec_archive_SOURCES = test/unit/codec/test_archive.c
test_unit_codec_archive_LDADD = $(CODEC_LIBS) $(UNITY_LIBS)
test_unit_codec_archive_CPPFLAGS = $(TEST_CPPFLAGS) -DASSETS='"$(abs_top_srcdir)/test/assets"'
UNIT_TESTS += test/unit/codec/nkey
test_unit_codec_nkey_SOURCES = test/unit/codec/test_nkey.c
test_unit_codec_nkey_LDADD = $(CODEC_LIBS) $(UNITY_LIBS)
test_unit_codec_nkey_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/codec/base64
test_unit_codec_base64_SOURCES = test/unit/codec/test_base64.c
test_unit_codec_base64_LDADD = $(CODEC_LIBS) $(UNITY_LIBS)
test_unit_codec_base64_CPPFLAGS = $(TEST_CPPFLAGS)
UNIT_TESTS += test/unit/codec/seal
test_unit_codec_seal_SOURCES = test/unit/codec/test_seal.c
test_unit_codec_seal_LDADD = $(CODEC_LIBS) $(SODIUM_LIBS) $(OPENSSL_LIBS) $(UNITY_LIBS)
test_unit_codec_seal_CPPFLAGS = $(TEST_CPPFLAGS)
