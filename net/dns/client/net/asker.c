/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State that the questions of a context share
 */

#include <stdlib.h>

#include "net/dns/client/net/asker.h"

DnscAsker *dnsc_asker_ref(DnscAsker *asker)
{
    asker->refs++;
    return asker;
}

void dnsc_asker_unref(DnscAsker *asker)
{
    if (asker && --asker->refs == 0) {
        free(asker);
    }
}
