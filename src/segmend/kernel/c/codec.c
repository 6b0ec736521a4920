/* lz4 and snappy as Kafka's clients write them. Whatever is unusual is left to formats.codec:
 * these decoders accept a subset of what it accepts, and give the same bytes. */
#include "kernel.h"

#define SLACK 64

static int reserve(uint8_t **out, int64_t *room, int64_t size) {
    if (LIKELY(size <= *room - SLACK)) return 1;
    int64_t wanted = *room < 65536 ? 65536 : *room;
    while (wanted - SLACK < size) wanted *= 2;
    uint8_t *grown = realloc(*out, (size_t)wanted);
    if (!grown) return 0;
    *out = grown;
    *room = wanted;
    return 1;
}

/* Copies that may write up to 31 bytes too many into the slack. */
static inline void copy16(uint8_t *to, const uint8_t *from) { memcpy(to, from, 16); }

static inline void wide_copy(uint8_t *to, const uint8_t *from, int64_t n) {
    copy16(to, from);
    for (int64_t k = 16; k < n; k += 16) copy16(to + k, from + k);
}

/* `n` bytes from `offset` bytes back; the two may overlap, which repeats a pattern. */
static inline void copy_match(uint8_t *to, int64_t offset, int64_t n) {
    const uint8_t *from = to - offset;
    if (LIKELY(offset >= 16)) {
        wide_copy(to, from, n);
        return;
    }
    if (offset == 1) {
        memset(to, *from, (size_t)n);
        return;
    }
    int64_t step = offset;
    while (step < 16) step += offset;
    for (int64_t k = 0; k < 16 && k < n; k++) to[k] = from[k];
    for (int64_t k = 16; k < n; k += 16) {
        uint8_t part[16];
        memcpy(part, to + k - step, 16);
        memcpy(to + k, part, 16);
    }
}

/* One lz4 block into [out, out + room); the size, or -1. Matches never reach before `out`. */
static int64_t lz4_block(const uint8_t *p, int64_t n, uint8_t *out, int64_t room) {
    const uint8_t *end = p + n;
    uint8_t *o = out, *limit = out + room;
    while (p < end) {
        uint8_t token = *p++;
        int64_t literals = token >> 4, match = token & 15;
        if (literals == 15) {
            uint8_t more;
            do {
                if (p >= end) return -1;
                more = *p++;
                literals += more;
            } while (more == 255);
        }
        if (literals > end - p || literals > limit - o) return -1;
        if (LIKELY(end - p >= literals + 16)) wide_copy(o, p, literals);
        else memcpy(o, p, (size_t)literals);
        p += literals;
        o += literals;
        if (p == end) return o - out;
        if (end - p < 8) return -1;
        int64_t offset = p[0] | p[1] << 8;
        p += 2;
        if (match == 15) {
            uint8_t more;
            do {
                if (p >= end) return -1;
                more = *p++;
                match += more;
            } while (more == 255);
        }
        match += 4;
        if (offset == 0 || offset > o - out || match > limit - o - 5) return -1;
        copy_match(o, offset, match);
        o += match;
    }
    return -1;
}

static uint32_t le32(const uint8_t *p) { return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24; }

/* The second byte of xxHash32 over FLG and BD. */
static uint8_t descriptor_checksum(const uint8_t *p) {
    uint32_t h = 374761393u + 2;
    for (int k = 0; k < 2; k++) {
        h += p[k] * 374761393u;
        h = (h << 11 | h >> 21) * 2654435761u;
    }
    h = (h ^ h >> 15) * 2246822519u;
    h = (h ^ h >> 13) * 3266489917u;
    return (uint8_t)((h ^ h >> 16) >> 8);
}

