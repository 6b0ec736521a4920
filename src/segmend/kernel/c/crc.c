/* CRC-32C (in the widest way that the CPU has) and CRC-32 of zlib. */
#include "kernel.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#if defined(__clang__)
#define HAS_IT "sse4.2,crc32"
#else
#define HAS_IT "sse4.2"
#endif
#define HARDWARE __attribute__((target(HAS_IT)))
#if defined(__clang__) || __GNUC__ >= 10
#define WIDE __attribute__((target(HAS_IT ",pclmul,avx512f,vpclmulqdq")))
#endif
#define STEP64(crc, word) ((uint32_t)_mm_crc32_u64((crc), (word)))
#define STEP8(crc, byte) ((uint32_t)_mm_crc32_u8((crc), (byte)))
#elif defined(__aarch64__)
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#define HARDWARE __attribute__((target("+crc")))
#define STEP64(crc, word) __builtin_aarch64_crc32cx((crc), (word))
#define STEP8(crc, byte) __builtin_aarch64_crc32cb((crc), (byte))
#if defined(__clang__)
#undef STEP64
#undef STEP8
#define STEP64(crc, word) __builtin_arm_crc32cd((crc), (word))
#define STEP8(crc, byte) __builtin_arm_crc32cb((crc), (byte))
#endif
#endif

#define POLY_C 0x82f63b78u
#define POLY_Z 0xedb88320u
#define LONG_BLOCK 4096
#define SHORT_BLOCK 256
#define WIDE_BLOCK 256

static uint32_t table_c[8][256], table_z[8][256];
static uint32_t shift_long[4][256], shift_short[4][256];
static int has_instruction, has_wide;

static void make_table(uint32_t table[8][256], uint32_t poly) {
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t crc = n;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (poly & (0u - (crc & 1)));
        table[0][n] = crc;
    }
    for (uint32_t n = 0; n < 256; n++)
        for (int k = 1; k < 8; k++)
            table[k][n] = (table[k - 1][n] >> 8) ^ table[0][table[k - 1][n] & 0xff];
}

/* shift[k][b]: what byte k of a CRC becomes after `size` zero bytes. */
static void make_shift(uint32_t shift[4][256], int size) {
    uint32_t bit[32];
    for (int n = 0; n < 32; n++) {
        uint32_t crc = 1u << n;
        for (int k = 0; k < size; k++) crc = (crc >> 8) ^ table_c[0][crc & 0xff];
        bit[n] = crc;
    }
    for (int k = 0; k < 4; k++)
        for (uint32_t n = 0; n < 256; n++) {
            uint32_t crc = 0;
            for (int j = 0; j < 8; j++) crc ^= bit[8 * k + j] & (0u - (n >> j & 1));
            shift[k][n] = crc;
        }
}

static int detect(void) {
#if defined(__x86_64__)
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & (1u << 20));
#elif defined(__aarch64__) && defined(__linux__)
    return (getauxval(AT_HWCAP) & (1ul << 7)) != 0;
#elif defined(__aarch64__)
    return 1;
#else
    return 0;
#endif
}

/* Products of 64 bytes at once (VPCLMULQDQ), with registers that the system saves (XCR0). */
static int detect_wide(void) {
#if defined(WIDE)
    unsigned a, b, c = 0, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (~c & (1u << 27 | 1u << 20 | 1u << 1))) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 0xe6) != 0xe6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    return (b & (1u << 16)) && (c & (1u << 10));
#else
    return 0;
#endif
}

__attribute__((constructor)) static void make_tables(void) {
    make_table(table_c, POLY_C);
    make_table(table_z, POLY_Z);
    make_shift(shift_long, LONG_BLOCK);
    make_shift(shift_short, SHORT_BLOCK);
    has_instruction = detect();
    has_wide = detect_wide();
}

static uint32_t by_table(uint32_t table[8][256], const uint8_t *p, size_t n, uint32_t crc) {
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t low, high;
        memcpy(&low, p, 4);
        memcpy(&high, p + 4, 4);
        low ^= crc;
        crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^ table[4][low >> 24]
            ^ table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^ table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
    }
    for (; n; n--, p++) crc = (crc >> 8) ^ table[0][(crc ^ *p) & 0xff];
    return ~crc;
}

#if defined(HARDWARE)
static inline uint32_t shifted(uint32_t shift[4][256], uint32_t crc) {
    return shift[0][crc & 0xff] ^ shift[1][crc >> 8 & 0xff] ^ shift[2][crc >> 16 & 0xff] ^ shift[3][crc >> 24];
}

/* Three neighbouring blocks side by side: the instruction takes 3 cycles, but starts every cycle. */
HARDWARE static inline uint32_t three(const uint8_t *p, int block, uint32_t shift[4][256], uint32_t crc) {
    uint64_t a = crc, b = 0, c = 0, x, y, z;
    for (int k = 0; k < block; k += 8) {
        memcpy(&x, p + k, 8);
        memcpy(&y, p + block + k, 8);
        memcpy(&z, p + 2 * block + k, 8);
        a = STEP64(a, x);
        b = STEP64(b, y);
        c = STEP64(c, z);
    }
    return shifted(shift, shifted(shift, (uint32_t)a) ^ (uint32_t)b) ^ (uint32_t)c;
}

