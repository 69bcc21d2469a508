/* account_purge_impl.h: deletes all streams of an account. */
#ifndef API_ACCOUNT_PURGE_IMPL_H
#define API_ACCOUNT_PURGE_IMPL_H

struct api_call;

/* A call of the system account; its third token names the account.  Answers when the last stream
 * was deleted from disk.  Streams are deleted one at a time: O(streams) turns of the loop. */
void account_purge_handle(struct api_call *call);

#endif
