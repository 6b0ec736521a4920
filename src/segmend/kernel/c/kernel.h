/* The hot loops of segmend, called through ctypes once per window. `kernel/reference.py` and
 * its neighbours are the specification: every function here has a plain twin there.
 *
 * Rules of this code: no input byte is trusted. A length x is compared with what is left,
 * `x > end - p`, never `p + x > end`. Signed arithmetic that may wrap is done unsigned.
 * Nothing is read behind `buf + len`; only the scratch buffer, which is ours, has slack
 * for wide copies. No global state but tables made once when the library is loaded. */
#ifndef SEGMEND_KERNEL_H
#define SEGMEND_KERNEL_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SM_ABI 5
#define EXPORT __attribute__((visibility("default")))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

enum { ST_END, ST_MORE, ST_DRAIN, ST_DAMAGE, ST_NO_MEMORY };

/* The order is that of KINDS in native.py. */
enum {
    K_SIZE_TOO_SMALL, K_SIZE_PAST_END, K_HEADER_FRAGMENT, K_BAD_MAGIC, K_CRC_MISMATCH,
    K_BAD_CODEC, K_HEADER_FIELD, K_OFFSET_BEFORE_BASE, K_OFFSET_OVERFLOW, K_OFFSET_BACKWARDS,
    K_EPOCH_BACKWARDS, K_CONTROL_RECORD, K_TRANSACTION_STATE, K_PRODUCER_EPOCH, K_TOO_LARGE,
    K_RECORD_LENGTHS, K_RECORD_OFFSET, K_COUNT_MISMATCH, K_TIMESTAMP_MISMATCH, K_COUNT
};

enum { ATTR_CODEC = 7, ATTR_APPEND_TIME = 8, ATTR_TXN = 16, ATTR_CONTROL = 32, ATTR_HORIZON = 64 };
enum { CODEC_NONE, CODEC_GZIP, CODEC_SNAPPY, CODEC_LZ4, CODEC_ZSTD };
enum { SMALLEST_RECORD = 7, MOST_INFLATED = 1 << 15 }; /* as in formats/batch.py */
enum { LOG_OVERHEAD = 12, PREFIX_SIZE = 17, HEADER_V0 = 26, HEADER_V1 = 34, HEADER_V2 = 61 };
enum { CONTROL_LIMIT = 4096, MAX_EPOCHS = 65536, MAX_ABORTED = 100000, MAX_PRODUCERS = 100000 };
enum { MAX_STRETCHES = 1 << 20 }; /* a log in order has half as many of 4096 offsets */
enum { MAX_INDEX_ENTRIES = 1 << 22, OFFSET_ENTRY = 8, TIME_ENTRY = 12 };

/* Verdicts on index entries; the order is that of VERDICTS in native_index.py. */
enum {
    V_UNSEEN, V_AGREES, V_UNVERIFIABLE, V_POSITION_PAST_END, V_NOT_A_BOUNDARY, V_OFFSET_BEHIND,
    V_OFFSET_PAST_END, V_NO_BATCH, V_TIMESTAMP_DIFFERS, V_TIMESTAMP_EXCEEDED
};

typedef struct {
    int64_t position, size, base, last, epoch, magic, crc, attributes, delta;
    int64_t base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, count;
} batch_t;

typedef struct { int64_t kind, position, end, offset, a, b, c; } problem_t;
typedef struct { int64_t epoch, start_offset; } epoch_t;
typedef struct { int64_t producer_id, first_offset, last_offset, stable_offset; } aborted_t;
typedef struct {
    int64_t producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp;
    int64_t coordinator_epoch, first_offset, generation;
} producer_t;
typedef struct { int64_t first_offset, producer, generation; } open_t;

typedef struct {
    const uint8_t *entries;   /* big-endian, as in the file, ascending */
    uint8_t *verdicts;        /* one a entry */
    int64_t *expected;
    int64_t count, next;
} index_t;

/* Indexes made anew. `interval` is negative where none are wanted. */
typedef struct {
    int64_t interval, first_offsets, last_position, last_offset;
    int64_t newest, offset_of_newest, last_timestamp, bounded;
    uint8_t *offsets; int64_t offset_count, offset_room;
    uint8_t *times; int64_t time_count, time_room;
} build_t;

/* What the batches of every `offsets` offsets come to. `offsets` is 0 where nobody wants to know. */
typedef struct { int64_t number, batches, first_offset, end_offset, sum; } stretch_t;
typedef struct {
    int64_t offsets, holes, bounded;
    stretch_t *rows; int64_t count, room;
} stretches_t;

/* Mirrored by native.Walk field by field, 8 bytes each; compared when the library is loaded (layout.h). */
typedef struct {
    /* what to do */
    int64_t base_offset, stop, end, check_crc, check_records, decode_limit, seed;
    /* where it is */
    int64_t position, last_offset, previous_last, previous_epoch, after_hole, quiet;
    /* why it returned */
    int64_t need, damage, computed;
    /* what it saw */
    int64_t batches, records, records_exact, first_offset, next_offset;
    int64_t min_timestamp, max_timestamp, offset_of_max, null_keys;
    int64_t magics[3], codecs[8];
    int64_t control_batches, transactional, commits, aborts, unmatched_markers, unmatched_aborts, other_control;
    int64_t quiet_counts[K_COUNT];
    int64_t bounded_epochs, bounded_producers, bounded_aborted;
    /* lists: problems and deferred are drained by the caller */
    problem_t *problems; int64_t problem_count, problem_room;
    int64_t *deferred; int64_t deferred_count, deferred_room;
    epoch_t *epochs; int64_t epoch_count, epoch_room;
    aborted_t *aborted; int64_t aborted_count, aborted_room;
    producer_t *producers; int64_t producer_count, producer_room;
    int32_t *slots; int64_t slot_count;
    open_t *heap; int64_t heap_count, heap_room;
    uint8_t *scratch; int64_t scratch_room;
    index_t offsets, times;
    build_t build;
    stretches_t stretches;
} walk_t;

