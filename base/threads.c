/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work in parts that several threads do at the same time */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/threads.h"

void threads_run(void *(*run)(void *part), void *parts, size_t size,
                 size_t count)
{
    pthread_t threads[THREADS_MAX];
    bool runs[THREADS_MAX] = { false };
    uint8_t *part = parts;

    for (size_t i = 1; i < count && i < THREADS_MAX; i++) {
        runs[i] = !pthread_create(&threads[i], NULL, run, part + i * size);
    }
    for (size_t i = 0; i < count; i++) {
        if (i >= THREADS_MAX || !runs[i]) {
            run(part + i * size);
        }
    }
    for (size_t i = 1; i < count && i < THREADS_MAX; i++) {
        if (runs[i]) {
            pthread_join(threads[i], NULL);
        }
    }
}
