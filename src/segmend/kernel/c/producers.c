/* Producer state as the broker folds it; twin of producers.py. */
#include "kernel.h"

int sm_grow(void **list, int64_t *room, int64_t count, size_t element) {
    if (LIKELY(count < *room)) return 1;
    int64_t wanted = *room < 16 ? 16 : *room * 2;
    void *grown = realloc(*list, (size_t)wanted * element);
    if (!grown) return 0;
    *list = grown;
    *room = wanted;
    return 1;
}

/* Seeded, so that nobody can write a log whose producer ids all collide. */
static uint64_t mix(const walk_t *w, int64_t id) {
    uint64_t x = (uint64_t)id ^ (uint64_t)w->seed;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

static int32_t *slot_of(walk_t *w, int64_t id) {
    uint64_t mask = (uint64_t)w->slot_count - 1, at = mix(w, id) & mask;
    while (w->slots[at] && w->producers[w->slots[at] - 1].producer_id != id) at = (at + 1) & mask;
    return &w->slots[at];
}

static int widen(walk_t *w) {
    if (w->producer_count * 2 < w->slot_count) return 1;
    int64_t wanted = w->slot_count < 64 ? 64 : w->slot_count * 2;
    int32_t *slots = calloc((size_t)wanted, sizeof *slots);
    if (!slots) return 0;
    free(w->slots);
    w->slots = slots;
    w->slot_count = wanted;
    for (int64_t n = 0; n < w->producer_count; n++) *slot_of(w, w->producers[n].producer_id) = (int32_t)(n + 1);
    return 1;
}

/* The state of this producer, made if there is room for one more; *failed if memory is out. */
static producer_t *find(walk_t *w, int64_t id, int64_t most, int *failed) {
    if (!widen(w)) return *failed = 1, NULL;
    int32_t *slot = slot_of(w, id);
    if (*slot) return &w->producers[*slot - 1];
    if (w->producer_count >= most) return w->bounded_producers = 1, NULL;
    if (!sm_grow((void **)&w->producers, &w->producer_room, w->producer_count, sizeof(producer_t)))
        return *failed = 1, NULL;
    producer_t *p = &w->producers[w->producer_count++];
    *p = (producer_t){.producer_id = id, .epoch = -1, .last_sequence = -1, .last_offset = -1,
                      .timestamp = -1, .coordinator_epoch = -1, .first_offset = -1};
    *slot = (int32_t)w->producer_count;
    return p;
}

/* The open transactions: a heap by first offset. Ended ones stay until they reach the top, or
 * until they are more than the producers. */
static int is_stale(const walk_t *w, const open_t *o) {
    const producer_t *p = &w->producers[o->producer];
    return p->first_offset < 0 || p->generation != o->generation;
}

static void sift_down(open_t *heap, int64_t count, int64_t at) {
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= count) return;
        if (child + 1 < count && heap[child + 1].first_offset < heap[child].first_offset) child++;
        if (heap[at].first_offset <= heap[child].first_offset) return;
        open_t swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
        at = child;
    }
}

static void sift_up(open_t *heap, int64_t at) {
    while (at > 0 && heap[(at - 1) / 2].first_offset > heap[at].first_offset) {
        open_t swap = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = swap;
        at = (at - 1) / 2;
    }
}

static void forget_ended(walk_t *w) {
    int64_t kept = 0;
    for (int64_t n = 0; n < w->heap_count; n++)
        if (!is_stale(w, &w->heap[n])) w->heap[kept++] = w->heap[n];
    w->heap_count = kept;
    for (int64_t n = kept / 2 - 1; n >= 0; n--) sift_down(w->heap, kept, n);
}

static int begin(walk_t *w, producer_t *p, int64_t first_offset) {
    p->first_offset = first_offset;
    p->generation++;
    if (first_offset < 0) return 1;
    if (w->heap_count > 2 * w->producer_count + 64) forget_ended(w);
    if (!sm_grow((void **)&w->heap, &w->heap_room, w->heap_count, sizeof(open_t))) return 0;
    w->heap[w->heap_count] = (open_t){first_offset, p - w->producers, p->generation};
    sift_up(w->heap, w->heap_count++);
    return 1;
}

