/* Indexes made anew; twin of index_build.py. */
#include "kernel.h"

static int add_time(walk_t *w) {
    build_t *x = &w->build;
    if (x->newest <= x->last_timestamp) return 1;
    if (!sm_grow((void **)&x->times, &x->time_room, x->time_count, TIME_ENTRY)) return 0;
    uint8_t *entry = x->times + TIME_ENTRY * x->time_count++;
    put64(entry, (uint64_t)x->newest);
    put32(entry + 8, (uint32_t)(x->offset_of_newest - w->base_offset));
    x->last_timestamp = x->newest;
    return 1;
}

/* The next batch, whose offsets are in order. */
int sm_build_index(walk_t *w, const batch_t *b) {
    build_t *x = &w->build;
    if (b->max_timestamp > x->newest) {
        x->newest = b->max_timestamp;
        x->offset_of_newest = b->last;
    }
    int hidden_base = b->magic < 2 && (b->attributes & ATTR_CODEC);
    int64_t offset = x->first_offsets && !hidden_base ? b->base : b->last;
    if (LIKELY(b->position - x->last_position <= x->interval) || b->position > INT32_MAX) return 1;
    if (offset <= x->last_offset) return 1;
    if (x->offset_count >= MAX_INDEX_ENTRIES) {
        x->bounded = 1;
        return 1;
    }
    if (!sm_grow((void **)&x->offsets, &x->offset_room, x->offset_count, OFFSET_ENTRY)) return 0;
    uint8_t *entry = x->offsets + OFFSET_ENTRY * x->offset_count++;
    put32(entry, (uint32_t)(offset - w->base_offset));
    put32(entry + 4, (uint32_t)b->position);
    x->last_position = b->position;
    x->last_offset = offset;
    return add_time(w);
}

/* The end of the segment: the largest timestamp is the time index's last entry. */
EXPORT int64_t segmend_finish_index(walk_t *w) {
    return add_time(w) ? ST_END : ST_NO_MEMORY;
}
