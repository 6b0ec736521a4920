/* Records and batch headers as columns in the caller's buffers, laid out as Arrow wants them. */
#include "layout.h"

enum { D_END, D_MORE, D_DAMAGE, D_NO_MEMORY, D_FULL, D_PAYLOAD, D_LEGACY, D_RECORDS, D_CODEC };
enum { SLACK = 64, RUN_FIELDS = 7 };

/* Binary values: `offsets` has one more than there are values. */
typedef struct {
    int32_t *offsets;
    uint8_t *bytes, *valid;
    int64_t size, room, nulls;
} binary_t;

/* Mirrored by native_decoder.Columns: 8 bytes each. A NULL pointer: the column is not wanted. */
typedef struct {
    int64_t position, stop, end, check_crc, want_control, decode_limit;
    int64_t low_offset, high_offset, low_time, high_time;
    int64_t need, need_bytes, fault, computed, found;
    int64_t rows, row_room, headers, header_room;
    int64_t *offsets, *timestamps;
    int32_t *sequences, *key_sizes, *value_sizes;
    binary_t key, value;
    int32_t *header_starts;
    binary_t header_key, header_value;
    int64_t *runs, run_count, run_room;
    uint8_t *scratch;
    int64_t scratch_room;
} columns_t;

static inline void put(binary_t *x, int64_t row, const uint8_t *from, int64_t size, const uint8_t *readable) {
    uint8_t bit = (uint8_t)(1u << (row & 7));
    if (size < 0) {
        x->valid[row >> 3] &= (uint8_t)~bit;
        x->nulls++;
    } else {
        uint8_t *to = x->bytes + x->size;
        x->valid[row >> 3] |= bit;
        if (LIKELY(size <= readable - from - 16)) {
            memcpy(to, from, 16);
            for (int64_t k = 16; k < size; k += 16) memcpy(to + k, from + k, 16);
        } else {
            memcpy(to, from, (size_t)size);
        }
        x->size += size;
    }
    x->offsets[row + 1] = (int32_t)x->size;
}

/* The headers of one record, already checked by sm_read_record. */
static void put_headers(columns_t *c, const record_t *r, const uint8_t *readable) {
    const uint8_t *p = r->headers, *at;
    int64_t size;
    for (int64_t n = r->header_count; n > 0; n--) {
        if (!sm_field(&p, r->end, &at, &size)) return;
        put(&c->header_key, c->headers, at, size, readable);
        if (!sm_field(&p, r->end, &at, &size)) return;
        put(&c->header_value, c->headers, at, size, readable);
        c->headers++;
    }
}

static inline void put_record(columns_t *c, const batch_t *b, const record_t *r, int64_t timestamp, const uint8_t *readable) {
    int64_t row = c->rows++;
    if (c->offsets) c->offsets[row] = wrap_add(b->base, r->offset_delta);
    if (c->timestamps) c->timestamps[row] = timestamp;
    if (c->sequences) {
        uint32_t next = (uint32_t)b->base_sequence + (uint32_t)r->offset_delta;
        c->sequences[row] = b->base_sequence < 0 ? -1 : (int32_t)(next & INT32_MAX);
    }
    /* Both are within 32 bits: no window is larger. */
    if (c->key_sizes) c->key_sizes[row] = (int32_t)r->key_size;
    if (c->value_sizes) c->value_sizes[row] = (int32_t)r->value_size;
    if (c->key.offsets) put(&c->key, row, r->key, r->key_size, readable);
    if (c->value.offsets) put(&c->value, row, r->value, r->value_size, readable);
    if (c->header_starts) {
        put_headers(c, r, readable);
        c->header_starts[row + 1] = (int32_t)c->headers;
    }
}

static void end_run(columns_t *c, const batch_t *b, int64_t rows) {
    if (!rows) return;
    int64_t *run = c->runs + RUN_FIELDS * c->run_count++;
    run[0] = rows;
    run[1] = b->position;
    run[2] = b->magic;
    run[3] = b->attributes;
    run[4] = b->epoch;
    run[5] = b->producer_id;
    run[6] = b->producer_epoch;
}

