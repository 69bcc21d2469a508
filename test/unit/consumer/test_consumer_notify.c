/* test_consumer_notify.c: between a publish ack and the notification of consumers at the end of the
 * turn; and how messages that were given up are kept. */
#include "support/consumer_world.h"

#include "stream/stream_impl.h"

/* --- news ------------------------------------------------------------------------------------- */

struct hasty {
    struct stream_publish p;
    struct consumer *c;
    struct consumer_op op;
    uint64_t pending;
    bool done;
};

static void publish_and_wait(struct hasty *h, const char *subject)
{
    h->p.msg = (struct mf_msg){.subject = mf_str(subject), .reply = MF_LIT("r")};
    stream_publish(w.stream, &h->p);
    for (int i = 0; i < 10000 && !h->done; i++)
        loop_turn(w.loop);
    TEST_ASSERT_TRUE(h->done);
    world_turns(&w);
}

static void asks_at_once(struct stream_publish *p, const struct stream_ack *a)
{
    struct hasty *h = mf_container(p, struct hasty, p);
    struct consumer_config cfg = pull();

    TEST_ASSERT_NULL(a->error);
    h->pending = info(h->c).pending;
    consumer_pull(h->c, MF_LIT("in"), MF_LIT("1"), MF_SLICE_NONE);
    cfg.deliver_policy = DELIVER_NEW;
    cfg.mem_storage = true;
    consumer_create(g, &cfg, MF_LIT("N"), &h->op);
    h->done = true;
}

/* A client may have its ack and ask while the turn of the commit goes on: an ack is flushed early
 * where its connection is busy. */
static void test_who_has_an_ack_finds_its_message_counted(void)
{
    struct consumer_config cfg = pull();
    struct hasty h = {.p.done = asks_at_once, .op.done = created};

    world_open(&w, &plain);
    consumers_up();
    put("k.a", "a");
    put("k.b", "b");
    cfg.deliver_policy = DELIVER_LAST_PER_SUBJECT;
    cfg.filter_subject = (char *)"k.>";
    h.c = add("D", cfg);
    snprintf(here, sizeof here, " in ");
    publish_and_wait(&h, "k.c");
    TEST_ASSERT_EQUAL_UINT64(3, h.pending);
    TEST_ASSERT_NOT_NULL(strstr(heard(), ".2|a")); /* two more after it */
    struct consumer *n = consumers_find(g, MF_LIT("N"));
    TEST_ASSERT_NOT_NULL(n);
    TEST_ASSERT_EQUAL_UINT64(0, info(n).pending); /* it is not new */
}

static size_t copies, copies_then;

static void copied(void *arg, const struct mf_msg *m)
{
    (void)arg;
    (void)m;
    copies++;
}

static void counts_copies(struct stream_publish *p, const struct stream_ack *a)
{
    struct hasty *h = mf_container(p, struct hasty, p);

    TEST_ASSERT_NULL(a->error);
    h->pending = info(h->c).pending;
    copies_then = copies;
    h->done = true;
}

/* Who gets a copy may be the API, and the copy a request to delete what is being asked about. */
static void test_asking_for_news_sends_no_copies(void)
{
    struct stream_republish r = {.src = (char *)">", .dest = (char *)"copy.>"};
    struct stream_config sc = plain;
    struct hasty h = {.p.done = counts_copies};

    sc.republish = &r;
    w.host.publish = copied;
    world_open(&w, &sc);
    consumers_up();
    h.c = add("D", pull());
    copies = 0;
    publish_and_wait(&h, "k.a");
    TEST_ASSERT_EQUAL_UINT64(1, h.pending);
    TEST_ASSERT_EQUAL_size_t(0, copies_then);
    TEST_ASSERT_EQUAL_size_t(1, copies);
}

static void ignored(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    (void)op;
    (void)count;
    TEST_ASSERT_NULL(e);
}

static void update_begin(const struct stream_config *to, struct stream_op *op)
{
    struct stream_config next;

    op->done = ignored;
    TEST_ASSERT_EQUAL_INT(0, stream_config_copy(&next, to));
    next.max_msg_size = -1;
    stream_update(w.stream, &next, MF_LIT("x"), op);
    consumers_stream_updated(g);
}

