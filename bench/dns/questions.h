/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queries of a file, in a loop.  In the file each message follows its length in
 * two octets, as dnsperf has them (-B).
 */
#ifndef BENCH_DNS_QUESTIONS_H
#define BENCH_DNS_QUESTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Questions {
    uint8_t *first, *next, *end;
} Questions;

/** questions_open: read the file at @path; exits if it is invalid */
static inline void questions_open(Questions *q, const char *path)
{
    FILE *file = fopen(path, "rb");
    long len = file && !fseek(file, 0, SEEK_END) ? ftell(file) : 0;

    q->first = q->next = len > 0 ? malloc(len) : NULL;
    if (!q->first || fseek(file, 0, SEEK_SET) ||
        fread(q->first, 1, len, file) != (size_t)len) {
        perror(path);
        exit(1);
    }
    q->end = q->first + len;
    fclose(file);
}

/** questions_next: Returns: the next query, of @len octets */
static inline uint8_t *questions_next(Questions *q, size_t *len)
{
    uint8_t *message = q->next + 2;

    *len = q->next[0] << 8 | q->next[1];
    q->next = message + *len < q->end ? message + *len : q->first;
    return message;
}

#endif /* BENCH_DNS_QUESTIONS_H */
