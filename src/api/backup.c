/* backup.c: the turns of snapshots and restores. */
#include "backup.h"

static void backup_turn(struct loop_defer *d)
{
    struct api *a = mf_container(d, struct api, backup_turn);
    struct mf_list *pos = mf_list_pop(&a->backups);
    struct backup_task *t;

    if (!mf_list_empty(&a->backups))
        loop_next(a->loop, &a->backup_turn);
    if (pos == NULL)
        return;
    t = mf_container(pos, struct backup_task, link);
    t->run(t);
}

void backup_wake(struct api *a, struct backup_task *t)
{
    if (!mf_list_empty(&t->link))
        return;
    mf_list_push(&a->backups, &t->link);
    loop_next(a->loop, &a->backup_turn);
}

void backup_cancel(struct backup_task *t)
{
    mf_list_del(&t->link);
}

void backups_init(struct api *a)
{
    mf_list_init(&a->backups);
    a->backup_turn.fn = backup_turn;
}

void backups_fini(struct api *a)
{
    loop_defer_cancel(a->loop, &a->backup_turn);
}
