/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places of records whose targets are looked up in the finished image */
#include <errno.h>
#include <unistd.h>

#include "dnsd/zone/places.h"
#include "dnsd/zone/spill.h"

int places_open(Places *places, const char *dir)
{
    Spill spill;
    int ret = spill_open(&spill, dir);

    places->file = NULL;
    if (ret) {
        return ret;
    }
    places->file = fdopen(spill.fd, "w+");
    if (!places->file) {
        ret = -errno;
        spill_close(&spill);
    }
    return ret;
}

int places_add(Places *places, ZonePlace place)
{
    return fwrite_unlocked(&place, sizeof(place), 1, places->file) == 1
           ? 0 : -errno;
}

int places_rewind(Places *places)
{
    if (fflush(places->file) || fseek(places->file, 0, SEEK_SET)) {
        return -errno;
    }
    return 0;
}

ZonePlace places_next(Places *places)
{
    ZonePlace place;

    if (fread_unlocked(&place, sizeof(place), 1, places->file) != 1) {
        place = (ZonePlace) { 0 };
    }
    return place;
}

void places_close(Places *places)
{
    if (places->file) {
        fclose(places->file);
    }
    places->file = NULL;
}
