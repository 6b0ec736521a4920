/* The walk over sound batches; twin of reference.py. */
#include "kernel.h"

int64_t sm_header_size(int64_t magic) { return magic >= 2 ? HEADER_V2 : magic == 0 ? HEADER_V0 : HEADER_V1; }

void sm_read_header(const uint8_t *p, int64_t position, batch_t *b) {
    b->position = position;
    b->base = be64s(p);
    b->size = be32s(p + 8) + LOG_OVERHEAD;
    b->magic = (int8_t)p[16];
    if (b->magic >= 2) {
        b->epoch = be32s(p + 12);
        b->crc = be32(p + 17);
        b->attributes = be16(p + 21);
        b->delta = be32s(p + 23);
        b->last = wrap_add(b->base, b->delta);
        b->base_timestamp = be64s(p + 27);
        b->max_timestamp = be64s(p + 35);
        b->producer_id = be64s(p + 43);
        b->producer_epoch = be16s(p + 51);
        b->base_sequence = be32s(p + 53);
        b->count = be32s(p + 57);
        return;
    }
    b->epoch = b->producer_id = b->producer_epoch = b->base_sequence = -1;
    b->crc = be32(p + 12);
    b->attributes = p[17];
    b->delta = 0;
    b->last = b->base;
    b->base_timestamp = b->max_timestamp = b->magic == 0 ? -1 : be64s(p + 18);
    b->count = b->attributes & ATTR_CODEC ? -1 : 1;
}

static int64_t high_offset(const walk_t *w) {
    return w->base_offset > INT64_MAX - INT32_MAX ? INT64_MAX : w->base_offset + INT32_MAX;
}

/* 1 if the offsets are as they should be, 0 if the batch only goes backwards, -1 if it cannot be here. */
static int check_order(walk_t *w, const batch_t *b) {
    int in_range = b->last >= w->base_offset && b->last <= high_offset(w);
    if (b->base < w->base_offset) {
        sm_problem(w, b, K_OFFSET_BEFORE_BASE, 0, 0, 0);
        return -1;
    }
    if (!in_range) {
        sm_problem(w, b, K_OFFSET_OVERFLOW, b->last, 0, 0);
        return -1;
    }
    if (b->base > w->previous_last) return 1;
    sm_problem(w, b, K_OFFSET_BACKWARDS, w->previous_last, 0, 0);
    return 0;
}

static void count(walk_t *w, const batch_t *b) {
    if (w->batches++ == 0) w->first_offset = b->base;
    w->magics[b->magic]++;
    w->codecs[b->attributes & ATTR_CODEC]++;
    w->next_offset = wrap_add(b->last, 1);
    if (b->max_timestamp > w->max_timestamp) {
        w->max_timestamp = b->max_timestamp;
        w->offset_of_max = b->last;
    }
    int horizon = b->magic == 2 && (b->attributes & ATTR_HORIZON);
    int create_time = b->magic != 0 && !(b->attributes & ATTR_APPEND_TIME);
    int64_t first = create_time && !horizon && b->base_timestamp >= 0 ? b->base_timestamp : b->max_timestamp;
    if (first >= 0 && (w->min_timestamp < 0 || first < w->min_timestamp)) w->min_timestamp = first;
}

static int fold_epoch(walk_t *w, const batch_t *b) {
    if (b->epoch < 0) return 1;
    if (b->epoch < w->previous_epoch) sm_problem(w, b, K_EPOCH_BACKWARDS, b->epoch, w->previous_epoch, 0);
    w->previous_epoch = b->epoch;
    if (w->epoch_count && b->epoch <= w->epochs[w->epoch_count - 1].epoch) return 1;
    if (w->epoch_count >= MAX_EPOCHS) {
        w->bounded_epochs = 1;
        return 1;
    }
    if (!sm_grow((void **)&w->epochs, &w->epoch_room, w->epoch_count, sizeof(epoch_t))) return 0;
    w->epochs[w->epoch_count++] = (epoch_t){b->epoch, b->base};
    return 1;
}

static void defer(walk_t *w, const batch_t *b) {
    w->deferred[2 * w->deferred_count] = b->position;
    w->deferred[2 * w->deferred_count + 1] = b->size;
    w->deferred_count++;
}

