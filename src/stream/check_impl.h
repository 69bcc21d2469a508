/* check_impl.h: each check of a publish (docs/checks.md, Publish).  A part of stream_impl.h. */
#ifndef STREAM_CHECK_H
#define STREAM_CHECK_H

int check_sealed(struct stream *s, struct js_error *e);
/* Sweeps overdue messages of the subject, so that their marker precedes the new message. */
int check_settled(struct stream *s, const struct intake *in, struct js_error *e);
int check_size(struct stream *s, const struct intake *in,
               struct js_error *e); /* max_msg_size, 64k headers */
int check_expected_stream(struct stream *s, const struct intake *in, struct js_error *e);
int check_ttl_allowed(struct stream *s, const struct intake *in,
                      struct js_error *e); /* a valid one while disabled */
int check_ttl_valid(struct stream *s, struct intake *in, struct js_error *e); /* sets in->ttl_ns */
int check_expected_subject_seq(struct stream *s, const struct intake *in, struct js_error *e);
int check_expected_seq(struct stream *s, const struct intake *in, struct js_error *e);
int check_stream_source(struct stream *s, const struct intake *in, struct js_error *e);
int check_expected_msg_id(struct stream *s, const struct intake *in, struct js_error *e);
int check_rollup(struct stream *s, struct intake *in, struct js_error *e); /* sets in->rollup */
int check_resources(struct stream *s, const struct intake *in, struct js_error *e); /* server */
int check_account(struct stream *s, const struct intake *in, struct js_error *e);
int check_discard_new(struct stream *s, const struct intake *in, struct js_error *e);
/* Decimal digits as nats-server reads them: no overflow check, anything else is -1. */
int64_t check_parse_seq(struct mf_slice text);

#endif
