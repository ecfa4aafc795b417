/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work in parts that several threads do at the same time */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include <stddef.h>

#define THREADS_MAX     64

/**
 * threads_run: call @run for each of @count parts, and return after the last
 * @parts: an array of elements of @size octets; each is passed to @run once
 *
 * The caller is one of the threads.  It also does the parts for which no thread
 * can be made, and those beyond THREADS_MAX.
 */
void threads_run(void *(*run)(void *part), void *parts, size_t size,
                 size_t count);

#endif /* BASE_THREADS_H */
