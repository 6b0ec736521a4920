/* Where the fields of a struct are that Python mirrors: a table by name, which ends with NULL.
 * `layout.py` compares it with what ctypes makes of its own list. */
#ifndef SEGMEND_LAYOUT_H
#define SEGMEND_LAYOUT_H

#include "kernel.h"

typedef struct { const char *name; int64_t place; } place_t;

#define AT(type, field) {#field, offsetof(type, field)}
#define UNDER(type, field, name) {name, offsetof(type, field)}
#define SIZE(type) {"sizeof " #type, sizeof(type)}
#define END_OF_PLACES {NULL, 0}

#endif
