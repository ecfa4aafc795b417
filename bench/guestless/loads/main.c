/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless-native: the loads by system calls, as a program of its own
 *
 *     guestless-native SCRIPT
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/guestless/loads/sockets.h"

void *guestless_alloc(size_t size, uint64_t *gpa)
{
    *gpa = 0;
    return g_malloc0(size);
}

void guestless_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

int main(int argc, char **argv)
{
    static const GuestlessPath paths[] = { { "native", guestless_native } };

    if (argc != 2) {
        guestless_fail("usage: guestless-native SCRIPT");
    }
    guestless_run(argv[1], paths, G_N_ELEMENTS(paths));
    return 0;
}
