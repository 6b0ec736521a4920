/* Index entries against batches, on the way; twin of indexes.py. Entries come in ascending order. */
#include "kernel.h"

static int64_t offset_of(const walk_t *w, const uint8_t *relative) {
    return wrap_add(w->base_offset, be32s(relative));
}

static void judge(index_t *x, int64_t n, int verdict, int64_t expected) {
    x->verdicts[n] = (uint8_t)verdict;
    x->expected[n] = expected;
}

void sm_match_offsets(walk_t *w, int64_t position) {
    index_t *x = &w->offsets;
    for (; x->next < x->count; x->next++) {
        const uint8_t *entry = x->entries + OFFSET_ENTRY * x->next;
        int64_t at = be32s(entry + 4);
        if (at > position) return;
        if (at < position) judge(x, x->next, V_NOT_A_BOUNDARY, 0);
        else if (offset_of(w, entry) <= w->previous_last) judge(x, x->next, V_OFFSET_BEHIND, w->previous_last);
        else judge(x, x->next, V_AGREES, 0);
    }
}

/* Nobody can say what lies between here and `end`. */
void sm_skip_offsets(walk_t *w, int64_t end) {
    index_t *x = &w->offsets;
    for (; x->next < x->count; x->next++) {
        int64_t at = be32s(x->entries + OFFSET_ENTRY * x->next + 4);
        if (at >= end) return;
        judge(x, x->next, at < w->position ? V_NOT_A_BOUNDARY : V_UNVERIFIABLE, 0);
    }
}

void sm_match_times(walk_t *w, int64_t base, const batch_t *b) {
    index_t *x = &w->times;
    for (; x->next < x->count; x->next++) {
        const uint8_t *entry = x->entries + TIME_ENTRY * x->next;
        int64_t timestamp = be64s(entry), offset = offset_of(w, entry + 8);
        if (offset > b->last) return;
        if (offset < base) judge(x, x->next, w->after_hole ? V_UNVERIFIABLE : V_NO_BATCH, base);
        else if (b->max_timestamp < 0) judge(x, x->next, V_UNVERIFIABLE, 0);
        else if (timestamp != b->max_timestamp) judge(x, x->next, V_TIMESTAMP_DIFFERS, b->max_timestamp);
        else if (w->max_timestamp > timestamp) judge(x, x->next, V_TIMESTAMP_EXCEEDED, w->max_timestamp);
        else judge(x, x->next, V_AGREES, 0);
    }
}

static void finish_offsets(walk_t *w, int whole) {
    index_t *x = &w->offsets;
    int64_t end = whole ? w->position : w->end;
    for (; x->next < x->count; x->next++) {
        int64_t at = be32s(x->entries + OFFSET_ENTRY * x->next + 4);
        if (at >= end) judge(x, x->next, V_POSITION_PAST_END, end);
        else judge(x, x->next, at < w->position ? V_NOT_A_BOUNDARY : V_UNVERIFIABLE, 0);
    }
    for (int64_t n = 0; n < x->count; n++)
        if (x->verdicts[n] == V_AGREES && offset_of(w, x->entries + OFFSET_ENTRY * n) > w->last_offset)
            judge(x, n, V_OFFSET_PAST_END, w->last_offset);
}

EXPORT void segmend_finish(walk_t *w, int64_t whole) {
    if (w->offsets.count) finish_offsets(w, (int)whole);
    index_t *x = &w->times;
    for (; x->next < x->count; x->next++)
        judge(x, x->next, whole && !w->after_hole ? V_OFFSET_PAST_END : V_UNVERIFIABLE, w->last_offset);
}

/* How many bytes there are before the zeros at the end. */
EXPORT int64_t segmend_used_size(const uint8_t *p, int64_t n) {
    static const uint8_t zeros[4096];
    while (n >= 4096 && !memcmp(p + n - 4096, zeros, 4096)) n -= 4096;
    while (n > 0 && !p[n - 1]) n--;
    return n;
}

/* Marks the entries that are wrong by themselves, and counts them: without any they are in the order of the file. */
EXPORT int64_t segmend_offset_faults(const uint8_t *p, int64_t count, uint8_t *marks) {
    int64_t position = -1, relative = -1, marked = 0;
    for (int64_t n = 0; n < count; n++, p += OFFSET_ENTRY) {
        int64_t next = be32s(p + 4), offset = be32s(p);
        marks[n] = next < 0 || next <= position || offset < 0 || offset <= relative;
        marked += marks[n];
        position = next;
        relative = offset;
    }
    return marked;
}

EXPORT int64_t segmend_time_faults(const uint8_t *p, int64_t count, uint8_t *marks) {
    int64_t timestamp = 0, relative = 0, marked = 0;
    for (int64_t n = 0; n < count; n++, p += TIME_ENTRY) {
        int64_t next = be64s(p), offset = be32s(p + 8);
        marks[n] = offset < 0 || (n && (next <= timestamp || offset < relative));
        marked += marks[n];
        timestamp = next;
        relative = offset;
    }
    return marked;
}