static inline uint16_t be16(const uint8_t *p) { uint16_t x; memcpy(&x, p, 2); return __builtin_bswap16(x); }
static inline uint32_t be32(const uint8_t *p) { uint32_t x; memcpy(&x, p, 4); return __builtin_bswap32(x); }
static inline uint64_t be64(const uint8_t *p) { uint64_t x; memcpy(&x, p, 8); return __builtin_bswap64(x); }
static inline void put32(uint8_t *p, uint32_t x) { x = __builtin_bswap32(x); memcpy(p, &x, 4); }
static inline void put64(uint8_t *p, uint64_t x) { x = __builtin_bswap64(x); memcpy(p, &x, 8); }
static inline int64_t be16s(const uint8_t *p) { return (int16_t)be16(p); }
static inline int64_t be32s(const uint8_t *p) { return (int32_t)be32(p); }
static inline int64_t be64s(const uint8_t *p) { return (int64_t)be64(p); }
static inline int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

/* Room for one more element of a growing list; 0 if memory is out. */
int sm_grow(void **list, int64_t *room, int64_t count, size_t element);

/* crc.c */
uint32_t sm_crc32c(const uint8_t *p, size_t n, uint32_t crc);
uint32_t sm_crc32(const uint8_t *p, size_t n, uint32_t crc);

/* codec.c: the size of what came out, or -1 where `formats.codec` has to judge; at most
 * `limit` bytes, into *out, which grows. -2: out of memory. */
int64_t sm_decompress(int codec, const uint8_t *p, int64_t n, int64_t limit, uint8_t **out, int64_t *room);

/* walk.c */
int64_t sm_header_size(int64_t magic);
void sm_read_header(const uint8_t *p, int64_t position, batch_t *batch);

/* records.c */
void sm_problem(walk_t *w, const batch_t *b, int64_t kind, int64_t a, int64_t b2, int64_t c);
void sm_check_records(walk_t *w, const batch_t *b, const uint8_t *p, int64_t n);
int sm_marker(const batch_t *b, const uint8_t *p, int64_t n, int64_t marker[3]);
int sm_legacy_parts(const uint8_t *p, int64_t n, int64_t magic, int64_t parts[4]);

/* producers.c */
int sm_fold_producer(walk_t *w, const batch_t *b, const int64_t *marker);

/* indexes.c */
void sm_match_offsets(walk_t *w, int64_t position);
void sm_match_times(walk_t *w, int64_t base, const batch_t *b);
void sm_skip_offsets(walk_t *w, int64_t end);

/* build.c, stretches.c: 0 if memory is out */
int sm_build_index(walk_t *w, const batch_t *b);
int sm_add_stretch(walk_t *w, const batch_t *b);

/* varints as ByteUtils reads them: 0 if they do not fit */
static inline int sm_varint(const uint8_t **p, const uint8_t *end, int64_t *out) {
    uint32_t value = 0;
    if (LIKELY(*p < end && **p < 0x80)) {
        value = *(*p)++;
    } else {
        for (int shift = 0;; shift += 7) {
            if (shift > 28 || *p >= end) return 0;
            uint8_t byte = *(*p)++;
            value |= (uint32_t)(byte & 0x7f) << shift;
            if (byte < 0x80) break;
        }
    }
    *out = (int32_t)((value >> 1) ^ (0u - (value & 1)));
    return 1;
}

static inline int sm_varlong(const uint8_t **p, const uint8_t *end, int64_t *out) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        if (shift > 63 || *p >= end) return 0;
        uint8_t byte = *(*p)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) break;
    }
    *out = (int64_t)((value >> 1) ^ (0u - (value & 1)));
    return 1;
}

/* One record of a magic 2 batch: where its parts are; a size of -1 stands for null. */
typedef struct {
    int64_t timestamp_delta, offset_delta, key_size, value_size, header_count;
    const uint8_t *key, *value, *headers, *end;
} record_t;

/* The nullable bytes at *p: 0 if they do not fit. */
static inline int sm_field(const uint8_t **p, const uint8_t *end, const uint8_t **at, int64_t *size) {
    if (!sm_varint(p, end, size)) return 0;
    *at = *p;
    if (*size < 0) {
        *size = -1;
        return 1;
    }
    if (*size > end - *p) return 0;
    *p += *size;
    return 1;
}

static inline int sm_read_record(const uint8_t *p, const uint8_t *end, record_t *r) {
    int64_t size;
    if (!sm_varint(&p, end, &size) || size <= 0 || size > end - p) return 0;
    end = r->end = p + size;
    p++; /* attributes, unused */
    if (!sm_varlong(&p, end, &r->timestamp_delta) || !sm_varint(&p, end, &r->offset_delta)) return 0;
    if (!sm_field(&p, end, &r->key, &r->key_size) || !sm_field(&p, end, &r->value, &r->value_size)) return 0;
    if (!sm_varint(&p, end, &r->header_count)) return 0;
    if (r->header_count < 0 || r->header_count > end - p) return 0;
    r->headers = p;
    for (int64_t n = r->header_count; n > 0; n--) {
        const uint8_t *at;
        int64_t key_size, value_size;
        if (!sm_field(&p, end, &at, &key_size) || key_size < 0) return 0;
        if (!sm_field(&p, end, &at, &value_size)) return 0;
    }
    return p == end;
}

#endif
