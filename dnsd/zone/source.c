/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of the commands that read master files */
#include <inttypes.h>
#include <unistd.h>

#include "dnsd/text/types.h"
#include "dnsd/zone/commands.h"
#include "dnsd/zone/json.h"
#include "dnsd/zone/source.h"

static const char *const progress_choices[] = { "auto", "on", "off", NULL };

SourceOptions source_options = { .messages = REPORT_LIMIT, .rrclass = "IN" };

const ArgOption source_arguments[] = {
    { "default-ttl", 0, ARG_NUMBER, "SECONDS",
      "the TTL before a $TTL is met, as if $TTL stood before all",
      &source_options.default_ttl, 0, INT32_MAX, NULL,
      &source_options.has_default_ttl },
    { "class", 'c', ARG_TEXT, "CLASS", "of the zone (IN)",
      &source_options.rrclass, 0, 0, NULL, NULL },
    { "memory", 'm', ARG_SIZE, "SIZE",
      "what sorting may take; the rest goes to files beside the image (a "
      "quarter of the machine's)", &source_options.memory, RUNS_MEMORY_MIN,
      UINT64_MAX, NULL, NULL },
    { "threads", 't', ARG_NUMBER, "N", "that work (one a processor)",
      &source_options.threads, 1, 256, NULL, NULL },
    { "messages", 0, ARG_NUMBER, "N",
      "errors, and warnings, that are shown (100)", &source_options.messages,
      1, UINT64_MAX, NULL, NULL },
    { "progress", 0, ARG_CHOICE, "WHEN",
      "auto, on or off (auto: on a terminal)", &source_options.progress, 0, 0,
      progress_choices, NULL },
    { "json", 0, ARG_FLAG, NULL, "one JSON value instead of text",
      &source_options.json, 0, 0, NULL, NULL },
    { 0 },
};

static int read_names(const char *zone, ZoneRules *rules)
{
    const SourceOptions *options = &source_options;
    int number = dns_class_from_text(options->rrclass,
                                     strlen(options->rrclass));

    if (dns_name_from_text(&rules->origin, zone)) {
        return args_wrong("ZONE: '%s' is no domain name, such as example.net",
                          zone);
    }
    if (number <= 0 || number == DNS_CLASS_NONE || number == DNS_CLASS_ANY) {
        return args_wrong("option --class: '%s' is no class of zones, such as "
                          "IN, CH or CLASS300", options->rrclass);
    }
    rules->rrclass = number;
    return 0;
}

int source_make(const char *zone, Make *make, Made *made)
{
    const SourceOptions *options = &source_options;
    Progress progress;
    int ret = read_names(zone, &make->rules);

    if (ret) {
        return ret;
    }
    make->threads = options->threads ? options->threads : make_thread_count();
    make->memory = options->memory ? options->memory : make_memory();
    make->has_default_ttl = options->has_default_ttl;
    make->default_ttl = options->default_ttl;
    make->progress = &progress;
    progress_begin(&progress, make_steps, options->progress == PROGRESS_ON ||
                   (options->progress == PROGRESS_AUTO &&
                    isatty(STDERR_FILENO)));
    ret = make_image(make, made);
    made->seconds = progress_seconds(&progress);
    progress_end(&progress);
    return ret;
}

static void show_message(const Report *report, const Message *m)
{
    printf("{\"severity\": \"%s\", \"file\": ",
           m->severity == SEVERITY_ERROR ? "error" : "warning");
    if (m->place.file) {
        json_string(stdout, report->file[m->place.file]);
    } else {
        fputs("null", stdout);
    }
    if (m->place.line) {
        printf(", \"line\": %" PRIu32, m->place.line);
    }
    if (m->column) {
        printf(", \"column\": %" PRIu32, m->column);
    }
    fputs(", \"text\": ", stdout);
    json_string(stdout, m->text);
    putchar('}');
}

void source_messages(const Report *report)
{
    printf("\"errors\": %" PRIu64 ", \"warnings\": %" PRIu64
           ", \"messages\": [", report->count[SEVERITY_ERROR],
           report->count[SEVERITY_WARNING]);
    for (size_t i = 0; i < report->messages; i++) {
        fputs(i ? ", " : "", stdout);
        show_message(report, &report->message[i]);
    }
    putchar(']');
}