static int64_t first_open(walk_t *w, int64_t otherwise) {
    while (w->heap_count && is_stale(w, &w->heap[0])) {
        w->heap[0] = w->heap[--w->heap_count];
        sift_down(w->heap, w->heap_count, 0);
    }
    return w->heap_count ? w->heap[0].first_offset : otherwise;
}

static producer_t *touch(walk_t *w, const batch_t *b, int *failed) {
    producer_t *p = find(w, b->producer_id, MAX_PRODUCERS, failed);
    if (!p) return NULL;
    if (b->producer_epoch < p->epoch)
        sm_problem(w, b, K_PRODUCER_EPOCH, b->producer_id, b->producer_epoch, p->epoch);
    if (b->producer_epoch != p->epoch) {
        p->epoch = b->producer_epoch;
        p->last_sequence = p->last_offset = -1;
        p->offset_delta = 0;
    }
    return p;
}

static int64_t last_sequence(const batch_t *b) {
    if (b->base_sequence < 0) return -1;
    int64_t last = b->base_sequence + b->delta;
    return b->base_sequence <= INT32_MAX - b->delta ? last : last - INT32_MAX - 1;
}

static int fold_data(walk_t *w, const batch_t *b) {
    int failed = 0;
    producer_t *p = touch(w, b, &failed);
    if (!p) return !failed;
    int transactional = (b->attributes & ATTR_TXN) != 0;
    if (p->first_offset >= 0 && !transactional)
        sm_problem(w, b, K_TRANSACTION_STATE, b->producer_id, p->first_offset, 0);
    else if (p->first_offset < 0 && transactional && !begin(w, p, b->base))
        return 0;
    p->last_sequence = last_sequence(b);
    p->last_offset = b->last;
    p->offset_delta = b->delta;
    p->timestamp = b->max_timestamp;
    return 1;
}

static int abort_transaction(walk_t *w, const batch_t *b, int64_t first_offset) {
    if (w->aborted_count >= MAX_ABORTED) {
        w->bounded_aborted = 1;
        return 1;
    }
    if (!sm_grow((void **)&w->aborted, &w->aborted_room, w->aborted_count, sizeof(aborted_t))) return 0;
    int64_t stable = first_open(w, wrap_add(b->base, 1));
    w->aborted[w->aborted_count++] = (aborted_t){b->producer_id, first_offset, b->base, stable};
    return 1;
}

static int fold_marker(walk_t *w, const batch_t *b, const int64_t *marker) {
    if (!marker) {
        if (b->count != 0) sm_problem(w, b, K_CONTROL_RECORD, 0, 0, 0);
        return 1;
    }
    int is_abort = marker[0] == 0, failed = 0;
    *(is_abort ? &w->aborts : &w->commits) += 1;
    producer_t *p = touch(w, b, &failed);
    if (!p) return !failed;
    int64_t first = p->first_offset;
    p->first_offset = -1;
    p->coordinator_epoch = marker[1];
    p->timestamp = marker[2];
    if (first < 0) {
        w->unmatched_markers++;
        w->unmatched_aborts += is_abort;
        return 1;
    }
    return !is_abort || abort_transaction(w, b, first);
}

int sm_fold_producer(walk_t *w, const batch_t *b, const int64_t *marker) {
    int is_control = (b->attributes & ATTR_CONTROL) != 0;
    w->control_batches += is_control;
    w->transactional += (b->attributes & ATTR_TXN) != 0;
    if (b->producer_id < 0) {
        w->other_control += is_control;
        return 1;
    }
    return is_control ? fold_marker(w, b, marker) : fold_data(w, b);
}

/* Producers known before the walk: `count` rows of 8 numbers in the order of producer_t. */
EXPORT int64_t segmend_load_producers(walk_t *w, const int64_t *rows, int64_t count) {
    for (int64_t n = 0; n < count; n++, rows += 8) {
        int failed = 0;
        producer_t *p = find(w, rows[0], INT32_MAX - 1, &failed);
        if (!p) return ST_NO_MEMORY;
        p->epoch = rows[1];
        p->last_sequence = rows[2];
        p->last_offset = rows[3];
        p->offset_delta = rows[4];
        p->timestamp = rows[5];
        p->coordinator_epoch = rows[6];
        if (!begin(w, p, rows[7])) return ST_NO_MEMORY;
    }
    return ST_END;
}