static void test_copies_under_way_are_sent_when_republishing_ends(void)
{
    struct stream_republish r = {.src = (char *)">", .dest = (char *)"copy.>"};
    struct stream_config sc = plain;
    struct world_ack ack;
    struct stream_op op;

    sc.republish = &r;
    w.host.publish = copied;
    world_open(&w, &sc);
    consumers_up();
    copies = 0;
    world_send(&w, "k.a", "r", NULL, "1", &ack);
    update_begin(&plain, &op);
    world_turns(&w);
    TEST_ASSERT_TRUE(ack.done);
    TEST_ASSERT_EQUAL_size_t(1, copies);
    TEST_ASSERT_EQUAL_size_t(0, w.stream->notify.copies.len);
}

/* --- an interest stream and a consumer that goes ------------------------------------------------
 */

static struct stream_config interest_stream(void)
{
    struct stream_config sc = plain;

    sc.retention = RETENTION_INTEREST;
    return sc;
}

static void restart(const struct stream_config *sc)
{
    consumers_close(g, false);
    world_turns(&w);
    world_close(&w);
    world_open(&w, sc);
    consumers_up();
    world_turns(&w);
}

static struct consumer *wants(const char *name, const char *subject)
{
    struct consumer_config cfg = pull();

    cfg.filter_subject = (char *)subject;
    return add(name, cfg);
}

static void gone(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    (void)op;
    TEST_ASSERT_NULL(c);
    TEST_ASSERT_NULL(e);
}

static void deletes_at_once(struct stream_publish *p, const struct stream_ack *a)
{
    struct hasty *h = mf_container(p, struct hasty, p);

    TEST_ASSERT_NULL(a->error);
    consumer_delete(h->c, &h->op);
    h->done = true;
}

/* On disk, and nobody was told; or not even on disk: nobody would ever look at it again. */
static void test_what_only_a_deleted_consumer_wanted_goes_told_or_not(void)
{
    struct stream_config sc = interest_stream();
    struct hasty h = {.p.done = deletes_at_once, .op.done = gone};
    struct consumer_op op = {.done = gone};
    struct world_ack ack;

    world_open(&w, &sc);
    consumers_up();
    wants("B", "k.b");
    h.c = wants("A", "k.a");
    publish_and_wait(&h, "k.a");
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    struct consumer *c = wants("A", "k.a");
    world_send(&w, "k.a", "r", NULL, "x", &ack);
    consumer_delete(c, &op);
    world_turns(&w);
    TEST_ASSERT_TRUE(ack.done);
    TEST_ASSERT_EQUAL_UINT64(0, world_count(&w));
    put("k.b", "stays");
    TEST_ASSERT_EQUAL_UINT64(1, world_count(&w));
}

/* A sweep takes many turns; a stream that keeps all from now on loses nothing to it. */
static void test_sweep_ends_when_the_stream_is_not_one_of_interest_any_more(void)
{
    struct stream_config sc = interest_stream();

    world_open(&w, &sc);
    consumers_up();
    wants("A", "k.a");
    struct consumer *c = wants("B", "k.b");
    for (int i = 0; i < 3000; i++)
        (void)world_publish(&w, "k.a", NULL, "");
    consumer_delete(c, &(struct consumer_op){.done = gone});
    sc.retention = RETENTION_LIMITS;
    struct stream_op op;
    update_begin(&sc, &op);
    put("k.x", "nobody wants it, and it stays");
    for (int i = 0; i < 20; i++)
        world_turns(&w);
    TEST_ASSERT_EQUAL_UINT64(3001, world_count(&w));
}

/* --- given up -----------------------------------------------------------------------------------
 */

static void restored(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    TEST_ASSERT_NULL(e);
    op->consumer = c;
}

