/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From master files to an image in memory: the sequence of steps */
#include <errno.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "net/dns/zone/image.h"
#include "dnsd/zone/build.h"
#include "dnsd/zone/check-targets.h"
#include "dnsd/zone/load.h"
#include "dnsd/zone/make.h"

const ProgressStep make_steps[] = {
    { "reading and sorting", 60 },
    { "writing the names", 20 },
    { "writing the indexes", 15 },
    { "checking names of hosts", 5 },
    { NULL, 0 },
};

unsigned make_thread_count(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

uint64_t make_memory(void)
{
    struct sysinfo about;
    uint64_t memory = sysinfo(&about) ? 0 : (uint64_t)about.totalram *
                                            about.mem_unit / 4;

    return memory < RUNS_MEMORY_MIN ? RUNS_MEMORY_MIN : memory;
}

static int read_files(const Make *make, Runs *runs)
{
    const Load load = {
        .rules = &make->rules,
        .paths = make->paths,
        .count = make->count,
        .threads = make->threads,
        .has_default_ttl = make->has_default_ttl,
        .default_ttl = make->default_ttl,
        .runs = runs,
        .report = make->report,
        .progress = make->progress,
    };
    int ret;

    progress_step(make->progress, load_octets(&load));
    ret = load_files(&load);
    report_show(make->report);
    return ret;
}

static int new_writer(const Make *make, ZoneWriter **writer)
{
    ZoneAbout about = {
        .origin = make->rules.origin,
        .rrclass = make->rules.rrclass,
        .made = time(NULL),
        .threads = make->threads,
    };

    if (getrandom(&about.identity, sizeof(about.identity), 0) !=
        sizeof(about.identity) ||
        getrandom(&about.seed, sizeof(about.seed), 0) != sizeof(about.seed)) {
        return -errno;
    }
    *writer = zone_writer_new(&about, make->out);
    return *writer ? 0 : -ENOMEM;
}

static int check_image(const Make *make, Places *places, Made *made)
{
    ZoneFault fault;
    ZoneImage *image = zone_image_open(make->out->base, made->len, &fault);
    int ret = image ? places_flush(places) : -ENOMEM;

    if (image) {
        made->nodes = image->nodes;
        made->records = image->records;
        made->serial = image->serial;
        zone_image_trust(image);
    }
    if (!ret) {
        progress_step(make->progress, image->nodes);
        ret = check_targets(image, places, make->threads, make->report,
                            make->progress);
    }
    zone_image_free(image);
    return ret;
}

static int write_image(const Make *make, Runs *runs, Places *places,
                       ZoneWriter *writer, Made *made)
{
    const Build build = {
        .rules = &make->rules,
        .runs = runs,
        .writer = writer,
        .out = make->out,
        .places = places,
        .report = make->report,
        .progress = make->progress,
    };
    int ret;

    progress_step(make->progress, runs->records);
    ret = build_nodes(&build);
    report_show(make->report);
    if (ret || report_failed(make->report)) {
        return ret;
    }
    progress_step(make->progress, 1);
    ret = zone_writer_finish(writer, &made->len);
    return ret ? ret : check_image(make, places, made);
}

int make_image(const Make *make, Made *made)
{
    ZoneWriter *writer = NULL;
    Places places = { NULL };
    Runs runs;
    int ret;

    *made = (Made) { 0 };
    runs_init(&runs, make->memory, make->threads, make->dir);
    ret = read_files(make, &runs);
    if (!ret) {
        ret = places_open(&places, make->dir);
        ret = ret ? ret : new_writer(make, &writer);
        ret = ret ? ret : write_image(make, &runs, &places, writer, made);
    }
    report_show_rest(make->report);
    zone_writer_free(writer);
    places_close(&places);
    runs_destroy(&runs);
    return ret;
}
