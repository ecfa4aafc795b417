/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless-native: the loads by system calls, as a program of its own
 *
 *     guestless-native SCRIPT
 */
#include "bench/guestless/loads/sockets.h"

int main(int argc, char **argv)
{
    static const GuestlessPath paths[] = { { "native", guestless_native } };

    if (argc != 2) {
        guestless_fail("usage: guestless-native SCRIPT");
    }
    guestless_run(argv[1], paths, G_N_ELEMENTS(paths));
    return 0;
}