static size_t sorted(const struct mf_list *list)
{
    uint64_t last = 0;
    size_t n = 0;

    for (const struct mf_list *pos = list->next; pos != list; pos = pos->next, n++) {
        TEST_ASSERT_GREATER_THAN_UINT64(last, mf_container(pos, struct pend, order)->sseq);
        last = mf_container(pos, struct pend, order)->sseq;
    }
    return n;
}

/* Of a backup: in any order, given up before and behind what waits. */
static void test_restored_consumer_keeps_what_it_gave_up_in_order(void)
{
    struct stream_config sc = interest_stream();
    struct consumer_saved_msg at[] = {{.sseq = 5, .dseq = 5, .count = 1},
                                      {.sseq = 4, .dseq = 4, .count = 2},
                                      {.sseq = 6, .count = 2, .given_up = true},
                                      {.sseq = 1, .count = 2, .given_up = true},
                                      {.sseq = 3, .count = 2, .given_up = true}};
    struct consumer_saved st = {
        .dseq = 6, .sseq = 6, .floor_dseq = 3, .floor_sseq = 3, .at = at, .n = MF_COUNT(at)};
    struct consumer_op op = {.done = restored};
    struct consumer_config cfg = pull();

    world_open(&w, &sc);
    consumers_up();
    add("K", pull());
    for (int i = 0; i < 6; i++)
        put("k.a", "");
    struct consumer_config copy;
    TEST_ASSERT_EQUAL_INT(0, consumer_config_copy(&copy, &cfg));
    consumer_restore(g, &copy, MF_LIT("R"), &st, &op);
    world_turns(&w);
    struct consumer *c = consumers_find(g, MF_LIT("R"));
    TEST_ASSERT_EQUAL_size_t(2, sorted(&c->wait.order));
    TEST_ASSERT_EQUAL_size_t(3, sorted(&c->wait.given));
    TEST_ASSERT_EQUAL_size_t(3, g->given_up);
    consumers_begin(g);
    consumer_delete(c, &(struct consumer_op){.done = gone});
    world_turns(&w);
    TEST_ASSERT_EQUAL_size_t(0, g->given_up);
}

/* A stream is restored with retention limits and takes its own at the end, after its consumers. */
static void test_restored_consumer_of_a_work_queue_shares_no_subject(void)
{
    struct consumer_config cfg = pull(), other = pull(), copy;
    struct consumer_saved st = {.dseq = 0};
    struct consumer_op op = {.done = restored};
    struct js_error e;

    cfg.filter_subject = (char *)"k.a.*";
    world_open(&w, &plain);
    consumers_up();
    TEST_ASSERT_EQUAL_INT(0, consumer_config_copy(&copy, &cfg));
    consumer_restore(g, &copy, MF_LIT("R"), &st, &op);
    world_turns(&w);
    w.stream->cfg.retention = RETENTION_WORKQUEUE;
    consumers_begin(g);
    struct consumer_config_world world = {
        .stream = stream_config(w.stream), .consumers = 1, .claims = consumers_claims(g)};
    other.filter_subject = (char *)"k.*.x";
    TEST_ASSERT_EQUAL_INT(MF_DENIED, consumer_config_admit(&other, false, &world, &e));
    TEST_ASSERT_EQUAL_INT(10100, e.err_code);
    other.filter_subject = (char *)"k.b";
    TEST_ASSERT_EQUAL_INT(0, consumer_config_admit(&other, false, &world, &e));
}

/* What it costs when a message goes must not grow with consumers that have nothing to do with it.
 */
static void test_only_an_interest_stream_asks_consumers_apart(void)
{
    for (int of_interest = 0; of_interest < 2; of_interest++) {
        struct stream_config sc = of_interest ? interest_stream() : plain;

        world_open(&w, &sc);
        consumers_up();
        struct consumer *c = add("D", pull());
        put("k.a", "1");
        snprintf(here, sizeof here, " in ");
        ask(c, "1");
        restart(&sc);
        TEST_ASSERT_EQUAL_INT(of_interest == 0, mf_list_empty(&g->apart));
        TEST_ASSERT_EQUAL_size_t(0, g->given_up);
        consumers_close(g, false);
        world_turns(&w);
        world_close(&w);
        tearDown();
        setUp();
    }
}

