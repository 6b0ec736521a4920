/* Rows of batch headers that go on as a run does; twin of merge/open_run.py. */
#include "layout.h"

enum { MARK_BITS = 0x3FF, MAX_CODEC = CODEC_ZSTD };

typedef struct { batch_t batch; int64_t sound; } row_t;

/* `first` to `position` are of the batch that is held back, and where it ends; `run_last` and `end` of the
 * last one that the run has. */
typedef struct {
    int64_t first, last, size, crc, position, epoch, below;
    int64_t digest, batches, records, run_last, end, marked;
} follow_t;

/* As Python hashes a number. */
static uint64_t hashed(int64_t value) {
    const uint64_t prime = ((uint64_t)1 << 61) - 1;
    uint64_t size = (value < 0 ? 0 - (uint64_t)value : (uint64_t)value) % prime;
    if (value >= 0) return size;
    return size == 1 ? (uint64_t)-2 : 0 - size;
}

static uint64_t mixed(uint64_t state, int64_t value) {
    state += hashed(value) * 14029467366897019727u;
    return ((state << 31) | (state >> 33)) * 11400714785074694791u;
}

/* As Python hashes a tuple of five. */
EXPORT int64_t segmend_digest(int64_t first, int64_t last, int64_t epoch, int64_t size, int64_t crc) {
    const uint64_t seed = 2870177450012600261u;
    uint64_t state = mixed(mixed(mixed(mixed(mixed(seed, first), last), epoch), size), crc);
    state += 5 ^ (seed ^ 3527539u);
    return state == (uint64_t)-1 ? 1546275796 : (int64_t)state;
}

static int goes_on(const follow_t *f, const row_t *row) {
    const batch_t *b = &row->batch;
    return b->position == f->position && f->last < INT64_MAX && b->base == f->last + 1 && b->epoch == f->epoch
        && row->sound == 1 && f->last < b->last && b->last < f->below
        && b->count > 0 && (uint64_t)b->count == (uint64_t)b->last - (uint64_t)f->last && b->magic >= 2
        && !(b->attributes & ATTR_HORIZON) && (b->attributes & ATTR_CODEC) <= MAX_CODEC
        && (b->count * SMALLEST_RECORD < b->size || b->attributes & ATTR_CODEC);
}

/* Take rows as long as they go on, and no more once the run gets a mark; how many. */
EXPORT int64_t segmend_follow(follow_t *f, const row_t *all, int64_t at, int64_t end) {
    const row_t *rows = all + at;
    int64_t count = end - at;
    int64_t taken = 0;
    f->marked = 0;
    while (!f->marked && taken < count && goes_on(f, &rows[taken])) {
        const batch_t *b = &rows[taken++].batch;
        f->marked = !(f->crc & MARK_BITS);
        uint64_t digest = (uint64_t)segmend_digest(f->first, f->last, f->epoch, f->size, f->crc);
        f->digest = (int64_t)((uint64_t)f->digest + digest);
        f->batches++;
        f->records = (int64_t)((uint64_t)f->records + (uint64_t)f->last - (uint64_t)f->first + 1);
        f->run_last = f->last;
        f->end = f->position;
        f->first = b->base;
        f->last = b->last;
        f->size = b->size;
        f->crc = b->crc;
        f->position += b->size;
    }
    return taken;
}

EXPORT const place_t segmend_follow_places[] = {
    AT(follow_t, first), AT(follow_t, last), AT(follow_t, size), AT(follow_t, crc), AT(follow_t, position),
    AT(follow_t, epoch), AT(follow_t, below), AT(follow_t, digest), AT(follow_t, batches),
    AT(follow_t, records), AT(follow_t, run_last), AT(follow_t, end), AT(follow_t, marked),
    SIZE(follow_t), SIZE(row_t), END_OF_PLACES
};
