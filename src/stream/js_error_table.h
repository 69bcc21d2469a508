/* js_error_table.h: every JetStream error, in the order of err_code. */
#ifndef MAYFLY_JS_ERROR_TABLE_H
#define MAYFLY_JS_ERROR_TABLE_H

/* X(id, code, err_code, description).  A description with %s takes its arguments from
 * js_error_set().
 */
#define JS_ERRORS(X)                                                                               \
    X(JS_ACCOUNT_RESOURCES_EXCEEDED, 400, 10002, "resource limits exceeded for account")           \
    X(JS_BAD_REQUEST, 400, 10003, "bad request")                                                   \
    X(JS_CLUSTER_INCOMPLETE, 503, 10004, "incomplete results")                                     \
    X(JS_CLUSTER_NO_PEERS, 400, 10005, "%s")                                                       \
    X(JS_CLUSTER_NOT_ACTIVE, 500, 10006, "JetStream not in clustered mode")                        \
    X(JS_CLUSTER_NOT_ASSIGNED, 500, 10007, "JetStream cluster not assigned to this server")        \
    X(JS_CLUSTER_NOT_AVAIL, 503, 10008, "JetStream system temporarily unavailable")                \
    X(JS_CLUSTER_NOT_LEADER, 500, 10009, "JetStream cluster can not handle request")               \
    X(JS_CLUSTER_REQUIRED, 503, 10010, "JetStream clustering support required")                    \
    X(JS_CLUSTER_TAGS, 400, 10011, "tags placement not supported for operation")                   \
    X(JS_CONSUMER_CREATE, 500, 10012, "%s")                                                        \
    X(JS_CONSUMER_NAME_EXIST, 400, 10013, "consumer name already in use")                          \
    X(JS_CONSUMER_NOT_FOUND, 404, 10014, "consumer not found")                                     \
    X(JS_SNAPSHOT_DELIVER_SUBJECT_INVALID, 400, 10015, "deliver subject not valid")                \
    X(JS_CONSUMER_DURABLE_NAME_NOT_IN_SUBJECT, 400, 10016,                                         \
      "consumer expected to be durable but no durable name set in subject")                        \
    X(JS_CONSUMER_DURABLE_NAME_NOT_MATCH_SUBJECT, 400, 10017,                                      \
      "consumer name in subject does not match durable name in request")                           \
    X(JS_CONSUMER_DURABLE_NAME_NOT_SET, 400, 10018,                                                \
      "consumer expected to be durable but a durable name was not set")                            \
    X(JS_CONSUMER_EPHEMERAL_WITH_DURABLE_IN_SUBJECT, 400, 10019,                                   \
      "consumer expected to be ephemeral but detected a durable name set in subject")              \
    X(JS_CONSUMER_EPHEMERAL_WITH_DURABLE_NAME, 400, 10020,                                         \
      "consumer expected to be ephemeral but a durable name was set in request")                   \
    X(JS_STREAM_EXTERNAL_API_OVERLAP, 400, 10021,                                                  \
      "stream external api prefix %s must not overlap with %s")                                    \
    X(JS_STREAM_EXTERNAL_DEL_PREFIX_OVERLAPS, 400, 10022,                                          \
      "stream external delivery prefix %s overlaps with stream subject %s")                        \
    X(JS_INSUFFICIENT_RESOURCES, 503, 10023, "insufficient resources")                             \
    X(JS_STREAM_INVALID_EXTERNAL_DELIVERY_SUBJ, 400, 10024,                                        \
      "stream external delivery prefix %s must not contain wildcards")                             \
    X(JS_INVALID_JSON, 400, 10025, "invalid JSON: %s")                                             \
    X(JS_MAXIMUM_CONSUMERS_LIMIT, 400, 10026, "maximum consumers limit reached")                   \
    X(JS_MAXIMUM_STREAMS_LIMIT, 400, 10027, "maximum number of streams reached")                   \
    X(JS_MEMORY_RESOURCES_EXCEEDED, 500, 10028, "insufficient memory resources available")         \
    X(JS_MIRROR_CONSUMER_SETUP_FAILED, 500, 10029, "%s")                                           \
    X(JS_MIRROR_MAX_MESSAGE_SIZE_TOO_BIG, 400, 10030,                                              \
      "stream mirror must have max message size >= source")                                        \
    X(JS_MIRROR_WITH_SOURCES, 400, 10031, "stream mirrors can not also contain other sources")     \
    X(JS_MIRROR_WITH_START_SEQ_AND_TIME, 400, 10032,                                               \
      "stream mirrors can not have both start seq and start time configured")                      \
    X(JS_MIRROR_WITH_SUBJECT_FILTERS, 400, 10033,                                                  \
      "stream mirrors can not contain filtered subjects")                                          \
    X(JS_MIRROR_WITH_SUBJECTS, 400, 10034, "stream mirrors can not contain subjects")              \
    X(JS_NO_ACCOUNT, 503, 10035, "account not found")                                              \
    X(JS_CLUSTER_UN_SUPPORT_FEATURE, 503, 10036, "not currently supported in clustered mode")      \
    X(JS_NO_MESSAGE_FOUND, 404, 10037, "no message found")                                         \
    X(JS_NOT_EMPTY_REQUEST, 400, 10038, "expected an empty request payload")                       \
    X(JS_NOT_ENABLED_FOR_ACCOUNT, 503, 10039, "JetStream not enabled for account")                 \
    X(JS_CLUSTER_PEER_NOT_MEMBER, 400, 10040, "peer not a member")                                 \
    X(JS_RAFT_GENERAL, 500, 10041, "%s")                                                           \
    X(JS_RESTORE_SUBSCRIBE_FAILED, 500, 10042,                                                     \
      "JetStream unable to subscribe to restore snapshot %s: %s")                                  \
    X(JS_SEQUENCE_NOT_FOUND, 400, 10043, "sequence %s not found")                                  \
    X(JS_CLUSTER_SERVER_NOT_MEMBER, 400, 10044, "server is not a member of the cluster")           \
    X(JS_SOURCE_CONSUMER_SETUP_FAILED, 500, 10045, "%s")                                           \
    X(JS_SOURCE_MAX_MESSAGE_SIZE_TOO_BIG, 400, 10046,                                              \
      "stream source must have max message size >= target")                                        \
    X(JS_STORAGE_RESOURCES_EXCEEDED, 500, 10047, "insufficient storage resources available")       \
    X(JS_STREAM_ASSIGNMENT, 500, 10048, "%s")                                                      \
    X(JS_STREAM_CREATE, 500, 10049, "%s")                                                          \
    X(JS_STREAM_DELETE, 500, 10050, "%s")                                                          \
    X(JS_STREAM_GENERAL_ERROR, 500, 10051, "%s")                                                   \
    X(JS_STREAM_INVALID_CONFIG, 500, 10052, "%s")                                                  \
    X(JS_STREAM_LIMITS, 500, 10053, "%s")                                                          \
    X(JS_STREAM_MESSAGE_EXCEEDS_MAXIMUM, 400, 10054, "message size exceeds maximum allowed")       \
    X(JS_STREAM_MIRROR_NOT_UPDATABLE, 400, 10055,                                                  \
      "stream mirror configuration can not be updated")                                            \
    X(JS_STREAM_MISMATCH, 400, 10056, "stream name in subject does not match request")             \
    X(JS_STREAM_MSG_DELETE_FAILED, 500, 10057, "%s")                                               \
    X(JS_STREAM_NAME_EXIST, 400, 10058,                                                            \
      "stream name already in use with a different configuration")                                 \
    X(JS_STREAM_NOT_FOUND, 404, 10059, "stream not found")                                         \
    X(JS_STREAM_NOT_MATCH, 400, 10060, "expected stream does not match")                           \
    X(JS_STREAM_REPLICAS_NOT_UPDATABLE, 400, 10061, "Replicas configuration can not be updated")   \
    X(JS_STREAM_RESTORE, 500, 10062, "restore failed: %s")                                         \
    X(JS_STREAM_SEQUENCE_NOT_MATCH, 503, 10063, "expected stream sequence does not match")         \
    X(JS_STREAM_SNAPSHOT, 500, 10064, "snapshot failed: %s")                                       \
    X(JS_STREAM_SUBJECT_OVERLAP, 400, 10065, "subjects overlap with an existing stream")           \
    X(JS_STREAM_TEMPLATE_CREATE, 500, 10066, "%s")                                                 \
    X(JS_STREAM_TEMPLATE_DELETE, 500, 10067, "%s")                                                 \
    X(JS_STREAM_TEMPLATE_NOT_FOUND, 404, 10068, "template not found")                              \
    X(JS_STREAM_UPDATE, 500, 10069, "%s")                                                          \
    X(JS_STREAM_WRONG_LAST_MSG_ID, 400, 10070, "wrong last msg ID: %s")                            \
    X(JS_STREAM_WRONG_LAST_SEQUENCE, 400, 10071, "wrong last sequence: %s")                        \
    X(JS_TEMP_STORAGE_FAILED, 500, 10072, "JetStream unable to open temp storage for restore")     \
    X(JS_TEMPLATE_NAME_NOT_MATCH_SUBJECT, 400, 10073,                                              \
      "template name in subject does not match request")                                           \
    X(JS_STREAM_REPLICAS_NOT_SUPPORTED, 500, 10074,                                                \
      "replicas > 1 not supported in non-clustered mode")                                          \
    X(JS_PEER_REMAP, 503, 10075, "peer remap failed")                                              \
    X(JS_NOT_ENABLED, 503, 10076, "JetStream not enabled")                                         \
    X(JS_STREAM_STORE_FAILED, 503, 10077, "%s")                                                    \
    X(JS_CONSUMER_CONFIG_REQUIRED, 400, 10078, "consumer config required")                         \
    X(JS_CONSUMER_DELIVER_TO_WILDCARDS, 400, 10079, "consumer deliver subject has wildcards")      \
    X(JS_CONSUMER_PUSH_MAX_WAITING, 400, 10080, "consumer in push mode can not set max waiting")   \
    X(JS_CONSUMER_DELIVER_CYCLE, 400, 10081, "consumer deliver subject forms a cycle")             \
    X(JS_CONSUMER_MAX_PENDING_ACK_POLICY_REQUIRED, 400, 10082,                                     \
      "consumer requires ack policy for max ack pending")                                          \
    X(JS_CONSUMER_SMALL_HEARTBEAT, 400, 10083, "consumer idle heartbeat needs to be >= 100ms")     \
    X(JS_CONSUMER_PULL_REQUIRES_ACK, 400, 10084,                                                   \
      "consumer in pull mode requires explicit ack policy on workqueue stream")                    \
    X(JS_CONSUMER_PULL_NOT_DURABLE, 400, 10085, "consumer in pull mode requires a durable name")   \
    X(JS_CONSUMER_PULL_WITH_RATE_LIMIT, 400, 10086,                                                \
      "consumer in pull mode can not have rate limit set")                                         \
    X(JS_CONSUMER_MAX_WAITING_NEGATIVE, 400, 10087, "consumer max waiting needs to be positive")   \
    X(JS_CONSUMER_HB_REQUIRES_PUSH, 400, 10088,                                                    \
      "consumer idle heartbeat requires a push based consumer")                                    \
    X(JS_CONSUMER_FC_REQUIRES_PUSH, 400, 10089,                                                    \
      "consumer flow control requires a push based consumer")                                      \
    X(JS_CONSUMER_DIRECT_REQUIRES_PUSH, 400, 10090,                                                \
      "consumer direct requires a push based consumer")                                            \
    X(JS_CONSUMER_DIRECT_REQUIRES_EPHEMERAL, 400, 10091,                                           \
      "consumer direct requires an ephemeral consumer")                                            \
    X(JS_CONSUMER_ON_MAPPED, 400, 10092, "consumer direct on a mapped consumer")                   \
    X(JS_CONSUMER_FILTER_NOT_SUBSET, 400, 10093,                                                   \
      "consumer filter subject is not a valid subset of the interest subjects")                    \
    X(JS_CONSUMER_INVALID_POLICY, 400, 10094, "%s")                                                \
    X(JS_CONSUMER_INVALID_SAMPLING, 400, 10095,                                                    \
      "failed to parse consumer sampling configuration: %s")                                       \
    X(JS_STREAM_INVALID, 500, 10096, "stream not valid")                                           \
    X(JS_STREAM_HEADER_EXCEEDS_MAXIMUM, 400, 10097, "header size exceeds maximum allowed of 64k")  \
    X(JS_CONSUMER_WQ_REQUIRES_EXPLICIT_ACK, 400, 10098, "workqueue stream requires explicit ack")  \
    X(JS_CONSUMER_WQ_MULTIPLE_UNFILTERED, 400, 10099,                                              \
      "multiple non-filtered consumers not allowed on workqueue stream")                           \
    X(JS_CONSUMER_WQ_CONSUMER_NOT_UNIQUE, 400, 10100,                                              \
      "filtered consumer not unique on workqueue stream")                                          \
    X(JS_CONSUMER_WQ_CONSUMER_NOT_DELIVER_ALL, 400, 10101,                                         \
      "consumer must be deliver all on workqueue stream")                                          \
    X(JS_CONSUMER_NAME_TOO_LONG, 400, 10102, "consumer name is too long, maximum allowed is %s")   \
    X(JS_CONSUMER_BAD_DURABLE_NAME, 400, 10103, "durable name can not contain '.', '*', '>'")      \
    X(JS_CONSUMER_STORE_FAILED, 500, 10104, "error creating store for consumer: %s")               \
    X(JS_CONSUMER_EXISTING_ACTIVE, 400, 10105, "consumer already exists and is still active")      \
    X(JS_CONSUMER_REPLACEMENT_WITH_DIFFERENT_NAME, 400, 10106,                                     \
      "consumer replacement durable config not the same")                                          \
    X(JS_CONSUMER_DESCRIPTION_TOO_LONG, 400, 10107,                                                \
      "consumer description is too long, maximum allowed is %s")                                   \
    X(JS_CONSUMER_WITH_FLOW_CONTROL_NEEDS_HEARTBEATS, 400, 10108,                                  \
      "consumer with flow control also needs heartbeats")                                          \
    X(JS_STREAM_SEALED, 400, 10109, "invalid operation on sealed stream")                          \
    X(JS_STREAM_PURGE_FAILED, 500, 10110, "%s")                                                    \
    X(JS_STREAM_ROLLUP_FAILED, 500, 10111, "%s")                                                   \
    X(JS_CONSUMER_INVALID_DELIVER_SUBJECT, 400, 10112, "invalid push consumer deliver subject")    \
    X(JS_STREAM_MAX_BYTES_REQUIRED, 400, 10113,                                                    \
      "account requires a stream config to have max bytes set")                                    \
    X(JS_CONSUMER_MAX_REQUEST_BATCH_NEGATIVE, 400, 10114,                                          \
      "consumer max request batch needs to be > 0")                                                \
    X(JS_CONSUMER_MAX_REQUEST_EXPIRES_TOO_SMALL, 400, 10115,                                       \
      "consumer max request expires needs to be >= 1ms")                                           \
    X(JS_CONSUMER_MAX_DELIVER_BACKOFF, 400, 10116,                                                 \
      "max deliver is required to be > length of backoff values")                                  \
    X(JS_STREAM_INFO_MAX_SUBJECTS, 500, 10117, "subject details would exceed maximum allowed")     \
    X(JS_STREAM_OFFLINE, 500, 10118, "stream is offline")                                          \
    X(JS_CONSUMER_OFFLINE, 500, 10119, "consumer is offline")                                      \
    X(JS_NO_LIMITS, 400, 10120, "no JetStream default or applicable tiered limit present")         \
    X(JS_CONSUMER_MAX_PENDING_ACK_EXCESS, 400, 10121,                                              \
      "consumer max ack pending exceeds system limit of %s")                                       \
    X(JS_STREAM_MAX_STREAM_BYTES_EXCEEDED, 400, 10122,                                             \
      "stream max bytes exceeds account limit max stream bytes")                                   \
    X(JS_STREAM_MOVE_AND_SCALE, 400, 10123, "can not move and scale a stream in a single update")  \
    X(JS_STREAM_MOVE_IN_PROGRESS, 400, 10124, "stream move already in progress")                   \
    X(JS_CONSUMER_MAX_REQUEST_BATCH_EXCEEDED, 400, 10125,                                          \
      "consumer max request batch exceeds server limit of %s")                                     \
    X(JS_CONSUMER_REPLICAS_EXCEEDS_STREAM, 400, 10126,                                             \
      "consumer config replica count exceeds parent stream")                                       \
    X(JS_CONSUMER_NAME_CONTAINS_PATH_SEPARATORS, 400, 10127,                                       \
      "Consumer name can not contain path separators")                                             \
    X(JS_STREAM_NAME_CONTAINS_PATH_SEPARATORS, 400, 10128,                                         \
      "Stream name can not contain path separators")                                               \
    X(JS_STREAM_RECONFIGURE_NOT_IN_PROGRESS, 400, 10129, "stream reconfiguration not in progress") \
    X(JS_STREAM_NAME_EXIST_RESTORE_FAILED, 400, 10130,                                             \
      "stream name already in use, cannot restore")                                                \
    X(JS_CONSUMER_CREATE_FILTER_SUBJECT_MISMATCH, 400, 10131,                                      \
      "Consumer create request did not match filtered subject from create subject")                \
    X(JS_CONSUMER_CREATE_DURABLE_AND_NAME_MISMATCH, 400, 10132,                                    \
      "Consumer Durable and Name have to be equal if both are provided")                           \
    X(JS_REPLICAS_COUNT_CANNOT_BE_NEGATIVE, 400, 10133, "replicas count cannot be negative")       \
    X(JS_CONSUMER_REPLICAS_SHOULD_MATCH_STREAM, 400, 10134,                                        \
      "consumer config replicas must match interest retention stream's replicas")                  \
    X(JS_CONSUMER_METADATA_LENGTH, 400, 10135, "consumer metadata exceeds maximum size of %s")     \
    X(JS_CONSUMER_DUPLICATE_FILTER_SUBJECTS, 400, 10136,                                           \
      "consumer cannot have both FilterSubject and FilterSubjects specified")                      \
    X(JS_CONSUMER_MULTIPLE_FILTERS_NOT_ALLOWED, 400, 10137,                                        \
      "consumer with multiple subject filters cannot use subject based API")                       \
    X(JS_CONSUMER_OVERLAPPING_SUBJECT_FILTERS, 400, 10138,                                         \
      "consumer subject filters cannot overlap")                                                   \
    X(JS_CONSUMER_EMPTY_FILTER, 400, 10139, "consumer filter in FilterSubjects cannot be empty")   \
    X(JS_SOURCE_DUPLICATE_DETECTED, 400, 10140, "duplicate source configuration detected")         \
    X(JS_SOURCE_INVALID_STREAM_NAME, 400, 10141, "sourced stream name is invalid")                 \
    X(JS_MIRROR_INVALID_STREAM_NAME, 400, 10142, "mirrored stream name is invalid")                \
    X(JS_MIRROR_WITH_FIRST_SEQ, 400, 10143,                                                        \
      "stream mirrors can not have first sequence configured")                                     \
    X(JS_SOURCE_MULTIPLE_FILTERS_NOT_ALLOWED, 400, 10144,                                          \
      "source with multiple subject transforms cannot also have a single subject filter")          \
    X(JS_SOURCE_INVALID_SUBJECT_FILTER, 400, 10145, "source transform source: %s")                 \
    X(JS_SOURCE_INVALID_TRANSFORM_DESTINATION, 400, 10146, "source transform: %s")                 \
    X(JS_SOURCE_OVERLAPPING_SUBJECT_FILTERS, 400, 10147, "source filters can not overlap")         \
    X(JS_CONSUMER_ALREADY_EXISTS, 400, 10148, "consumer already exists")                           \
    X(JS_CONSUMER_DOES_NOT_EXIST, 400, 10149, "consumer does not exist")                           \
    X(JS_MIRROR_MULTIPLE_FILTERS_NOT_ALLOWED, 400, 10150,                                          \
      "mirror with multiple subject transforms cannot also have a single subject filter")          \
    X(JS_MIRROR_INVALID_SUBJECT_FILTER, 400, 10151, "mirror transform source: %s")                 \
    X(JS_MIRROR_OVERLAPPING_SUBJECT_FILTERS, 400, 10152, "mirror subject filters can not overlap") \
    X(JS_CONSUMER_INACTIVE_THRESHOLD_EXCESS, 400, 10153,                                           \
      "consumer inactive threshold exceeds system limit of %s")                                    \
    X(JS_MIRROR_INVALID_TRANSFORM_DESTINATION, 400, 10154, "mirror transform: %s")                 \
    X(JS_STREAM_TRANSFORM_INVALID_SOURCE, 400, 10155, "stream transform source: %s")               \
    X(JS_STREAM_TRANSFORM_INVALID_DESTINATION, 400, 10156, "stream transform: %s")                 \
    X(JS_PEDANTIC, 400, 10157, "pedantic mode: %s")                                                \
    X(JS_STREAM_DUPLICATE_MESSAGE_CONFLICT, 409, 10158, "duplicate message id is in process")      \
    X(JS_CONSUMER_PRIORITY_POLICY_WITHOUT_GROUP, 400, 10159,                                       \
      "Setting PriorityPolicy requires at least one PriorityGroup to be set")                      \
    X(JS_CONSUMER_INVALID_PRIORITY_GROUP, 400, 10160,                                              \
      "Provided priority group does not exist for this consumer")                                  \
    X(JS_CONSUMER_EMPTY_GROUP_NAME, 400, 10161, "Group name cannot be an empty string")            \
    X(JS_CONSUMER_INVALID_GROUP_NAME, 400, 10162,                                                  \
      "Valid priority group name must match A-Z, a-z, 0-9, -_/=)+ and may not exceed 16 "          \
      "characters")                                                                                \
    X(JS_STREAM_EXPECTED_LAST_SEQ_PER_SUBJECT_NOT_READY, 503, 10163,                               \
      "expected last sequence per subject temporarily unavailable")                                \
    X(JS_STREAM_WRONG_LAST_SEQUENCE_CONSTANT, 400, 10164, "wrong last sequence")                   \
    X(JS_MESSAGE_TTL_INVALID, 400, 10165, "invalid per-message TTL")                               \
    X(JS_MESSAGE_TTL_DISABLED, 400, 10166, "per-message TTL is disabled")                          \
    X(JS_STREAM_TOO_MANY_REQUESTS, 429, 10167, "too many requests")                                \
    X(JS_MESSAGE_INCR_DISABLED, 400, 10168, "message counters is disabled")                        \
    X(JS_MESSAGE_INCR_MISSING, 400, 10169, "message counter increment is missing")                 \
    X(JS_MESSAGE_INCR_PAYLOAD, 400, 10170, "message counter has payload")                          \
    X(JS_MESSAGE_INCR_INVALID, 400, 10171, "message counter increment is invalid")                 \
    X(JS_MESSAGE_COUNTER_BROKEN, 400, 10172, "message counter is broken")                          \
    X(JS_MIRROR_WITH_COUNTERS, 400, 10173, "stream mirrors can not also calculate counters")       \
    X(JS_ATOMIC_PUBLISH_DISABLED, 400, 10174, "atomic publish is disabled")                        \
    X(JS_ATOMIC_PUBLISH_MISSING_SEQ, 400, 10175, "atomic publish sequence is missing")             \
    X(JS_ATOMIC_PUBLISH_INCOMPLETE_BATCH, 400, 10176, "atomic publish batch is incomplete")        \
    X(JS_ATOMIC_PUBLISH_UNSUPPORTED_HEADER_BATCH, 400, 10177,                                      \
      "atomic publish unsupported header used: %s")                                                \
    X(JS_CONSUMER_PUSH_WITH_PRIORITY_GROUP, 400, 10178,                                            \
      "priority groups can not be used with push consumers")                                       \
    X(JS_ATOMIC_PUBLISH_INVALID_BATCH_ID, 400, 10179, "atomic publish batch ID is invalid")        \
    X(JS_STREAM_MIN_LAST_SEQ, 412, 10180, "min last sequence")                                     \
    X(JS_CONSUMER_ACK_POLICY_INVALID, 400, 10181, "consumer ack policy invalid")                   \
    X(JS_CONSUMER_REPLAY_POLICY_INVALID, 400, 10182, "consumer replay policy invalid")             \
    X(JS_CONSUMER_ACK_WAIT_NEGATIVE, 400, 10183, "consumer ack wait needs to be positive")         \
    X(JS_CONSUMER_BACK_OFF_NEGATIVE, 400, 10184, "consumer backoff needs to be positive")          \
    X(JS_REQUIRED_API_LEVEL, 412, 10185, "JetStream minimum api level required")                   \
    X(JS_MIRROR_WITH_MSG_SCHEDULES, 400, 10186, "stream mirrors can not also schedule messages")   \
    X(JS_SOURCE_WITH_MSG_SCHEDULES, 400, 10187, "stream source can not also schedule messages")    \
    X(JS_MESSAGE_SCHEDULES_DISABLED, 400, 10188, "message schedules is disabled")                  \
    X(JS_MESSAGE_SCHEDULES_PATTERN_INVALID, 400, 10189, "message schedules pattern is invalid")    \
    X(JS_MESSAGE_SCHEDULES_TARGET_INVALID, 400, 10190, "message schedules target is invalid")      \
    X(JS_MESSAGE_SCHEDULES_TTL_INVALID, 400, 10191, "message schedules invalid per-message TTL")   \
    X(JS_MESSAGE_SCHEDULES_ROLLUP_INVALID, 400, 10192, "message schedules invalid rollup")         \
    X(JS_STREAM_EXPECTED_LAST_SEQ_PER_SUBJECT_INVALID, 400, 10193,                                 \
      "missing sequence for expected last sequence per subject")                                   \
    X(JS_STREAM_OFFLINE_REASON, 500, 10194, "stream is offline: %s")                               \
    X(JS_CONSUMER_OFFLINE_REASON, 500, 10195, "consumer is offline: %s")                           \
    X(JS_CONSUMER_PRIORITY_GROUP_WITH_POLICY_NONE, 400, 10196,                                     \
      "consumer can not have priority groups when policy is none")                                 \
    X(JS_CONSUMER_PINNED_TTL_WITHOUT_PRIORITY_POLICY_NONE, 400, 10197,                             \
      "PinnedTTL cannot be set when PriorityPolicy is none")                                       \
    X(JS_MIRROR_WITH_ATOMIC_PUBLISH, 400, 10198,                                                   \
      "stream mirrors can not also use atomic publishing")                                         \
    X(JS_ATOMIC_PUBLISH_TOO_LARGE_BATCH, 400, 10199, "atomic publish batch is too large: %s")      \
    X(JS_ATOMIC_PUBLISH_INVALID_BATCH_COMMIT, 400, 10200,                                          \
      "atomic publish batch commit is invalid")                                                    \
    X(JS_ATOMIC_PUBLISH_CONTAINS_DUPLICATE_MESSAGE, 400, 10201,                                    \
      "atomic publish batch contains duplicate message id")                                        \
    X(JS_CLUSTER_SERVER_MEMBER_CHANGE_INFLIGHT, 400, 10202,                                        \
      "cluster member change is in progress")                                                      \
    X(JS_MESSAGE_SCHEDULES_SOURCE_INVALID, 400, 10203, "message schedules source is invalid")      \
    X(JS_CONSUMER_INVALID_RESET, 400, 10204, "invalid reset: %s")                                  \
    X(JS_BATCH_PUBLISH_DISABLED, 400, 10205, "batch publish is disabled")                          \
    X(JS_BATCH_PUBLISH_INVALID_PATTERN, 400, 10206, "batch publish pattern is invalid")            \
    X(JS_BATCH_PUBLISH_INVALID_BATCH_ID, 400, 10207, "batch publish ID is invalid")                \
    X(JS_BATCH_PUBLISH_UNKNOWN_BATCH_ID, 400, 10208, "batch publish ID unknown")                   \
    X(JS_MIRROR_WITH_BATCH_PUBLISH, 400, 10209,                                                    \
      "stream mirrors can not also use batch publishing")                                          \
    X(JS_ATOMIC_PUBLISH_TOO_MANY_INFLIGHT, 429, 10210, "atomic publish too many inflight")         \
    X(JS_BATCH_PUBLISH_TOO_MANY_INFLIGHT, 429, 10211, "batch publish too many inflight")           \
    X(JS_MESSAGE_SCHEDULES_SCHEDULER_INVALID, 400, 10212, "message schedules invalid scheduler")   \
    X(JS_MIRROR_DURABLE_CONSUMER_CFG_INVALID, 400, 10213,                                          \
      "stream mirror consumer config is invalid")                                                  \
    X(JS_MIRROR_CONSUMER_REQUIRES_ACK_FC, 400, 10214,                                              \
      "stream mirror consumer requires flow control ack policy")                                   \
    X(JS_SOURCE_DURABLE_CONSUMER_CFG_INVALID, 400, 10215,                                          \
      "stream source consumer config is invalid")                                                  \
    X(JS_SOURCE_DURABLE_CONSUMER_DUPLICATE_DETECTED, 400, 10216,                                   \
      "duplicate stream source consumer detected")                                                 \
    X(JS_SOURCE_CONSUMER_REQUIRES_ACK_FC, 400, 10217,                                              \
      "stream source consumer requires flow control ack policy")                                   \
    X(JS_CONSUMER_ACK_FC_REQUIRES_PUSH, 400, 10218,                                                \
      "flow control ack policy requires a push based consumer")                                    \
    X(JS_CONSUMER_ACK_FC_REQUIRES_FC, 400, 10219, "flow control ack policy requires flow control") \
    X(JS_CONSUMER_ACK_FC_REQUIRES_MAX_ACK_PENDING, 400, 10220,                                     \
      "flow control ack policy requires max ack pending")                                          \
    X(JS_CONSUMER_ACK_FC_REQUIRES_NO_ACK_WAIT, 400, 10221,                                         \
      "flow control ack policy requires unset ack wait")                                           \
    X(JS_CONSUMER_ACK_FC_REQUIRES_NO_MAX_DELIVER, 400, 10222,                                      \
      "flow control ack policy requires unset max deliver")                                        \
    X(JS_MESSAGE_SCHEDULES_TIME_ZONE_INVALID, 400, 10223,                                          \
      "message schedules time zone is invalid")                                                    \
    X(JS_CLUSTER_RESCUE, 400, 10224, "JetStream system rescue not applied: %s")                    \
    X(JS_CONSUMER_STREAM_IDENTITY_MISMATCH, 400, 10225,                                            \
      "consumer's stream identity does not match: %s")                                             \
    X(JS_STREAM_RECONFIGURE_IN_PROGRESS, 400, 10226, "stream reconfiguration already in progress") \
    X(JS_MESSAGE_SOURCE_HDR_NOT_ALLOWED, 400, 10227, "message stream source header is not allowed")

#endif
