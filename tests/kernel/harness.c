/* Feed the kernel with damaged logs under AddressSanitizer and UBSan.
 *
 *   harness SEED ROUNDS LOG...
 *
 * Every window is a copy of its own, exactly as long as it says, so that a read one byte
 * behind it is caught. Damaged batches often get a right checksum again: the code behind
 * the check must stand on its own. */
#include "kernel.h"

#include <stdio.h>

typedef struct {
    int64_t position, stop, end, check_crc, want_control, decode_limit;
    int64_t low_offset, high_offset, low_time, high_time;
    int64_t need, need_bytes, fault, computed, found;
    int64_t rows, row_room, headers, header_room;
    void *offsets, *timestamps, *sequences, *key_sizes, *value_sizes;
    struct { void *offsets, *bytes, *valid; int64_t size, room, nulls; } key, value;
    void *header_starts;
    struct { void *offsets, *bytes, *valid; int64_t size, room, nulls; } header_key, header_value;
    void *runs; int64_t run_count, run_room;
    void *scratch; int64_t scratch_room;
} columns_t;

int64_t segmend_walk(walk_t *, const uint8_t *, int64_t, int64_t);
void segmend_skip(walk_t *, int64_t);
void segmend_finish(walk_t *, int64_t);
void segmend_free(walk_t *);
int64_t segmend_find(const uint8_t *, int64_t, int64_t, int64_t, int64_t, int64_t);
int64_t segmend_decode(columns_t *, const uint8_t *, int64_t, int64_t);
void segmend_free_columns(columns_t *);
int64_t segmend_columns_size(void);

static uint64_t state;
static uint64_t below(uint64_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % n;
}

static uint8_t *copy(const uint8_t *data, int64_t size) {
    uint8_t *own = malloc(size ? (size_t)size : 1);
    memcpy(own, data, (size_t)size);
    return own;
}

static void seal(uint8_t *data, int64_t size) {
    for (int64_t at = 0; size - at > 61;) {
        int64_t batch = be32s(data + at + 8) + 12;
        if (batch < 61 || batch > size - at) return;
        uint32_t crc = __builtin_bswap32(data[at + 16] == 2 ? sm_crc32c(data + at + 21, (size_t)batch - 21, 0)
                                                             : sm_crc32(data + at + 16, (size_t)batch - 16, 0));
        memcpy(data + at + (data[at + 16] == 2 ? 17 : 12), &crc, 4);
        at += batch;
    }
}

static void mutate(uint8_t *data, int64_t size) {
    for (uint64_t n = below(12); n > 0; n--) {
        uint64_t at = below((uint64_t)size);
        if (below(3)) data[at] = (uint8_t)(below(2) ? below(256) : data[at] ^ 1u << below(8));
        else memset(data + at, (int)below(2) * 255, (size_t)(size - (int64_t)at < 40 ? size - (int64_t)at : (int64_t)below(40)));
    }
    if (below(4)) seal(data, size);
}

static void *room(size_t size) { return calloc(1, size); }

static void walk(const uint8_t *data, int64_t size) {
    walk_t w = {.base_offset = (int64_t)below(200), .stop = size, .end = size, .check_crc = (int64_t)below(2),
                .check_records = (int64_t)below(4) > 0, .decode_limit = 1 << 20, .seed = 7, .last_offset = -1,
                .previous_last = -1, .previous_epoch = -1, .problem_room = 32, .deferred_room = 4,
                .stretches = {.offsets = 1 + (int64_t)below(5000)}};
    int64_t entries = 16;
    w.problems = room(32 * sizeof(problem_t));
    w.deferred = room(8 * sizeof(int64_t));
    uint8_t *index = copy(data + below((uint64_t)size / 2), entries * 12);
    w.offsets = (index_t){index, room((size_t)entries), room((size_t)entries * 8), entries, 0};
    w.times = (index_t){index, room((size_t)entries), room((size_t)entries * 8), entries, 0};
    int64_t start = 0, length = 0, window = 64 + (int64_t)below(4000);
    uint8_t *own = copy(data, 0);
    for (int guard = 0; guard < 100000; guard++) {
        int64_t status = segmend_walk(&w, own, length, start);
        if (status == ST_END || status == ST_NO_MEMORY) break;
        w.problem_count = w.deferred_count = 0;
        if (status == ST_DRAIN) continue;
        if (status == ST_DAMAGE) {
            int64_t from = w.position + 1;
            int64_t found = from < size ? segmend_find(data, size, from, 0, INT32_MAX, size) : -1;
            segmend_skip(&w, found < 0 ? size : found);
            continue;
        }
        free(own);
        start = w.position;
        length = w.need > window ? w.need : window;
        if (length > size - start) length = size - start;
        own = copy(data + start, length);
    }
    segmend_finish(&w, 1);
    free(own);
    free(index);
    free(w.problems);
    free(w.deferred);
    free(w.offsets.verdicts);
    free(w.offsets.expected);
    free(w.times.verdicts);
    free(w.times.expected);
    segmend_free(&w);
}