/* Whether all of `n` bytes of records certainly fit; else what would be needed. */
static int fits(columns_t *c, const batch_t *b, int64_t n) {
    int64_t most = b->count < n / 7 + 1 ? b->count : n / 7 + 1, headers = n / 2 + 1;
    int ok = most <= c->row_room - c->rows && c->run_count < c->run_room;
    ok = ok && (!c->key.offsets || n <= c->key.room - SLACK - c->key.size);
    ok = ok && (!c->value.offsets || n <= c->value.room - SLACK - c->value.size);
    ok = ok && (!c->header_starts || (headers <= c->header_room - c->headers
        && n <= c->header_key.room - SLACK - c->header_key.size
        && n <= c->header_value.room - SLACK - c->header_value.size));
    c->need = most;
    c->need_bytes = n + SLACK;
    return ok;
}

static int wanted(const columns_t *c, int64_t offset, int64_t timestamp) {
    return offset >= c->low_offset && offset <= c->high_offset && timestamp >= c->low_time && timestamp <= c->high_time;
}

/* The `n` bytes of records at `p`; bytes up to `readable` may be read. All or nothing. */
static int decode(columns_t *c, const batch_t *b, const uint8_t *p, int64_t n, const uint8_t *readable) {
    if (!fits(c, b, n)) return D_FULL;
    columns_t before = *c;
    const uint8_t *end = p + n;
    int64_t found = 0, last_delta = -1;
    int fault = -1, append_time = (b->attributes & ATTR_APPEND_TIME) != 0;
    for (; found < b->count && p < end; found++) {
        record_t r;
        if (!sm_read_record(p, end, &r)) {
            fault = K_RECORD_LENGTHS;
            break;
        }
        if (r.offset_delta <= last_delta || r.offset_delta > b->delta) {
            fault = K_RECORD_OFFSET;
            break;
        }
        last_delta = r.offset_delta;
        int64_t timestamp = append_time ? b->max_timestamp : wrap_add(b->base_timestamp, r.timestamp_delta);
        if (LIKELY(wanted(c, wrap_add(b->base, r.offset_delta), timestamp))) put_record(c, b, &r, timestamp, readable);
        p = r.end;
    }
    if (fault < 0 && (found != b->count || p != end)) fault = K_COUNT_MISMATCH;
    if (fault >= 0) {
        *c = before;
        c->fault = fault;
        c->found = found;
        c->need = end - p; /* bytes left, */
        c->need_bytes = b->count; /* and what the header declared */
        return D_RECORDS;
    }
    end_run(c, b, c->rows - before.rows);
    return -1;
}

static int decode_message(columns_t *c, const batch_t *b, const uint8_t *p, const uint8_t *readable) {
    int64_t parts[4];
    if (!wanted(c, b->base, b->max_timestamp)) return -1;
    if (!fits(c, b, b->size)) return D_FULL;
    if (!sm_legacy_parts(p, b->size, b->magic, parts)) {
        c->fault = K_RECORD_LENGTHS;
        c->found = 0;
        return D_RECORDS;
    }
    record_t r = {.key = p + parts[0], .key_size = parts[1], .value = p + parts[2], .value_size = parts[3], .end = p};
    put_record(c, b, &r, b->max_timestamp, readable);
    end_run(c, b, 1);
    return -1;
}

static int decode_v2(columns_t *c, const batch_t *b, const uint8_t *p, const uint8_t *readable) {
    int64_t codec = b->attributes & ATTR_CODEC, n = b->size - HEADER_V2;
    p += HEADER_V2;
    if (codec > CODEC_ZSTD) return D_CODEC;
    if (codec == CODEC_NONE || n == 0) return decode(c, b, p, n, readable);
    int64_t got = sm_decompress((int)codec, p, n, c->decode_limit, &c->scratch, &c->scratch_room);
    if (got == -2) return D_NO_MEMORY;
    if (got < 0) return D_PAYLOAD;
    return decode(c, b, c->scratch, got, c->scratch + c->scratch_room);
}

