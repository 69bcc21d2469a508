/* backup.c: the service of snapshots and restores, and its state of each account. */
#include "backup/backup_impl.h"

#include <stdlib.h>

static int account_init(struct api_account *aa)
{
    struct backup_account *b = calloc(1, sizeof *b);

    if (b == NULL)
        return MF_NOMEM;
    mf_list_init(&b->restores);
    mf_list_init(&b->snapshots);
    aa->extension = b;
    return 0;
}

static void account_stop(struct api_account *aa)
{
    snapshots_stop(aa);
    restores_stop(aa);
}

static void account_fini(struct api_account *aa)
{
    free(aa->extension);
}

static void write_no_deliver(struct api_call *call, struct jsonw *w)
{
    (void)call;
    jsonw_str(w, "deliver_subject", "");
}

static const struct api_route routes[] = {
    {"STREAM.SNAPSHOT.*", "stream_snapshot_response", snapshot_handle, NULL, true, false},
    {"STREAM.RESTORE.*", "stream_restore_response", restore_handle, write_no_deliver, true, false},
};
static const struct api_service service = {
    .prefix = MF_LIT("$JS.API."), .type = API_TYPE, .routes = routes, .nroutes = MF_COUNT(routes)};

const struct api_extension backup_extension = {
    .service = &service,
    .account_init = account_init,
    .account_stop = account_stop,
    .account_fini = account_fini,
    .reserved = restores_reserved,
};