/* The records of the batch whose whole bytes are at `body`; NULL if they are not to be had. */
static int look_inside(walk_t *w, const batch_t *b, const uint8_t *body) {
    int64_t codec = b->attributes & ATTR_CODEC, n = b->size - HEADER_V2;
    if (!body) {
        sm_problem(w, b, K_TOO_LARGE, b->size, 0, 0);
    } else if (codec == CODEC_NONE || n == 0) {
        sm_check_records(w, b, body + HEADER_V2, n);
    } else {
        int64_t got = sm_decompress((int)codec, body + HEADER_V2, n, w->decode_limit, &w->scratch, &w->scratch_room);
        if (got == -2) return 0;
        if (got < 0) defer(w, b);
        else sm_check_records(w, b, w->scratch, got);
    }
    return 1;
}

/* Twin of RecordBatch.records_held: as many as the header says, and no more than there is room for. */
static int64_t records_held(const batch_t *b) {
    int64_t inflated = (b->size - HEADER_V2) * (b->attributes & ATTR_CODEC ? MOST_INFLATED : 1);
    int64_t room = inflated / SMALLEST_RECORD;
    if (b->delta + 1 < room) room = b->delta + 1;
    int64_t held = b->count < room ? b->count : room;
    return held > 0 ? held : 0;
}

static int accept_v2(walk_t *w, const batch_t *b, const uint8_t *body) {
    int64_t codec = b->attributes & ATTR_CODEC, marker[3];
    if (b->delta < 0 || b->count < 0) sm_problem(w, b, K_HEADER_FIELD, b->delta, b->count, 0);
    if (codec > CODEC_ZSTD) sm_problem(w, b, K_BAD_CODEC, codec, 0, 0);
    if (!fold_epoch(w, b)) return 0;
    int is_marker = (b->attributes & ATTR_CONTROL) && codec == 0 && b->size <= CONTROL_LIMIT && b->count > 0
        && body && sm_marker(b, body + HEADER_V2, b->size - HEADER_V2, marker);
    if (!sm_fold_producer(w, b, is_marker ? marker : NULL)) return 0;
    w->records += records_held(b);
    return !w->check_records || codec > CODEC_ZSTD || look_inside(w, b, body);
}

static int accept_legacy(walk_t *w, const batch_t *b, const uint8_t *body) {
    int64_t codec = b->attributes & ATTR_CODEC, parts[4];
    if (codec > CODEC_LZ4) {
        sm_problem(w, b, K_BAD_CODEC, codec, 0, 0);
    } else if (codec && !w->check_records) {
        w->records_exact = 0;
    } else if (codec && !body) {
        w->records_exact = 0;
        sm_problem(w, b, K_TOO_LARGE, b->size, 0, 0);
    } else if (codec) {
        defer(w, b);
    } else {
        w->records++;
        if (!w->check_records || !body) return 1;
        if (!sm_legacy_parts(body, b->size, b->magic, parts)) sm_problem(w, b, K_RECORD_LENGTHS, 0, 0, 0);
        else w->null_keys += parts[1] < 0;
    }
    return 1;
}

static int accept(walk_t *w, const batch_t *b, const uint8_t *body) {
    int order = check_order(w, b);
    if (w->offsets.next < w->offsets.count) sm_match_offsets(w, b->position);
    if (order > 0) {
        int hidden_base = b->magic < 2 && (b->attributes & ATTR_CODEC);
        if (w->times.next < w->times.count)
            sm_match_times(w, hidden_base ? wrap_add(w->previous_last, 1) : b->base, b);
        w->after_hole = 0;
        if (w->build.interval >= 0 && !sm_build_index(w, b)) return 0;
    }
    count(w, b);
    if (w->stretches.offsets && !sm_add_stretch(w, b)) return 0;
    if (order >= 0) {
        w->previous_last = b->last;
        if (b->last > w->last_offset) w->last_offset = b->last;
    }
    return b->magic == 2 ? accept_v2(w, b, body) : accept_legacy(w, b, body);
}

static int damage(walk_t *w, int64_t kind) {
    w->damage = kind;
    return ST_DAMAGE;
}

static int more(walk_t *w, int64_t need) {
    w->need = need;
    return ST_MORE;
}

/* What is wrong with the first 17 bytes; -1 if nothing. */
static int prefix_fault(int64_t size, int64_t magic, int64_t left) {
    if (size < 14) return K_SIZE_TOO_SMALL;
    if (size > left - LOG_OVERHEAD) return K_SIZE_PAST_END;
    if (magic < 0 || magic > 2) return K_BAD_MAGIC;
    return size < sm_header_size(magic) - LOG_OVERHEAD ? K_SIZE_TOO_SMALL : -1;
}