HARDWARE static uint32_t by_instruction(const uint8_t *p, size_t n, uint32_t value) {
    uint32_t crc = ~value;
    for (; n >= 3 * LONG_BLOCK; n -= 3 * LONG_BLOCK, p += 3 * LONG_BLOCK) crc = three(p, LONG_BLOCK, shift_long, crc);
    for (; n >= 3 * SHORT_BLOCK; n -= 3 * SHORT_BLOCK, p += 3 * SHORT_BLOCK) crc = three(p, SHORT_BLOCK, shift_short, crc);
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t x;
        memcpy(&x, p, 8);
        crc = STEP64(crc, x);
    }
    for (; n; n--, p++) crc = STEP8(crc, *p);
    return ~crc;
}
#endif

#if defined(WIDE)
/* What stands in `x` comes to stand where `y` is: its halves times what x^(distance) leaves, as `k` has it. */
WIDE static inline __m512i folded(__m512i x, __m512i k, __m512i y) {
    __m512i low = _mm512_clmulepi64_epi128(x, k, 0x00), high = _mm512_clmulepi64_epi128(x, k, 0x11);
    return _mm512_ternarylogic_epi64(low, high, y, 0x96);
}

/* Four registers side by side, folded over 256 bytes each time, in the end onto the last 16 bytes.
   "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009), with wider registers. */
WIDE static uint32_t by_products(const uint8_t *p, size_t n, uint32_t value) {
    const __m512i by_2048 = _mm512_broadcast_i32x4(_mm_setr_epi32((int)0xdcb17aa4, 0, (int)0xb9e02b86, 0));
    const __m512i by_512 = _mm512_broadcast_i32x4(_mm_setr_epi32(0x740eef02, 0, (int)0x9e4addf8, 0));
    const __m512i to_last = _mm512_setr_epi32(0x1c291d04, 0, (int)0xddc0152b, 0, 0x3da6d0cb, 0, (int)0xba4fc28e, 0,
        (int)0xf20c0dfe, 0, 0x493c7d27, 0, 0, 0, 0, 0);
    __m512i x[4];
    for (int k = 0; k < 4; k++) x[k] = _mm512_loadu_si512(p + 64 * k);
    x[0] = _mm512_xor_si512(x[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~value)));
    for (n -= WIDE_BLOCK, p += WIDE_BLOCK; n >= WIDE_BLOCK; n -= WIDE_BLOCK, p += WIDE_BLOCK)
        for (int k = 0; k < 4; k++) x[k] = folded(x[k], by_2048, _mm512_loadu_si512(p + 64 * k));
    for (int k = 1; k < 4; k++) x[k] = folded(x[k - 1], by_512, x[k]);
    uint64_t word[8];
    _mm512_storeu_si512(word, folded(x[3], to_last, _mm512_maskz_mov_epi64(0xc0, x[3])));
    uint64_t crc = _mm_crc32_u64(0, word[0] ^ word[2] ^ word[4] ^ word[6]);
    crc = _mm_crc32_u64(crc, word[1] ^ word[3] ^ word[5] ^ word[7]);
    return by_instruction(p, n, ~(uint32_t)crc);
}
#endif

uint32_t sm_crc32c(const uint8_t *p, size_t n, uint32_t crc) {
#if defined(WIDE)
    if (LIKELY(has_wide) && n >= WIDE_BLOCK) return by_products(p, n, crc);
#endif
#if defined(HARDWARE)
    if (LIKELY(has_instruction)) return by_instruction(p, n, crc);
#endif
    return by_table(table_c, p, n, crc);
}

uint32_t sm_crc32(const uint8_t *p, size_t n, uint32_t crc) { return by_table(table_z, p, n, crc); }

EXPORT uint32_t segmend_crc32c(const uint8_t *p, int64_t n, uint32_t crc) { return sm_crc32c(p, (size_t)n, crc); }

/* The other ways whatever the CPU, for the tests. */
EXPORT uint32_t segmend_crc32c_portable(const uint8_t *p, int64_t n, uint32_t crc) {
    return by_table(table_c, p, (size_t)n, crc);
}

EXPORT uint32_t segmend_crc32c_narrow(const uint8_t *p, int64_t n, uint32_t crc) {
#if defined(HARDWARE)
    if (has_instruction) return by_instruction(p, (size_t)n, crc);
#endif
    return by_table(table_c, p, (size_t)n, crc);
}

EXPORT uint32_t segmend_crc32(const uint8_t *p, int64_t n, uint32_t crc) { return sm_crc32(p, (size_t)n, crc); }

EXPORT int64_t segmend_abi(void) { return SM_ABI * 1000000 + (int64_t)sizeof(walk_t); }
