/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From master files to sorted runs
 *
 * Theory of operation
 *
 * Each thread takes the next piece of the file, parses it, and adds its records
 * to a feed of its own.  The threads share the file, the runs and the report.
 * A pipe, or a file that cannot be cut into pieces, is read by one thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/threads.h"
#include "dnsd/text/print.h"
#include "dnsd/text/types.h"
#include "dnsd/zone/load.h"
#include "dnsd/zone/pieces.h"

#define STANDARD_INPUT  "-"
#define ERRORS_MAX      1000000     /* the report has its own limit */

/* The state of one thread */
typedef struct Reader {
    const Load *load;
    const DnsMasterOptions *options;
    Pieces *pieces;
    uint32_t piece;
    const char *path;           /* of the last record */
    uint16_t file;              /* the index of path */
    Feed feed;
    int failed;                 /* negative errno; not for faults of the zone */
} Reader;

/* --- records and mistakes ------------------------------------------------- */

static uint16_t file_of(Reader *reader, const char *path)
{
    if (path != reader->path) {
        reader->file = report_file(reader->load->report, path);
        reader->path = path;
    }
    return reader->file;
}

static void refuse_foreign(Reader *reader, const DnsMasterRecord *record,
                           ZonePlace place)
{
    char owner[DNS_PRINT_NAME_MAX], origin[DNS_PRINT_NAME_MAX];

    dns_print_name(record->owner, owner);
    dns_print_name(&reader->load->rules->origin, origin);
    report_at(reader->load->report, SEVERITY_WARNING, place,
              "%s is not in the zone %s and is left out: a final dot too much, "
              "or another zone's?", owner, origin);
}

static int take_record(void *opaque, const DnsMasterRecord *record)
{
    Reader *reader = opaque;
    ChunkRecord taken = {
        .owner = record->owner,
        .rdata = record->rdata,
        .place = { record->line, file_of(reader, record->file) },
        .ttl = record->ttl,
        .piece = reader->piece,
        .type = record->type,
        .rdlength = record->rdlength,
    };

    if (!dns_name_within(record->owner, &reader->load->rules->origin)) {
        refuse_foreign(reader, record, taken.place);
        return 0;
    }
    reader->failed = feed_add(&reader->feed, &taken);
    return reader->failed;
}

static bool take_error(void *opaque, const DnsMasterError *error)
{
    Reader *reader = opaque;
    ZonePlace place = {
        error->line, report_file(reader->load->report, error->file),
    };

    report_column(reader->load->report, error->is_warning ? SEVERITY_WARNING
                  : SEVERITY_ERROR, place, error->column, error->text);
    return !report_is_full(reader->load->report);
}

static int open_path(void *opaque, const char *path)
{
    int fd = strcmp(path, STANDARD_INPUT) ? open(path, O_RDONLY | O_CLOEXEC)
                                          : dup(STDIN_FILENO);

    return fd < 0 ? -errno : fd;
}

static const DnsMasterOps ops = {
    .record = take_record,
    .error = take_error,
    .open = open_path,
};

/* --- one file ------------------------------------------------------------- */

/* A fault of the zone is in the report, and is not an error here. */
static int note(Reader *reader, int ret)
{
    if (ret == -ENOMEM) {
        reader->failed = ret;
    }
    return reader->failed;
}

static void *read_pieces(void *opaque)
{
    Reader *reader = opaque;
    Piece piece = { 0 };
    int next;

    while ((next = pieces_next(reader->pieces, &piece)) > 0) {
        reader->piece = piece.number;
        if (note(reader, dns_master_parse(&ops, reader, reader->options,
                                          &piece.state, piece.text,
                                          piece.len))) {
            break;
        }
        progress_add(reader->load->progress, piece.len);
    }
    free(piece.text);
    if (next < 0) {
        reader->failed = next;
    }
    return NULL;
}

static int read_whole(Reader *reader, uint32_t *number)
{
    reader->piece = (*number)++;
    return note(reader, dns_master_read(&ops, reader, reader->options));
}

static int run_all(Reader *readers, unsigned count, void *(*run)(void *))
{
    int ret = 0;

    threads_run(run, readers, sizeof(*readers), count);
    for (unsigned i = 0; i < count; i++) {
        ret = ret ? ret : readers[i].failed;
    }
    return ret;
}

/* Asked without opening it: who writes a pipe loses its reader by a close(). */
static bool can_be_cut(const char *path)
{
    struct stat about;

    return !(strcmp(path, STANDARD_INPUT) ? stat(path, &about)
                                          : fstat(STDIN_FILENO, &about)) &&
           S_ISREG(about.st_mode);
}

static int read_file(Reader *readers, const char *path, uint32_t *number)
{
    const Load *load = readers[0].load;
    const DnsMasterOptions options = {
        .path = path,
        .origin = &load->rules->origin,
        .rrclass = load->rules->rrclass,
        .has_default_ttl = load->has_default_ttl,
        .default_ttl = load->default_ttl,
        .errors_max = ERRORS_MAX,
    };
    int fd = can_be_cut(path) ? open_path(NULL, path) : -1, ret;
    Pieces pieces;

    for (unsigned i = 0; i < load->threads; i++) {
        readers[i].options = &options;
        readers[i].pieces = &pieces;
    }
    if (fd < 0) {
        return read_whole(&readers[0], number);
    }
    pieces_open(&pieces, &options, fd, *number);
    ret = run_all(readers, load->threads, read_pieces);
    *number = pieces.number;
    pieces_close(&pieces);
    if (ret != -E2BIG) {
        return ret;
    }
    for (unsigned i = 0; i < load->threads; i++) {
        readers[i].failed = 0;
    }
    return read_whole(&readers[0], number);
}

/* --- all files ------------------------------------------------------------ */

uint64_t load_octets(const Load *load)
{
    uint64_t octets = 0;
    struct stat about;

    for (size_t i = 0; i < load->count; i++) {
        octets += stat(load->paths[i], &about) ? 0 : about.st_size;
    }
    return octets;
}

static void *finish_feed(void *opaque)
{
    Reader *reader = opaque;

    reader->failed = feed_finish(&reader->feed);
    return NULL;
}

int load_files(const Load *load)
{
    Reader *readers = calloc(load->threads, sizeof(*readers));
    unsigned made = 0;
    uint32_t number = 0;
    int ret = readers ? 0 : -ENOMEM;

    for (; !ret && made < load->threads; made++) {
        readers[made].load = load;
        ret = feed_init(&readers[made].feed, load->runs,
                        load->rules->origin.labels);
    }
    for (size_t i = 0; i < load->count && !ret; i++) {
        ret = read_file(readers, load->paths[i], &number);
    }
    ret = ret ? ret : run_all(readers, made, finish_feed);
    for (unsigned i = 0; i < made; i++) {
        feed_destroy(&readers[i].feed);
    }
    free(readers);
    return ret;
}