/* How many bytes of the batch must be in the window. */
static int64_t needed(const walk_t *w, const uint8_t *p, int64_t there, int64_t size, int64_t magic) {
    if (w->check_crc || w->check_records) return LOG_OVERHEAD + size;
    if (magic == 2 && there > 22 && (p[22] & ATTR_CONTROL) && size <= CONTROL_LIMIT - LOG_OVERHEAD)
        return LOG_OVERHEAD + size;
    return sm_header_size(magic);
}

/* Take the batch at `p`, of which `there` bytes are in the window. `known`: its CRC, or NULL. */
static int step(walk_t *w, const uint8_t *p, int64_t there, const int64_t *known) {
    int64_t left = w->end - w->position;
    if (left <= PREFIX_SIZE) return left > 0 ? damage(w, K_HEADER_FRAGMENT) : ST_END;
    if (there < PREFIX_SIZE) return more(w, PREFIX_SIZE);
    int64_t size = be32s(p + 8), magic = (int8_t)p[16];
    int fault = prefix_fault(size, magic, left);
    if (fault >= 0) return damage(w, fault);
    int64_t need = known ? sm_header_size(magic) : needed(w, p, there, size, magic);
    if (there < need) return more(w, need);
    batch_t b;
    sm_read_header(p, w->position, &b);
    const uint8_t *body = !known && there >= b.size ? p : NULL;
    if (w->check_crc) {
        int64_t start = magic == 2 ? 21 : 16;
        w->computed = known ? *known
            : magic == 2 ? sm_crc32c(p + start, (size_t)(b.size - start), 0) : sm_crc32(p + start, (size_t)(b.size - start), 0);
        if (w->computed != b.crc) return damage(w, K_CRC_MISMATCH);
    }
    if (!accept(w, &b, body)) return ST_NO_MEMORY;
    w->position += b.size;
    return -1;
}

EXPORT int64_t segmend_walk(walk_t *w, const uint8_t *window, int64_t length, int64_t start) {
    while (w->position < w->stop) {
        if (w->problem_count > w->problem_room - 16 || w->deferred_count >= w->deferred_room) return ST_DRAIN;
        int64_t at = w->position - start;
        int inside = at >= 0 && at < length;
        int status = step(w, inside ? window + at : window, inside ? length - at : 0, NULL);
        if (status >= 0) return status;
    }
    return ST_END;
}

EXPORT int64_t segmend_admit(walk_t *w, const uint8_t *head, int64_t length, int64_t crc) {
    int status = step(w, head, length, &crc);
    return status < 0 ? ST_END : status;
}

EXPORT void segmend_skip(walk_t *w, int64_t end) {
    if (w->offsets.count) sm_skip_offsets(w, end);
    w->after_hole = 1;
    w->position = end;
}

EXPORT void segmend_free(walk_t *w) {
    free(w->epochs);
    free(w->aborted);
    free(w->producers);
    free(w->slots);
    free(w->heap);
    free(w->scratch);
    free(w->build.offsets);
    free(w->build.times);
    free(w->stretches.rows);
    w->epochs = NULL;
    w->aborted = NULL;
    w->producers = NULL;
    w->slots = NULL;
    w->heap = NULL;
    w->scratch = NULL;
    w->build.offsets = NULL;
    w->build.times = NULL;
    w->stretches.rows = NULL;
}

/* The first place from `from` that may be a batch header with an offset in [low, high]; -1 if none. */
EXPORT int64_t segmend_find(const uint8_t *p, int64_t length, int64_t from, int64_t low, int64_t high, int64_t left) {
    uint32_t first = (uint32_t)((uint64_t)low >> 32), second = (uint32_t)((uint64_t)high >> 32);
    for (int64_t at = from; length - at >= PREFIX_SIZE; at++) {
        uint32_t word = be32(p + at);
        if (LIKELY((word != first && word != second) || p[at + 16] > 2)) continue;
        int64_t offset = be64s(p + at), size = be32s(p + at + 8), room = sm_header_size(p[at + 16]) - LOG_OVERHEAD;
        if (offset < low || offset > high || size < (room < 14 ? 14 : room)) continue;
        if (size <= left - at - LOG_OVERHEAD) return at;
    }
    return -1;
}