/* Nothing of this batch is asked for. */
static int unwanted(const columns_t *c, const batch_t *b) {
    if (b->magic == 2 && (b->attributes & ATTR_CONTROL) && !c->want_control) return 1;
    if (b->last < c->low_offset || (c->low_time > INT64_MIN && b->max_timestamp < c->low_time)) return 1;
    return b->magic == 2 && b->base > c->high_offset;
}

/* The header at `p`, checked as `step` of walk.c does; -1 if it is sound. */
static int read_sound(columns_t *c, const uint8_t *p, int64_t there, int whole, batch_t *b) {
    int64_t left = c->end - c->position;
    c->need = PREFIX_SIZE;
    if (left <= PREFIX_SIZE) {
        c->fault = K_HEADER_FRAGMENT;
        return left > 0 ? D_DAMAGE : D_END;
    }
    if (there < PREFIX_SIZE) return D_MORE;
    int64_t size = be32s(p + 8), magic = (int8_t)p[16], smallest = sm_header_size(magic);
    c->fault = size < 14 ? K_SIZE_TOO_SMALL : size > left - LOG_OVERHEAD ? K_SIZE_PAST_END
        : magic < 0 || magic > 2 ? K_BAD_MAGIC : size < smallest - LOG_OVERHEAD ? K_SIZE_TOO_SMALL : -1;
    if (c->fault >= 0) return D_DAMAGE;
    c->need = whole || c->check_crc ? LOG_OVERHEAD + size : smallest;
    if (there < c->need) return D_MORE;
    sm_read_header(p, c->position, b);
    if (!c->check_crc) return -1;
    c->computed = magic == 2 ? sm_crc32c(p + 21, (size_t)(b->size - 21), 0) : sm_crc32(p + 16, (size_t)(b->size - 16), 0);
    c->fault = K_CRC_MISMATCH;
    return c->computed == b->crc ? -1 : D_DAMAGE;
}

static const uint8_t *place(const columns_t *c, const uint8_t *window, int64_t length, int64_t start, int64_t *there) {
    int64_t at = c->position - start;
    int inside = at >= 0 && at < length;
    *there = inside ? length - at : 0;
    return inside ? window + at : window;
}

/* Append the records of the batches in this window until something is to be done elsewhere. */
EXPORT int64_t segmend_decode(columns_t *c, const uint8_t *window, int64_t length, int64_t start) {
    while (c->position < c->stop) {
        int64_t there;
        const uint8_t *p = place(c, window, length, start, &there);
        batch_t b;
        int status = read_sound(c, p, there, 1, &b);
        if (status >= 0) return status;
        if (!unwanted(c, &b)) {
            if (b.magic < 2 && (b.attributes & ATTR_CODEC)) return D_LEGACY;
            status = b.magic < 2 ? decode_message(c, &b, p, window + length) : decode_v2(c, &b, p, window + length);
            if (status >= 0) return status;
        }
        c->position += b.size;
    }
    return D_END;
}

/* As segmend_decode for the batch at `position`, whose payload the caller has decompressed. */
EXPORT int64_t segmend_decode_payload(columns_t *c, const uint8_t *header, const uint8_t *payload, int64_t n) {
    batch_t b;
    sm_read_header(header, c->position, &b);
    int status = decode(c, &b, payload, n, payload + n);
    if (status >= 0) return status;
    c->position += b.size;
    return D_END;
}

typedef struct { batch_t batch; int64_t crc_ok; } header_row_t;

