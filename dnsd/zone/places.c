/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places of records whose targets are looked up in the finished image */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "dnsd/zone/places.h"
#include "dnsd/zone/spill.h"

int places_open(Places *places, const char *dir)
{
    Spill spill;
    int ret = spill_open(&spill, dir);

    *places = (Places) { 0 };
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
    places->count++;
    return fwrite_unlocked(&place, sizeof(place), 1, places->file) == 1
           ? 0 : -errno;
}

int places_mark(Places *places, uint32_t ref)
{
    if (places->marks == places->marks_room) {
        size_t room = places->marks_room ? 2 * places->marks_room : 64;
        PlaceMark *more = realloc(places->mark, room * sizeof(*more));

        if (!more) {
            return -ENOMEM;
        }
        places->mark = more;
        places->marks_room = room;
    }
    places->mark[places->marks++] = (PlaceMark) { places->count, ref };
    return 0;
}

int places_flush(Places *places)
{
    return fflush(places->file) ? -errno : 0;
}

void places_read(const Places *places, const PlaceMark *mark,
                 PlacesReader *reader)
{
    reader->fd = fileno(places->file);
    reader->next = mark ? mark->number : 0;
    reader->at = reader->held = 0;
}

static void refill(PlacesReader *reader)
{
    ssize_t len = pread(reader->fd, reader->place, sizeof(reader->place),
                        reader->next * sizeof(ZonePlace));

    reader->held = len < 0 ? 0 : len / sizeof(ZonePlace);
    reader->next += reader->held;
    reader->at = 0;
}

ZonePlace places_next(PlacesReader *reader)
{
    if (reader->at == reader->held) {
        refill(reader);
    }
    return reader->held ? reader->place[reader->at++] : (ZonePlace) { 0 };
}

void places_close(Places *places)
{
    if (places->file) {
        fclose(places->file);
    }
    free(places->mark);
    *places = (Places) { 0 };
}
