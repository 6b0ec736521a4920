/* The records of one batch; twin of records.py. */
#include "kernel.h"

void sm_problem(walk_t *w, const batch_t *b, int64_t kind, int64_t a, int64_t b2, int64_t c) {
    if (w->quiet) {
        w->quiet_counts[kind]++;
    } else if (w->problem_count < w->problem_room) {
        w->problems[w->problem_count++] = (problem_t){kind, b->position, b->position + b->size, b->base, a, b2, c};
    }
}

/* The `n` bytes of uncompressed records at `p`. */
void sm_check_records(walk_t *w, const batch_t *b, const uint8_t *p, int64_t n) {
    const uint8_t *end = p + n;
    int64_t found = 0, nulls = 0, last_delta = -1, largest = INT64_MIN, kind = 0;
    while (found < b->count && p < end) {
        record_t r;
        if (!sm_read_record(p, end, &r)) {
            kind = K_RECORD_LENGTHS;
            break;
        }
        if (r.offset_delta <= last_delta || r.offset_delta > b->delta) {
            kind = K_RECORD_OFFSET;
            break;
        }
        last_delta = r.offset_delta;
        nulls += r.key_size < 0;
        int64_t timestamp = wrap_add(b->base_timestamp, r.timestamp_delta);
        if (timestamp > largest) largest = timestamp;
        p = r.end;
        found++;
    }
    if (!(b->attributes & ATTR_CONTROL)) w->null_keys += nulls;
    if (kind) sm_problem(w, b, kind, found, 0, 0);
    else if (found != b->count || p != end) sm_problem(w, b, K_COUNT_MISMATCH, b->count, found, end - p);
    else if (!(b->attributes & ATTR_APPEND_TIME) && found && largest != b->max_timestamp)
        sm_problem(w, b, K_TIMESTAMP_MISMATCH, b->max_timestamp, largest, 0);
}

/* The payload of a deferred batch, decompressed by the caller; `header` is the batch. */
EXPORT void segmend_check_records(walk_t *w, const uint8_t *header, int64_t position, const uint8_t *p, int64_t n) {
    batch_t b;
    sm_read_header(header, position, &b);
    sm_check_records(w, &b, p, n);
}

/* {type, coordinator epoch, timestamp} of an end-of-transaction marker; 0 if it is none. */
int sm_marker(const batch_t *b, const uint8_t *p, int64_t n, int64_t marker[3]) {
    record_t r;
    if (!sm_read_record(p, p + n, &r) || r.key_size < 4 || r.value_size < 6) return 0;
    marker[0] = be16s(r.key + 2);
    if (be16s(r.key) < 0 || be16s(r.value) < 0 || marker[0] < 0 || marker[0] > 1) return 0;
    marker[1] = be32s(r.value + 2);
    marker[2] = b->attributes & ATTR_APPEND_TIME ? b->max_timestamp : wrap_add(b->base_timestamp, r.timestamp_delta);
    return 1;
}

/* {key position, key size, value position, value size} of the legacy message at `p`; 0 if they don't fit. */
int sm_legacy_parts(const uint8_t *p, int64_t n, int64_t magic, int64_t parts[4]) {
    int64_t at = magic == 0 ? 18 : 26;
    for (int k = 0; k < 4; k += 2) {
        if (n - at < 4) return 0;
        int64_t size = be32s(p + at);
        at += 4;
        if (size < -1 || size > n - at) return 0;
        parts[k] = at;
        parts[k + 1] = size;
        at += size > 0 ? size : 0;
    }
    return at == n;
}