/* The headers of the batches in this window, and 1 for a right checksum or -1 for an unknown one. */
EXPORT int64_t segmend_headers(columns_t *c, const uint8_t *window, int64_t length, int64_t start, header_row_t *rows) {
    while (c->position < c->stop) {
        if (c->rows >= c->row_room) return D_FULL;
        int64_t there;
        const uint8_t *p = place(c, window, length, start, &there);
        header_row_t *row = &rows[c->rows];
        int status = read_sound(c, p, there, 0, &row->batch);
        if (status >= 0) return status;
        row->crc_ok = c->check_crc ? 1 : -1;
        c->position += row->batch.size;
        c->rows++;
    }
    return D_END;
}

EXPORT void segmend_free_columns(columns_t *c) {
    free(c->scratch);
    c->scratch = NULL;
    c->scratch_room = 0;
}

EXPORT const place_t segmend_columns_places[] = {
    AT(columns_t, position), AT(columns_t, stop), AT(columns_t, end), AT(columns_t, check_crc),
    AT(columns_t, want_control), AT(columns_t, decode_limit), AT(columns_t, low_offset),
    AT(columns_t, high_offset), AT(columns_t, low_time), AT(columns_t, high_time), AT(columns_t, need),
    AT(columns_t, need_bytes), AT(columns_t, fault), AT(columns_t, computed), AT(columns_t, found),
    AT(columns_t, rows), AT(columns_t, row_room), UNDER(columns_t, headers, "header_count"),
    AT(columns_t, header_room), AT(columns_t, offsets), AT(columns_t, timestamps), AT(columns_t, sequences),
    AT(columns_t, key_sizes), AT(columns_t, value_sizes),
    UNDER(columns_t, key.offsets, "key_offsets"), UNDER(columns_t, key.bytes, "key_bytes"),
    UNDER(columns_t, key.valid, "key_valid"), UNDER(columns_t, key.size, "key_size"),
    UNDER(columns_t, key.room, "key_room"), UNDER(columns_t, key.nulls, "key_nulls"),
    UNDER(columns_t, value.offsets, "value_offsets"), UNDER(columns_t, value.bytes, "value_bytes"),
    UNDER(columns_t, value.valid, "value_valid"), UNDER(columns_t, value.size, "value_size"),
    UNDER(columns_t, value.room, "value_room"), UNDER(columns_t, value.nulls, "value_nulls"),
    AT(columns_t, header_starts), UNDER(columns_t, header_key.offsets, "header_key_offsets"),
    UNDER(columns_t, header_key.bytes, "header_key_bytes"),
    UNDER(columns_t, header_key.valid, "header_key_valid"),
    UNDER(columns_t, header_key.size, "header_key_size"),
    UNDER(columns_t, header_key.room, "header_key_room"),
    UNDER(columns_t, header_key.nulls, "header_key_nulls"),
    UNDER(columns_t, header_value.offsets, "header_value_offsets"),
    UNDER(columns_t, header_value.bytes, "header_value_bytes"),
    UNDER(columns_t, header_value.valid, "header_value_valid"),
    UNDER(columns_t, header_value.size, "header_value_size"),
    UNDER(columns_t, header_value.room, "header_value_room"),
    UNDER(columns_t, header_value.nulls, "header_value_nulls"), AT(columns_t, runs),
    AT(columns_t, run_count), AT(columns_t, run_room), AT(columns_t, scratch), AT(columns_t, scratch_room),
    SIZE(columns_t), END_OF_PLACES
};

/* For the tests. */
EXPORT int64_t segmend_columns_size(void) { return (int64_t)sizeof(columns_t); }

/* Whether all bytes are ASCII: header keys that are not have to be looked at as UTF-8. */
EXPORT int64_t segmend_is_ascii(const uint8_t *p, int64_t n) {
    uint64_t seen = 0, word;
    int64_t k = 0;
    for (; n - k >= 8; k += 8) {
        memcpy(&word, p + k, 8);
        seen |= word;
    }
    for (; k < n; k++) seen |= p[k];
    return (seen & 0x8080808080808080u) == 0;
}