static int64_t lz4_frame(const uint8_t *p, int64_t n, int64_t limit, uint8_t **out, int64_t *room) {
    if (n < 11 || le32(p) != 0x184D2204u || (p[4] & ~4) != 0x60) return -1;
    if ((p[5] & 0x8f) || p[5] >> 4 < 4 || descriptor_checksum(p + 4) != p[6]) return -1;
    int64_t max_block = (int64_t)1 << (2 * (p[5] >> 4) + 8), size = 0;
    const uint8_t *end = p + n;
    int64_t content_checksum = p[4] & 4;
    p += 7;
    for (;;) {
        if (end - p < 4) return -1;
        uint32_t word = le32(p);
        int64_t block = word & 0x7fffffff;
        p += 4;
        if (block == 0) return end - p < content_checksum ? -1 : size;
        if (block > max_block || block > end - p) return -1;
        if (!reserve(out, room, size + max_block)) return -2;
        int64_t got = block;
        if (word >> 31) memcpy(*out + size, p, (size_t)block);
        else got = lz4_block(p, block, *out + size, max_block);
        if (got <= 0 || got > limit - size) return -1;
        size += got;
        p += block;
    }
}

static int64_t snappy_length(const uint8_t **p, const uint8_t *end) {
    uint64_t value = 0;
    for (int shift = 0; shift <= 28; shift += 7) {
        if (*p >= end) return -1;
        uint8_t byte = *(*p)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value <= 0xffffffffu ? (int64_t)value : -1;
    }
    return -1;
}

/* One raw snappy block into *out at `size`; the size of all, or -1. */
static int64_t snappy_block(const uint8_t *p, int64_t n, int64_t size, int64_t limit, uint8_t **out, int64_t *room) {
    const uint8_t *end = p + n;
    int64_t length = snappy_length(&p, end);
    if (length < 0 || length > limit - size || length / 64 > n) return -1;
    if (!reserve(out, room, size + length)) return -2;
    uint8_t *start = *out + size, *o = start, *stop = start + length;
    while (p < end) {
        uint8_t tag = *p++;
        int64_t count, offset;
        if ((tag & 3) == 0) {
            count = tag >> 2;
            if (count >= 60) {
                int bytes = (int)count - 59;
                if (end - p < bytes) return -1;
                count = 0;
                for (int k = 0; k < bytes; k++) count |= (int64_t)p[k] << (8 * k);
                p += bytes;
            }
            count++;
            if (count > end - p || count > stop - o) return -1;
            if (LIKELY(end - p >= count + 16)) wide_copy(o, p, count);
            else memcpy(o, p, (size_t)count);
            p += count;
            o += count;
            continue;
        }
        int bytes = (tag & 3) == 3 ? 4 : tag & 3;
        if (end - p < bytes) return -1;
        if (bytes == 1) {
            count = (tag >> 2 & 7) + 4;
            offset = (int64_t)(tag >> 5) << 8 | p[0];
        } else {
            count = (tag >> 2) + 1;
            offset = bytes == 2 ? p[0] | p[1] << 8 : (int64_t)le32(p);
        }
        p += bytes;
        if (offset == 0 || offset > o - start || count > stop - o) return -1;
        copy_match(o, offset, count);
        o += count;
    }
    return o == stop ? size + length : -1;
}

static int64_t snappy(const uint8_t *p, int64_t n, int64_t limit, uint8_t **out, int64_t *room) {
    static const uint8_t header[16] = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1};
    if (n < 16 || p[0] != 0x82) return snappy_block(p, n, 0, limit, out, room);
    if (memcmp(p, header, 16)) return -1;
    const uint8_t *end = p + n;
    int64_t size = 0;
    for (p += 16; end - p >= 4;) {
        int64_t chunk = be32(p);
        p += 4;
        if (chunk > end - p) return -1;
        size = snappy_block(p, chunk, size, limit, out, room);
        if (size < 0) return size;
        p += chunk;
    }
    return size;
}

int64_t sm_decompress(int codec, const uint8_t *p, int64_t n, int64_t limit, uint8_t **out, int64_t *room) {
    int64_t got = -1;
    if (codec == CODEC_LZ4) got = lz4_frame(p, n, limit, out, room);
    else if (codec == CODEC_SNAPPY) got = snappy(p, n, limit, out, room);
    if (got == -1) { /* whoever looks at it next needs as much once more */
        free(*out);
        *out = NULL;
        *room = 0;
    }
    return got;
}

/* For the tests: decompress into memory that `segmend_release` gives back. */
EXPORT int64_t segmend_decompress(int64_t codec, const uint8_t *p, int64_t n, int64_t limit, uint8_t **out) {
    int64_t room = 0;
    *out = NULL;
    return sm_decompress((int)codec, p, n, limit, out, &room);
}

EXPORT void segmend_release(void *memory) { free(memory); }