static size_t pages(const char *kind)
{
    char name[64];
    struct mf_slice bytes;
    const struct consumer *c = consumers_find(g, MF_LIT("D"));

    snprintf(name, sizeof name, "%s%016llx/0", kind, (unsigned long long)c->id);
    return stream_blob_get(w.stream, mf_str(name), &bytes) ? (bytes.len - 1) / 22 : 0;
}

/* In a place of their own: who does not know of them must not take them for others. */
static void test_given_up_is_stored_apart_from_what_waits(void)
{
    struct stream_config sc = interest_stream();
    struct consumer_config cfg = pull();

    cfg.max_deliver = 1;
    world_open(&w, &sc);
    consumers_up();
    struct consumer *c = add("D", cfg);
    put("k.a", "1");
    put("k.a", "2");
    snprintf(here, sizeof here, " in ");
    ask(c, "2");
    ack(c, "1.1.1.0.1", "-NAK");
    ask(c, "1");
    TEST_ASSERT_EQUAL_INT(0, state_flush(c));
    TEST_ASSERT_EQUAL_size_t(1, pages("cp/"));
    TEST_ASSERT_EQUAL_size_t(1, pages("cg/"));
    ack(c, "1.1.1.0.1", "+ACK");
    TEST_ASSERT_EQUAL_INT(0, state_flush(c));
    TEST_ASSERT_EQUAL_size_t(1, pages("cp/"));
    TEST_ASSERT_EQUAL_size_t(0, pages("cg/"));
}

/* A crash between the two blobs leaves it in both: it was given up. */
static void test_given_up_in_both_places_is_given_up(void)
{
    struct stream_config sc = interest_stream();
    struct consumer_config cfg = pull();
    char from[64], to[64];
    struct mf_slice bytes;

    cfg.max_deliver = 1;
    world_open(&w, &sc);
    consumers_up();
    struct consumer *c = add_giving_up("D", cfg);
    TEST_ASSERT_EQUAL_INT(0, state_flush(c));
    snprintf(from, sizeof from, "cg/%016llx/0", (unsigned long long)c->id);
    snprintf(to, sizeof to, "cp/%016llx/0", (unsigned long long)c->id);
    TEST_ASSERT_TRUE(stream_blob_get(w.stream, mf_str(from), &bytes));
    uint8_t copy[64];
    TEST_ASSERT_LESS_OR_EQUAL_size_t(sizeof copy, bytes.len);
    memcpy(copy, bytes.ptr, bytes.len);
    TEST_ASSERT_EQUAL_INT(0,
                          stream_blob_put(w.stream, mf_str(to), mf_slice(copy, bytes.len), NULL));
    restart(&sc);
    c = consumers_find(g, MF_LIT("D"));
    TEST_ASSERT_EQUAL_size_t(0, c->wait.count);
    TEST_ASSERT_EQUAL_size_t(1, c->wait.given_up);
    TEST_ASSERT_EQUAL_INT(0, state_flush(c));
    TEST_ASSERT_EQUAL_size_t(0, pages("cp/"));
    TEST_ASSERT_EQUAL_size_t(1, pages("cg/"));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_who_has_an_ack_finds_its_message_counted);
    RUN_TEST(test_asking_for_news_sends_no_copies);
    RUN_TEST(test_what_only_a_deleted_consumer_wanted_goes_told_or_not);
    RUN_TEST(test_sweep_ends_when_the_stream_is_not_one_of_interest_any_more);
    RUN_TEST(test_given_up_in_both_places_is_given_up);
    RUN_TEST(test_copies_under_way_are_sent_when_republishing_ends);
    RUN_TEST(test_restored_consumer_keeps_what_it_gave_up_in_order);
    RUN_TEST(test_restored_consumer_of_a_work_queue_shares_no_subject);
    RUN_TEST(test_only_an_interest_stream_asks_consumers_apart);
    RUN_TEST(test_given_up_is_stored_apart_from_what_waits);
    return UNITY_END();
}
