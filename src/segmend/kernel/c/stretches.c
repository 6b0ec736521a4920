/* What the batches of every so many offsets come to; twin of stretches.py. */
#include "kernel.h"

/* One round of splitmix64; unsigned arithmetic wraps, as it is meant to. */
static uint64_t mixed(uint64_t state, int64_t value) {
    state = (state ^ (uint64_t)value) + 0x9E3779B97F4A7C15u;
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
    state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
    return state ^ (state >> 31);
}

int sm_add_stretch(walk_t *w, const batch_t *b) {
    stretches_t *x = &w->stretches;
    int64_t last = b->last < INT64_MAX - 1 ? b->last : INT64_MAX - 1;
    int64_t number = b->base / x->offsets - (b->base % x->offsets < 0);
    uint64_t sum = mixed(mixed(mixed(mixed(0, b->base), last), b->epoch), b->crc);
    int64_t width = (int64_t)((uint64_t)last - (uint64_t)b->base + 1);
    if (b->magic >= 2 && b->count >= 0 && b->count < width) x->holes = 1;
    if (!x->count || x->rows[x->count - 1].number != number) {
        if (x->count >= MAX_STRETCHES) {
            x->bounded = 1;
            return 1;
        }
        if (!sm_grow((void **)&x->rows, &x->room, x->count, sizeof(stretch_t))) return 0;
        x->rows[x->count++] = (stretch_t){number, 0, b->base, last + 1, 0};
    }
    stretch_t *row = &x->rows[x->count - 1];
    row->batches++;
    if (b->base < row->first_offset) row->first_offset = b->base;
    if (last + 1 > row->end_offset) row->end_offset = last + 1;
    row->sum = (int64_t)((uint64_t)row->sum + sum);
    return 1;
}