static void decode(const uint8_t *data, int64_t size) {
    int64_t rows = 64, bytes = 1 << 14, headers = 1 << 13;
    columns_t c = {.stop = size, .end = size, .check_crc = (int64_t)below(2), .want_control = (int64_t)below(2),
                   .decode_limit = 1 << 20, .low_offset = INT64_MIN, .high_offset = INT64_MAX,
                   .low_time = INT64_MIN, .high_time = INT64_MAX, .row_room = rows, .header_room = headers, .run_room = 8};
    c.offsets = room((size_t)rows * 8), c.timestamps = room((size_t)rows * 8), c.sequences = room((size_t)rows * 4);
    c.key_sizes = room((size_t)rows * 4), c.value_sizes = room((size_t)rows * 4);
    c.runs = room(8 * 7 * 8), c.header_starts = room((size_t)rows * 4 + 4);
#define BINARY(x, n) \
    x.offsets = room((size_t)(n) * 4 + 4), x.valid = room((size_t)(n) / 8 + 1), x.bytes = room((size_t)bytes), x.room = bytes
    BINARY(c.key, rows);
    BINARY(c.value, rows);
    BINARY(c.header_key, headers);
    BINARY(c.header_value, headers);
    int64_t start = 0, length = 0;
    uint8_t *own = copy(data, 0);
    for (int guard = 0; guard < 100000; guard++) {
        int64_t status = segmend_decode(&c, own, length, start), need = c.need;
        if (status == 0) break;
        if (status == 4 && c.rows) {
            c.rows = c.headers = c.run_count = c.key.size = c.value.size = c.header_key.size = c.header_value.size = 0;
            continue;
        }
        if (status == 1) {
            free(own);
            start = c.position;
            length = need > size - start ? size - start : need;
            own = copy(data + start, length);
            continue;
        }
        int64_t from = c.position + 1;
        int64_t found = from < size ? segmend_find(data, size, from, 0, INT32_MAX, size) : -1;
        c.position = found < 0 ? size : found;
    }
    free(own);
    void *all[] = {c.offsets, c.timestamps, c.sequences, c.key_sizes, c.value_sizes, c.runs, c.header_starts, c.key.offsets, c.key.valid, c.key.bytes,
                   c.value.offsets, c.value.valid, c.value.bytes, c.header_key.offsets, c.header_key.valid,
                   c.header_key.bytes, c.header_value.offsets, c.header_value.valid, c.header_value.bytes};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) free(all[n]);
    segmend_free_columns(&c);
}

int main(int count, char **words) {
    if (count < 4 || segmend_columns_size() != (int64_t)sizeof(columns_t)) return 2;
    state = strtoull(words[1], NULL, 10) * 2654435761u + 88172645463325252u;
    int64_t rounds = strtoll(words[2], NULL, 10);
    for (int n = 3; n < count; n++) {
        FILE *file = fopen(words[n], "rb");
        static uint8_t original[1 << 20];
        int64_t size = file ? (int64_t)fread(original, 1, sizeof original, file) : 0;
        if (size < 1000) return 3;
        fclose(file);
        for (int64_t round = 0; round < rounds; round++) {
            int64_t cut = below(3) ? size : size - (int64_t)below((uint64_t)size / 2);
            uint8_t *data = copy(original, cut);
            mutate(data, cut);
            walk(data, cut);
            decode(data, cut);
            free(data);
        }
    }
    puts("clean");
    return 0;
}
