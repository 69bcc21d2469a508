/* data_impl.h: the functions and flags behind the rows of data_commands.c. */
#ifndef CLI_DATA_DATA_IMPL_H
#define CLI_DATA_DATA_IMPL_H

#include "cli/data/data.h"

extern const struct cli_flag consumer_create_flags[];
extern const struct cli_flag consumer_next_flags[];
extern const struct cli_flag kv_create_flags[];
extern const struct cli_flag kv_put_flags[];
extern const struct cli_flag kv_get_flags[];
extern const struct cli_flag kv_del_flags[];
extern const struct cli_flag kv_purge_flags[];
extern const struct cli_flag kv_watch_flags[];
extern const struct cli_flag object_create_flags[];
extern const struct cli_flag object_get_flags[];
extern const struct cli_flag object_put_flags[];
extern const struct cli_flag pub_flags[];
extern const struct cli_flag req_flags[];
extern const struct cli_flag stream_ls_flags[];
extern const struct cli_flag stream_force_flags[];
extern const struct cli_flag stream_config_flags[];
extern const struct cli_flag stream_purge_flags[];
extern const struct cli_flag stream_get_flags[];
extern const struct cli_flag stream_rm_msg_flags[];
extern const struct cli_flag sub_flags[];

int consumer_list_run(struct cli *c);
int consumer_info_run(struct cli *c);
int consumer_create_run(struct cli *c);
int consumer_rm_run(struct cli *c);
int consumer_next_run(struct cli *c);
int kv_list_run(struct cli *c);
int kv_info_run(struct cli *c);
int kv_create_run(struct cli *c);
int kv_rm_run(struct cli *c);
int kv_put_run(struct cli *c);
int kv_get_run(struct cli *c);
int kv_del_run(struct cli *c);
int kv_purge_run(struct cli *c);
int kv_ttl_run(struct cli *c);
int kv_watch_run(struct cli *c);
int kv_history_run(struct cli *c);
int kv_keys_run(struct cli *c);
int object_list_run(struct cli *c);
int object_create_run(struct cli *c);
int object_info_run(struct cli *c);
int object_rm_run(struct cli *c);
int object_get_run(struct cli *c);
int object_put_run(struct cli *c);
int pub_run(struct cli *c);
int req_run(struct cli *c);
int stream_list_run(struct cli *c);
int stream_info_run(struct cli *c);
int stream_create_run(struct cli *c);
int stream_edit_run(struct cli *c);
int stream_rm_run(struct cli *c);
int stream_purge_run(struct cli *c);
int stream_get_run(struct cli *c);
int stream_rm_msg_run(struct cli *c);
int sub_run(struct cli *c);

/* For streams, and for buckets, which are streams too; `what` is what users call them. */
MF_MUSTCHECK int stream_show(struct cli *c, const char *stream, const char *what);
/* Lists the buckets: the streams whose names begin with `prefix`.  `none` says that there are no
 * such. */
MF_MUSTCHECK int stream_list_buckets(struct cli *c, const char *prefix, const char *none,
                                     void (*print)(struct cli *c, const json_t *buckets));
/* Creates a stream; `what` and `word` name it: "drafts", "bucket". */
MF_MUSTCHECK int stream_create_config(struct cli *c, const json_t *config, const char *what,
                                      const char *word);
/* Asks, and removes it. */
MF_MUSTCHECK int stream_remove(struct cli *c, const char *stream, const char *what,
                               const char *word);

#endif
